import assert from "node:assert/strict";
import { test } from "node:test";
import { page } from "./page";
import type { Intention } from "../src/features/conversation/messages";
import { Prompt } from "../src/features/conversation/webview/prompt";

/** A prompt with a text and the cursor in it, after the user has typed the last character before the cursor. */
function typedPrompt(
  text: string,
  cursor: number,
): { prompt: Prompt; input: HTMLTextAreaElement; request: number; press: (key: string) => void } {
  const sent: Intention[] = [];
  const prompt = new Prompt(
    (intention) => sent.push(intention),
    () => undefined,
    () => false,
    () => undefined,
    undefined,
  );
  page.body.replaceChildren(prompt.element);
  const input = prompt.element.querySelector("textarea");
  const view = page.defaultView;
  assert.ok(input && view);
  input.focus();
  input.value = text;
  input.setSelectionRange(cursor, cursor);
  input.dispatchEvent(new view.Event("input"));
  const asked = sent.find(({ kind }) => kind === "complete");
  assert.ok(asked?.kind === "complete");
  const press = (key: string): void => {
    input.dispatchEvent(new view.KeyboardEvent("keydown", { key }));
  };
  return { prompt, input, request: asked.request, press };
}

const COMPLETIONS = [{ label: "#main.py", description: "", text: "See #main.py " }];

test("a completion replaces what was typed and keeps the text after it", () => {
  const { prompt, input, request, press } = typedPrompt("See #ma, then stop", 7);
  prompt.showCompletions(request, COMPLETIONS);
  press("Enter");
  assert.equal(input.value, "See #main.py , then stop");
});

test("completions that arrive after the cursor has moved are not shown", () => {
  const { prompt, input, request, press } = typedPrompt("See #ma, then stop", 7);
  input.setSelectionRange(3, 3);
  prompt.showCompletions(request, COMPLETIONS);
  press("Tab");
  assert.equal(input.value, "See #ma, then stop");
});

test("a move of the cursor closes the list; a choice before the list has closed completes what was typed", () => {
  const { prompt, input, request, press } = typedPrompt("See #ma, then stop", 7);
  prompt.showCompletions(request, COMPLETIONS);
  input.setSelectionRange(3, 3);
  press("Enter");
  assert.equal(input.value, "See #main.py , then stop");

  const other = typedPrompt("See #ma, then stop", 7);
  other.prompt.showCompletions(other.request, COMPLETIONS);
  other.input.setSelectionRange(3, 3);
  page.dispatchEvent(new (page.defaultView ?? window).Event("selectionchange"));
  other.press("Tab");
  assert.equal(other.input.value, "See #ma, then stop");
});
