import assert from "node:assert/strict";
import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { test } from "node:test";
import { savedSessions } from "../src/features/sessions/savedSessions";

const journal = (...folders: string[]): string =>
  `${JSON.stringify({ format: 1, id: "x", root: folders[0], others: folders.slice(1) })}\n{"at":1.0}\n`;

test("sessions are found by the folders that are open now, and files of other kinds are ignored", async (context) => {
  const storage = fs.mkdtempSync(path.join(os.tmpdir(), "storage-"));
  context.after(() => {
    fs.rmSync(storage, { recursive: true });
  });
  const folder = path.join(storage, "sessions");
  fs.mkdirSync(path.join(folder, "folder.jsonl"), { recursive: true });
  const files = {
    "one.jsonl": journal("/a"),
    "two.jsonl": journal("/b", "/a"),
    "other.jsonl": journal("/b", "/ab"),
    "one.lock": "",
    "empty.jsonl": "",
    "list.jsonl": "[1]\n",
    "odd.jsonl": '{"root":1,"others":{}}\n',
  };
  for (const [name, text] of Object.entries(files)) fs.writeFileSync(path.join(folder, name), text);
  assert.deepEqual((await savedSessions(storage, ["/a", "/c"])).sort(), ["one", "two"]);
  assert.deepEqual(await savedSessions(storage, []), []);
  assert.deepEqual(await savedSessions(path.join(storage, "missing"), ["/a"]), []);
});

test("a session is found by a folder with a trailing separator, and by one of many long paths", async (context) => {
  const storage = fs.mkdtempSync(path.join(os.tmpdir(), "storage-"));
  context.after(() => {
    fs.rmSync(storage, { recursive: true });
  });
  const folder = path.join(storage, "sessions");
  fs.mkdirSync(folder);
  const long = Array.from({ length: 1000 }, (_, number) => `/${"long".repeat(30)}/${String(number)}`);
  fs.writeFileSync(path.join(folder, "one.jsonl"), journal("/a"));
  fs.writeFileSync(path.join(folder, "many.jsonl"), journal(...long, "/a"));
  assert.deepEqual((await savedSessions(storage, ["/a/"])).sort(), ["many", "one"]);
});

test("of many sessions, all are found, and only a part of the files is open at the same time", async (context) => {
  const storage = fs.mkdtempSync(path.join(os.tmpdir(), "storage-"));
  context.after(() => {
    fs.rmSync(storage, { recursive: true });
  });
  const folder = path.join(storage, "sessions");
  fs.mkdirSync(folder);
  const ids = Array.from({ length: 120 }, (_, number) => String(1000 + number));
  for (const id of ids) fs.writeFileSync(path.join(folder, `${id}.jsonl`), journal("/a"));
  const { open } = fs.promises;
  const opened = new Set<unknown>();
  let most = 0;
  context.mock.method(fs.promises, "open", async (file: fs.PathLike) => {
    opened.add(file);
    most = Math.max(most, opened.size);
    const handle = await open(file);
    const close = handle.close.bind(handle);
    handle.close = async () => {
      await close();
      opened.delete(file);
    };
    return handle;
  });
  assert.deepEqual((await savedSessions(storage, ["/a"])).sort(), ids);
  assert.ok(most > 0 && most <= 50, `${String(most)} files were open`);
});
