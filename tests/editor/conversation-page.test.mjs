// The page of the conversation in a browser, without VS Code: what depends on its layout.

import assert from "node:assert/strict";
import path from "node:path";
import { ROOT } from "./agent.mjs";
import { connect } from "./host/page.mjs";
import { test } from "./host/registry.mjs";

const HTML = '<!DOCTYPE html><html lang="en" data-texts="{}"><body><main id="conversation"></main></body></html>';

/**
 * Declares a test with the page. `show` sends entries to it, as the extension does, and waits until they are laid out.
 * `update` sends any update. `page.sent()` returns what the page has asked of the extension since the last call.
 */
function pageTest(title, body) {
  test(title, async () => {
    const { browser } = await connect();
    const page = await browser.newPage({ viewport: { width: 420, height: 500 } });
    await page.setContent(HTML);
    await page.evaluate(() => {
      window.sent = [];
      window.acquireVsCodeApi = () => ({ postMessage: (sent) => window.sent.push(sent), getState() {}, setState() {} });
    });
    await page.addStyleTag({ path: path.join(ROOT, "dist", "conversation-style.css") });
    await page.addScriptTag({ path: path.join(ROOT, "dist", "conversation.js") });
    const show = (entries, { isNew, at = 0, first = 0 }) =>
      update({ kind: "entries", isNew, first, changed: entries.map((entry, index) => [at + index, entry]) });
    const update = (sent) =>
      page.evaluate(async (update) => {
        const received = new Promise((resolve) => window.addEventListener("message", resolve, { once: true }));
        window.postMessage(update);
        await received;
        await new Promise(requestAnimationFrame);
        await new Promise(requestAnimationFrame);
      }, sent);
    page.sent = () => page.evaluate(() => window.sent.splice(0));
    await body(page, show, update).finally(() => page.close());
  });
}

const shown = (text, omitted = 0) => ({ text, omitted });
const isAtEnd = ({ scrollTop, scrollHeight, clientHeight }) => scrollHeight - scrollTop - clientHeight < 2;

pageTest("a conversation that replaces one of the same height is shown at its end", async (page, show) => {
  for (const word of ["one", "two", "six"]) {
    const answer = { kind: "answer", body: shown(Array(12).fill(word).join("\n\n")) };
    await show(Array(30).fill(answer), { isNew: true });
    assert.ok(await page.locator(".scroller").evaluate(isAtEnd), word);
  }
});

const prompt = (text) => ({ kind: "prompt", body: shown(text), note: "", pictures: [], canRewind: false });
const answer = (text) => ({ kind: "answer", body: shown(Array(12).fill(text).join("\n\n")) });
/** A conversation of this many tasks with long answers. */
const tasks = (count) =>
  Array.from({ length: count }, (_, index) => [prompt(`Task ${index + 1}`), answer(`Answer ${index + 1}`)]).flat();
/** How far below the top of the list the entry with this text begins, in pixels. */
const topOf = (page, text) =>
  page
    .locator(".entry", { hasText: text })
    .first()
    .evaluate((entry) =>
      Math.round(entry.getBoundingClientRect().top - document.querySelector(".scroller").getBoundingClientRect().top),
    );
const scrollUp = async (page, pixels) => {
  const scroller = page.locator(".scroller");
  await scroller.hover();
  const wanted = (await scroller.evaluate(({ scrollTop }) => scrollTop)) - pixels;
  await page.mouse.wheel(0, -pixels);
  await page.waitForFunction((top) => document.querySelector(".scroller").scrollTop <= Math.max(0, top), wanted);
};

pageTest("what the user sends is scrolled to, and so is the latest entry on request", async (page, show) => {
  const scroller = page.locator(".scroller");
  await show(tasks(3), { isNew: true });
  assert.ok(await page.locator(".jumps").isHidden());
  await scrollUp(page, 600);
  await show([prompt("sent by another window's button")], { isNew: false, at: 6 });
  assert.ok(await scroller.evaluate(isAtEnd));
  await scrollUp(page, 600);
  await show([answer("more")], { isNew: false, at: 7 });
  assert.ok(!(await scroller.evaluate(isAtEnd)), "an answer does not move what the user reads");
  await page.locator("textarea").fill("Next task");
  await page.locator("textarea").press("Enter");
  assert.ok(await scroller.evaluate(isAtEnd));
  await scrollUp(page, 600);
  await page.getByRole("button", { name: "Latest message" }).click();
  assert.ok(await scroller.evaluate(isAtEnd));
  await page.locator(".jumps").waitFor({ state: "hidden" });
});

pageTest(
  "the buttons go from each message of the user to the next, also when the last ones fit into the view",
  async (page, show, update) => {
    await show(tasks(4), { isNew: true });
    await scrollUp(page, 100);
    await page.sent();
    const jump = async (name, from) => {
      await page.getByRole("button", { name }).click();
      const [{ kind, from: index, by }] = await page.sent();
      assert.equal(kind, "jump");
      assert.equal(index, from);
      return by;
    };
    assert.equal(await jump("Previous message of yours", 6), -1);
    await update({ kind: "reveal", entry: 4 });
    assert.equal(await topOf(page, "Task 3"), 4);
    assert.equal(await jump("Previous message of yours", 4), -1);
    await update({ kind: "reveal", entry: 2 });
    assert.equal(await jump("Next message of yours", 2), 1);
    await update({ kind: "reveal", entry: 0 });
    assert.equal(await topOf(page, "Task 1"), 4);
    await update({ kind: "jump", by: 1 });
    assert.deepEqual(await page.sent(), [{ kind: "jump", from: 0, by: 1 }]);
    await update({ kind: "reveal", entry: null });
    assert.ok(await page.locator(".scroller").evaluate(isAtEnd));
  },
);

pageTest(
  "earlier entries are loaded while the user scrolls up, and what they read stays in place",
  async (page, show, update) => {
    const all = tasks(150);
    await update({ kind: "entries", isNew: true, first: 290, changed: [...all.entries()].slice(290) });
    const scroller = page.locator(".scroller");
    await scroller.hover();
    await page.sent();
    /** The entry at a third of the view, and its distance from the top. */
    const read = () =>
      page.evaluate(() => {
        const { top, height } = document.querySelector(".scroller").getBoundingClientRect();
        const isBelow = (each) => each.getBoundingClientRect().bottom > top + height / 3;
        const entry = [...document.querySelectorAll(".entry")].find(isBelow);
        return { entry: Number(entry.dataset.entry), top: entry.getBoundingClientRect().top };
      });
    /** How far entries have moved otherwise than because the user scrolled. */
    const jumps = [];
    const scrollUpBy = async (distance) => {
      const before = await read();
      const [moved, scrolled] = await page.evaluate(
        async ({ entry, top, pixels }) => {
          const list = document.querySelector(".scroller");
          list.dispatchEvent(new WheelEvent("wheel", { deltaY: -pixels }));
          const from = list.scrollTop;
          list.scrollTop -= pixels;
          const to = list.scrollTop;
          for (let frame = 0; frame < 3; frame++) await new Promise(requestAnimationFrame);
          return [document.querySelector(`[data-entry="${entry}"]`).getBoundingClientRect().top - top, from - to];
        },
        { ...before, pixels: distance },
      );
      jumps.push(Math.round(moved - scrolled));
    };
    let first = 290;
    const load = async () => {
      for (const { kind, first: wanted } of await page.sent()) {
        assert.equal(kind, "showFrom");
        const before = await read();
        const changed = [...all.entries()].slice(wanted, first);
        await update({ kind: "entries", isNew: false, first: wanted, changed });
        const after = await page.locator(`[data-entry="${before.entry}"]`).boundingBox();
        jumps.push(Math.round(after.y - before.top));
        first = wanted;
      }
    };
    for (let steps = 0; steps < 25; steps++) {
      await scrollUpBy(200);
      await load();
    }
    assert.equal(first, 90);
    await scroller.evaluate((list) => list.scrollTo(0, 0));
    await page.waitForFunction(() => window.sent.length > 0);
    await load();
    assert.equal(first, 0);
    assert.deepEqual(
      jumps.filter((distance) => Math.abs(distance) > 2),
      [],
    );
  },
);

/** The marked texts in the page, and those of them that the user has gone to. */
const marked = (page) =>
  page.evaluate(() => ["found", "found-here"].map((name) => [...CSS.highlights.get(name)].map((range) => `${range}`)));

pageTest("Ctrl+F finds a text in folded parts and across marks, and Enter runs nothing", async (page, show, update) => {
  const output = { kind: "tool", state: "ok", title: "make", isCommand: true, place: null, note: "", showsEnd: true };
  const call = {
    ...output,
    command: shown(""),
    body: shown(`${"line\n".repeat(100)}the NEEDLE\n${"line\n".repeat(100)}`),
  };
  await show([prompt("A needle?"), call, answer("some `nee`**dle**"), prompt("Last")], { isNew: true });
  /** Does what the extension does: all of these entries contain the text. */
  const reply = async (entries) => {
    const [{ kind, request }] = (await page.sent()).filter((each) => each.kind !== "draft");
    assert.equal(kind, "find");
    await update({ kind: "found", request, entries });
    for (const { kind: wanted, entry } of await page.sent()) await update({ kind: wanted, entry });
  };
  await page.locator("textarea").fill("not a task");
  await page.keyboard.press("Control+F");
  await page.sent();
  await page.keyboard.insertText("needle");
  await reply([0, 1, 2]);
  const here = async () => (await marked(page))[1].join();
  assert.equal((await marked(page))[0].length, 14);
  await page.locator(".find .count", { hasText: "3 of 3" }).waitFor();
  const isInSight = () =>
    page.evaluate(() => {
      const [range] = CSS.highlights.get("found-here");
      const { top, bottom, left } = range.getBoundingClientRect();
      const hit = document.elementFromPoint(left + 1, (top + bottom) / 2);
      return top > 0 && hit !== null && range.startContainer.parentElement.contains(hit);
    });
  assert.equal(await here(), "needle");
  await page.keyboard.press("Enter");
  await reply([0, 1, 2]);
  assert.ok(await isInSight());
  await page.keyboard.press("Shift+Enter");
  await reply([0, 1, 2]);
  await page.keyboard.press("Shift+Enter");
  await reply([0, 1, 2]);
  await page.locator(".find .count", { hasText: "2 of 3" }).waitFor();
  assert.equal(await here(), "NEEDLE");
  assert.ok(await isInSight(), "the text in the folded output");
  await page.keyboard.press("Shift+Enter");
  await reply([0, 1, 2]);
  await page.locator(".find .count", { hasText: "1 of 3" }).waitFor();
  await page.keyboard.insertText("s nowhere");
  await reply([]);
  await page.locator(".find .count", { hasText: "Not found" }).waitFor();
  await page.keyboard.press("Escape");
  assert.deepEqual(await marked(page), [[], []]);
  assert.equal(await page.evaluate(() => document.activeElement.tagName), "TEXTAREA");
  assert.equal(await page.locator("textarea").inputValue(), "not a task");
});

pageTest(
  "in a narrow side bar, the text to find has room, and the buttons stay in view",
  async (page, show, update) => {
    await show(
      Array.from({ length: 120 }, (_, index) => answer(`needle ${index}`)),
      { isNew: true },
    );
    await page.keyboard.press("Control+F");
    await page.keyboard.insertText("needle");
    await update({ kind: "found", request: 2, entries: Array.from({ length: 120 }, (_, index) => index) });
    for (const { kind, entry } of await page.sent()) if (kind === "reveal") await update({ kind, entry });
    const count = page.locator(".find .count");
    await count.getByText("120 messages and calls").waitFor();
    assert.equal(await count.getAttribute("title"), "120 of 120 messages and calls");
    assert.equal(await count.locator("[aria-hidden]").innerText(), "120/120");
    for (const width of [292, 171]) {
      await page.setViewportSize({ width, height: 500 });
      const { width: field } = await page.locator(".find input").boundingBox();
      assert.ok(field > 100, `${field} at ${width}`);
      for (const part of await page.locator(".find .controls > *").all()) {
        const box = await part.boundingBox();
        assert.ok(box.x >= 12 && box.x + box.width <= width - 12, `${JSON.stringify(box)} at ${width}`);
      }
    }
  },
);

pageTest("Esc stops the agent when it is pressed twice, and the seconds are counted", async (page, _, update) => {
  const prompt = { agents: [], chips: [], history: [], model: "m", cost: "", window: null };
  const idle = { title: "Task", replay: "", isRunning: false, doing: "", startedAt: null, cards: [], prompt };
  const working = page.locator(".working");
  const esc = async (expected) => {
    await page.keyboard.press("Escape");
    assert.deepEqual(await page.sent(), expected);
  };
  await update({
    kind: "state",
    state: { ...idle, isRunning: true, doing: "Testing", startedAt: Date.now() - 61_000 },
  });
  await page.locator("textarea").focus();
  await page.sent();
  assert.match(await working.innerText(), /^Testing… 1 min [12] s$/);
  await esc([]);
  assert.match(await working.innerText(), /Press Esc again to stop\.$/);
  await page.keyboard.press("x");
  assert.doesNotMatch(await working.innerText(), /Esc/);
  await page.sent();
  await esc([]);
  await esc([{ kind: "stop" }]);
  await update({ kind: "state", state: idle });
  await esc([]);
  await esc([]);
  assert.equal(await working.innerText(), "");
});

const LINES = Array.from({ length: 20_000 }, (_, index) => `line ${index + 1}\n`);
const COMMAND = "for i in $(seq 20000)\ndo echo line $i; done";
/** A command that has printed this many lines. The extension sends the last 10,000 characters. */
const printed = (lines, { state = "running", end = "" } = {}) => {
  const whole = LINES.slice(0, lines).join("") + end;
  const body = shown(whole.slice(-10_000), Math.max(0, whole.length - 10_000));
  const rest = { isCommand: true, place: null, note: "", command: shown(COMMAND), showsEnd: true, hasChanges: false };
  return [{ kind: "tool", state, title: "for i in $(seq 20000)", body, ...rest }];
};

/** Opens the output, scrolls up, and selects the line that is then near its top. Returns the output and that line. */
async function readAbove(page) {
  await page.locator("summary").click();
  const output = page.locator(".output");
  await output.evaluate(async (box) => {
    box.focus({ preventScroll: true });
    box.scrollTop = -400;
    // the conversation scrolls to its end
    await new Promise(requestAnimationFrame);
    await new Promise(requestAnimationFrame);
  });
  const line = await output.evaluate((box) => {
    const { left, top } = box.getBoundingClientRect();
    const { startContainer, startOffset } = document.caretRangeFromPoint(left + 20, top + 60);
    const start = startContainer.data.lastIndexOf("\n", startOffset - 1) + 1;
    const end = startContainer.data.indexOf("\n", startOffset);
    document.getSelection().setBaseAndExtent(startContainer, start, startContainer, end);
    return String(document.getSelection());
  });
  assert.match(line, /^line \d+$/);
  return { output, line };
}

/** What the user notices of an output: where the selected text is, what it is, and whether the box has the focus. */
const seen = (box) => {
  const selection = document.getSelection();
  const { top } = selection.getRangeAt(0).getBoundingClientRect();
  return { top: Math.round(top), text: String(selection), hasFocus: document.activeElement === box };
};

for (const start of [300, 1500])
  pageTest(`the output of a command stays where the user reads it: ${start} lines`, async (page, show) => {
    await show(printed(start), { isNew: true });
    const { output, line } = await readAbove(page);
    assert.equal(await page.locator(".tool pre").first().innerText(), COMMAND);
    const before = await output.evaluate(seen);
    assert.deepEqual([before.text, before.hasFocus], [line, true]);
    for (const lines of [start + 10, start + 600, start + 1200]) {
      await show(printed(lines, { end: "progress: 10%" }), { isNew: false });
      await show(printed(lines, { end: "progress: 20%" }), { isNew: false });
      await show(printed(lines), { isNew: false });
      assert.deepEqual(await output.evaluate(seen), before, `after ${lines} lines`);
    }
    const drawn = await output.evaluate((box) => box.textContent);
    const omitted = LINES.slice(0, start + 1200).join("").length - drawn.length;
    const note = await page.locator(".omission").allInnerTexts();
    assert.equal(note.join().includes(`${omitted.toLocaleString("en")} earlier characters`), omitted > 0, note.join());
    await show(printed(start + 1200, { state: "ok", end: "(exit code 0)" }), { isNew: false });
    assert.deepEqual(await output.evaluate(seen), before);
    assert.equal(await output.evaluate((box) => box.textContent), `${drawn}(exit code 0)`);
  });

pageTest("an output that does not continue what the user reads is drawn at the end of the box", async (page, show) => {
  await show(printed(1500), { isNew: true });
  const { output } = await readAbove(page);
  const before = await output.evaluate(seen);
  await show(printed(20_000), { isNew: false });
  assert.deepEqual(await output.evaluate(seen), before);
  await output.evaluate((box) => {
    box.scrollTop = 0;
  });
  await show(printed(20_000), { isNew: false });
  assert.equal(await output.evaluate((box) => box.textContent), LINES.join("").slice(-10_000));
  assert.equal(await output.evaluate((box) => box.scrollTop), 0);
});

pageTest("a result that does not continue the output replaces it", async (page, show) => {
  await show(printed(1500), { isNew: true });
  const { output } = await readAbove(page);
  await show(printed(20_000, { state: "ok", end: "(exit code 0)" }), { isNew: false });
  assert.ok((await output.evaluate((box) => box.textContent)).endsWith("line 20000\n(exit code 0)"));
});
