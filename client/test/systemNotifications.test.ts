// The programs that show notifications of the operating system, and what they say.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { test } from "node:test";
import { notificationProgram } from "../src/features/questions/notificationProgram";
import { endNotices } from "../src/features/questions/noticeTexts";
import { Store } from "../src/state/store";

const HOSTILE = `--help "$(touch x)" <b>é</b>'; Remove-Item x`;

test("the text is one argument or a variable, and never part of a script", () => {
  for (const [platform, own] of [
    ["linux", []],
    ["darwin", []],
    ["linux", ["say", "-v"]],
  ] as const)
    assert.equal(notificationProgram(HOSTILE, platform, own)?.args.at(-1), HOSTILE);
  const windows = notificationProgram(HOSTILE, "win32", []);
  assert.deepEqual(windows?.env, { FAIRLEAD_NOTIFICATION: HOSTILE });
  assert.ok(!windows.args.join().includes(HOSTILE));
  assert.equal(notificationProgram(HOSTILE, "aix", []), undefined);
});

test("notify-send gets the text whole", { skip: process.platform === "win32" }, () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "fairlead-notify-"));
  try {
    const program = notificationProgram(HOSTILE, "linux", []);
    assert.ok(program);
    fs.writeFileSync(path.join(folder, program.file), `#!/bin/sh\nfor each; do echo "$each"; done\n`, { mode: 0o755 });
    const shown = execFileSync(program.file, program.args, { env: { PATH: `${folder}:${process.env.PATH}` } });
    assert.equal(shown.toString(), `--app-name=Fairlead\n--\n${HOSTILE}\n`);
  } finally {
    fs.rmSync(folder, { recursive: true });
  }
});

test("the end of a run is reported with its record, an error with its message, and a stop not at all", () => {
  const noticesAtEnd = (stopReason: string): string[] => {
    const store = new Store();
    const session = store.startRun("a", "Round the price");
    store.endRun("a", 1, { stopReason, message: "It is rounded.", record: "1 of 1 step, 2 files to review." });
    return endNotices(session).map(({ text }) => text);
  };
  assert.deepEqual(noticesAtEnd("end_turn"), ["“Round the price”: 1 of 1 step, 2 files to review."]);
  assert.deepEqual(noticesAtEnd("error"), ["“Round the price”: It is rounded."]);
  assert.deepEqual(noticesAtEnd("cancelled"), []);
  assert.deepEqual(noticesAtEnd("budget"), [], "a pause has its own notice");
});
