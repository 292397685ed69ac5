import assert from "node:assert/strict";
import { test } from "node:test";
import { asked } from "../src/questions/approvalTexts";
import type { ApproveParams } from "../src/protocol";
import { params } from "./goldens";

const relative = (uri: string): string => decodeURIComponent(uri.replace("file:///project/", ""));
const titles = (approval: ApproveParams): string[] => asked(approval, relative).choices.map(({ title }) => title);

test("a command is shown whole, or its question says how long it is", () => {
  const command = params<ApproveParams>("approve.params");
  assert.match(
    asked(command, relative).short ?? "",
    /^Run “python3 greet\.py” in your workspace itself\? Runs on the files on disk/,
  );
  const long = { ...command, command: "echo a\necho b\u202e" };
  assert.equal(asked(long, relative).short, undefined);
  assert.match(asked(long, relative).question, /a command of 2 lines/);
  assert.ok(asked(long, relative).details.includes("echo b\\u{202e}"));
});

test("a secret is allowed or rejected, and the question says what the agent wants with it", () => {
  const secret = params<ApproveParams>("approve.params.secret");
  assert.equal(
    asked(secret, relative).short,
    "Allow “.env”? The agent wants to read this file, which looks like a secret. What it says would go to the model.",
  );
  assert.equal(asked(secret, relative).row, "Allow: .env");
  assert.deepEqual(titles(secret), ["Allow Once", "Allow for This Session", "Reject"]);
});

test("a protected file is accepted by itself or left pending, which is no rejection of the proposal", () => {
  const confirmation = params<ApproveParams>("approve.params.confirmation");
  const { row, short } = asked(confirmation, relative);
  assert.equal(row, "Confirm: .github/workflows/問候.yml");
  assert.match(
    short ?? "",
    /^Accept “\.github\/workflows\/問候\.yml”\? Accepting creates this protected file\. It says what your builds/,
  );
  assert.deepEqual(titles(confirmation), ["Accept This File", "Leave Pending"]);
});
