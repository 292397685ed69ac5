import assert from "node:assert/strict";
import { test } from "node:test";
import { entryView } from "../src/features/conversation/entryViews";
import { base64, isPicture } from "../src/features/conversation/webview/pictures";
import type { Entry } from "../src/state/session";
import { Store } from "../src/state/store";

const bytes = (text: string): Uint8Array => Uint8Array.from(text, (character) => character.charCodeAt(0));

test("a picture is recognized by its bytes", () => {
  const pictures = ["\x89PNG\r\n\x1a\n", "\xff\xd8\xff\xe0", "GIF87a", "GIF89a..", "RIFF\0\r\n\0WEBPVP8 "];
  const others = ["", "\x89PNG", "BM", "RIFF\0\0\0\0WAVE", "\0\0\0\x18ftypheic", "<svg/>", "x\x89PNG\r\n\x1a\n"];
  for (const each of pictures) assert.equal(isPicture(bytes(each)), true, each);
  for (const each of others) assert.equal(isPicture(bytes(each)), false, each);
});

test("a picture is encoded correctly even if it is large", () => {
  const large = Uint8Array.from({ length: 100_001 }, (_, index) => index % 251);
  assert.equal(base64(large), Buffer.from(large).toString("base64"));
});

test("a prompt names the pictures that were sent with it, live and in an earlier conversation", () => {
  const store = new Store();
  store.startRun("s", "First");
  const session = store.startRun("s", "Look");
  const pictures = ["a.png", "c \u202e.png"];
  store.addEvent({
    sessionId: "s",
    seq: 1,
    runId: "run1",
    kind: "context",
    title: "Picture: a.png",
    text: "",
    pictures,
  });
  const names = (entries: readonly Entry[]): unknown[] =>
    entries.flatMap((entry) => {
      const view = entryView(entry, session, (uri) => uri);
      return view.kind === "prompt" ? [view.pictures] : [];
    });
  const shown = ["a.png", "c \\u{202e}.png"];
  assert.deepEqual(names(session.entries), [[], shown]);
});
