import assert from "node:assert/strict";
import { test } from "node:test";
import { page } from "./page";
import { HARMLESS, HIDDEN_CHARACTERS, HOSTILE } from "./hostileTexts";
import { entryView } from "../src/features/conversation/entryViews";
import { stateView } from "../src/features/conversation/stateView";
import { markdownBlocks } from "../src/features/conversation/webview/markdown";
import { describeApproval } from "../src/ui/approvalTexts";
import { noticesOf } from "../src/features/questions/noticeTexts";
import type { ApproveParams, CommandStarted } from "../src/wire/protocol";
import type { Entry } from "../src/state/session";
import { safeMarkdown } from "../src/ui/markdown";
import { Store } from "../src/state/store";
import { CommandOutput } from "../src/features/plan/commandOutput";
import { iconText, lineText, messageText, tooltipText, visibleText } from "../src/ui/shownText";
import { params } from "./goldens";

/** How VS Code finds links in messages and prompts, and icons in labels (`linkedText.ts`, `iconLabels.ts`). */
const LINK = /\[([^\]]+)\]\(((?:https?:\/\/|command:|file:)[^)\s]+)(?: (["'])(.+?)(\3))?\)/gi;
const ICON = /(\\)?\$\(([A-Za-z0-9-]+(?:~[A-Za-z]+)?)\)/g;
const linksIn = (message: string): (readonly string[])[] =>
  [...message.slice(0, 1000).matchAll(LINK)].map(([, words = "", address = ""]) => [words, address]);
/** What VS Code draws for a label: escaped icons as text, and other icons as a box. */
const drawn = (label: string): string =>
  label.replace(ICON, (_, escape: string | undefined, name: string) => (escape ? `$(${name})` : "□"));

const OWN_BUTTONS = new Set(["Allow Once", "Reject", "More...", "Show Full Command", "Answer...", "Other Answer..."]);

/** A whole session in which every text is `text`. */
function sessionWith(text: string): ReturnType<Store["startRun"]> {
  const session = new Store().startRun("s", text);
  const approval = { ...params<ApproveParams>("approve.params"), sessionId: "s", command: text, cwd: text };
  session.approvals.push({ ...approval, reasons: [text] });
  session.questions.push({ sessionId: "s", toolCallId: "q", question: text, options: [text] });
  return session;
}

function entriesOf(text: string): Entry[] {
  return [
    { kind: "prompt", text, checkpoint: null, pictures: [text] },
    { kind: "text", text },
    { kind: "note", text },
    { kind: "context", title: text, text },
    { kind: "end", stopReason: "error", message: text, record: text, error: null },
  ];
}

/** What each surface shows for a text. The texts with several lines may contain line feeds and tabs. */
const SURFACES: Record<"oneLine" | "severalLines", Record<string, (text: string) => string>> = {
  oneLine: {
    "label, title, description": (text) => lineText(text),
    "label where icons are drawn": (text) => iconText(text, "sync~spin"),
    "notice, notification of the system": (text) =>
      noticesOf(sessionWith(text), () => text)
        .map((notice) => notice.text)
        .join(" "),
  },
  severalLines: {
    tooltip: tooltipText,
    message: messageText,
    "approval in a dialog": (text) => {
      const { dialogTitle, details } = describeApproval(
        { ...params<ApproveParams>("approve.params"), command: text, cwd: text, reasons: [text] },
        () => text,
      );
      return visibleText(dialogTitle) + visibleText(details);
    },
    "entry of the conversation": (text) =>
      JSON.stringify(entriesOf(text).map((entry) => entryView(entry, sessionWith(text), () => text))),
    "state of the conversation": (text) => {
      const card = { about: "a", title: text, subject: text, details: [text], buttons: [] };
      return JSON.stringify(
        stateView(sessionWith(text), [card], String, {
          agent: "Fairlead",
          isHosted: false,
          agents: [],
          chips: [{ id: "editor", label: text, title: text, thumbnail: "" }],
          history: [],
          model: text,
        }),
      );
    },
    "answer in the conversation": (text) => {
      const element = page.createElement("div");
      element.append(...markdownBlocks(visibleText(text)).map((block) => block.element));
      return element.outerHTML;
    },
    "page with the history": safeMarkdown,
    "header of a terminal": (text) => {
      const started: CommandStarted = {
        ...params<CommandStarted>("event.command"),
        command: text,
        cwd: text,
        services: [text],
      };
      // without the colors of the header itself
      // eslint-disable-next-line no-control-regex
      return new CommandOutput(started).text.replace(/\x1b\[[0-9]m|\r/g, "");
    },
  },
};

const attacks = Object.entries(HOSTILE);

test("docs/faults.md 171: every surface shows a hostile text as it is", () => {
  for (const [what, text] of attacks) {
    for (const [kind, surfaces] of Object.entries(SURFACES)) {
      for (const [surface, show] of Object.entries(surfaces)) {
        const shown = show(text);
        // the space that a page itself adds to an image's syntax
        const found = Array.from(shown.replaceAll("!\u200b[", "![")).filter((each) => HIDDEN_CHARACTERS.has(each));
        assert.deepEqual(found.slice(0, 1), [], `${what}, ${surface}`);
        assert.doesNotMatch(shown, /\p{M}{12}/u, `${what}, ${surface}`);
        if (kind === "oneLine") assert.doesNotMatch(shown, /[\n\r\t]|\s{2}/, `${what}, ${surface}`);
      }
    }
  }
});

test("docs/faults.md 170: a hostile text makes no icon", () => {
  for (const [what, text] of attacks) {
    assert.equal(drawn(iconText(text)), lineText(text), what);
    assert.ok(drawn(iconText(text, "check")).startsWith("□ "), what);
  }
});

test("docs/faults.md 158: a hostile text makes no link in a message", () => {
  for (const [what, text] of attacks) assert.deepEqual(linksIn(messageText(text)), [], what);
});

test("docs/faults.md 172: a hostile text leaves the buttons of a notice as they are", () => {
  for (const [what, text] of attacks) {
    const shown = noticesOf(sessionWith(text), () => text);
    assert.deepEqual(
      shown.flatMap((notice) => linksIn(messageText(notice.text))),
      [],
      what,
    );
    const titles = shown.flatMap(({ buttons }) => buttons.map(({ title }) => title));
    const own = titles.filter((title) => title !== lineText(text));
    assert.ok(own.length >= 3 && own.every((title) => OWN_BUTTONS.has(title)), `${what}: ${own.join()}`);
  }
});

test("docs/faults.md 171: the length of a hostile text is limited in one line and in a hover", () => {
  for (const [what, text] of attacks) {
    assert.ok(lineText(text).length <= 1000 && tooltipText(text).length <= 5000, what);
    assert.ok(lineText(text, 50).length <= 50, what);
  }
});

test("docs/faults.md 171: the same texts stay as they are when they are made safe again", () => {
  for (const text of Object.values(HOSTILE)) {
    assert.equal(visibleText(visibleText(text)), visibleText(text));
    assert.equal(lineText(lineText(text)), lineText(text));
  }
});

test("docs/faults.md 171: harmless texts are shown unchanged", () => {
  for (const [what, text] of Object.entries(HARMLESS)) {
    for (const show of [lineText, iconText, messageText, tooltipText, visibleText])
      assert.equal(show(text), text, what);
  }
});

test("docs/faults.md 172: a command with a link is shown only in the dialog", () => {
  const approval = params<ApproveParams>("approve.params");
  const messageOf = (command: string): string | undefined => describeApproval({ ...approval, command }, String).message;
  assert.match(messageOf("echo [Allow") ?? "", /^Run “echo \[Allow”/);
  assert.equal(messageOf("[ -f a ] && echo [a](command:b)"), undefined);
  assert.match(messageOf("[ -f a ] && echo ok") ?? "", /^Run “\[ -f a \] && echo ok”/);
});

test("docs/faults.md 173: the address of a link is shown with its invisible characters", () => {
  const element = page.createElement("div");
  element.append(...markdownBlocks("[docs](https://good.example/\u202elive)").map((block) => block.element));
  const link = element.querySelector("a");
  assert.equal(link?.title, "https://good.example/\\u{202e}live");
});
