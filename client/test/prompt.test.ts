import assert from "node:assert/strict";
import { test } from "node:test";
import { page } from "./page";
import type { AgentView, CardView, Intention, StateView } from "../src/features/conversation/messages";
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

/** The state of a window in which nothing runs. */
const idle = (agents: readonly AgentView[]): StateView => ({
  title: "",
  replay: "",
  isRunning: false,
  doing: "",
  isWaiting: false,
  startedAt: null,
  retryAt: null,
  cards: [],
  prompt: { agent: "Fairlead", isHosted: false, agents, chips: [], history: [], model: "", cost: "", window: null },
});

test("an agent in a file is chosen as a mode, also before it is known, and not when it is gone", () => {
  const sent: Intention[] = [];
  const [nothing, no] = [(): undefined => undefined, (): boolean => false];
  const prompt = new Prompt((intention) => sent.push(intention), nothing, no, nothing, { mode: "agent:reviewer" });
  page.body.replaceChildren(prompt.element);
  const [select, input] = [prompt.element.querySelector("select"), prompt.element.querySelector("textarea")];
  assert.ok(select && input);
  assert.equal(select.value, "agent");
  const modes: unknown[] = [];
  for (const agents of [[{ name: "reviewer", description: "Reviews." }], []]) {
    prompt.draw(idle(agents));
    input.value = "Look.";
    prompt.submit();
    const last = sent.at(-1);
    modes.push(last?.kind === "send" && last.mode);
  }
  assert.deepEqual(modes, ["agent:reviewer", "agent"]);
});

test("a hosted agent and a mode of Fairlead's own exclude each other", () => {
  const sent: Intention[] = [];
  const saved: unknown[] = [];
  const prompt = new Prompt(
    (intention) => sent.push(intention),
    () => undefined,
    () => false,
    (state) => saved.push(state),
    { mode: "plan" },
  );
  page.body.replaceChildren(prompt.element);
  const select = prompt.element.querySelector("select");
  const who = prompt.element.querySelector("[data-action=chooseAgent]");
  assert.ok(select && who && page.defaultView);
  const draw = (agent: string, isHosted: boolean): void => {
    const state = idle([]);
    prompt.draw({ ...state, prompt: { ...state.prompt, agent, isHosted } });
  };
  draw("Fairlead", false);
  assert.deepEqual([select.value, select.title, who.textContent], ["plan", "", "Fairlead"]);
  draw("Claude Code", true);
  assert.deepEqual([select.value, saved, who.textContent], ["agent", [{ mode: "agent" }], "Claude Code"]);
  assert.match(select.title, /Fairlead works instead of Claude Code/);
  select.value = "ask";
  select.dispatchEvent(new page.defaultView.Event("change"));
  // a state from before the extension knows the mode does not change it back
  draw("Claude Code", true);
  assert.deepEqual([select.value, sent.at(-1)], ["ask", { kind: "mode", mode: "ask" }]);
  draw("Fairlead", false);
  assert.equal(select.value, "ask");
});

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

/** A prompt while a run goes on, with functions that show cards, type a text, press Enter, and read the button. */
function runningPrompt(): {
  prompt: Prompt;
  show: (...replies: CardView["reply"][]) => void;
  type: (text: string) => void;
  enter: () => object | undefined;
  button: () => string | null | undefined;
} {
  const sent: Intention[] = [];
  const none = (): undefined => undefined;
  const prompt = new Prompt(
    (intention) => sent.push(intention),
    none,
    () => false,
    none,
    undefined,
  );
  page.body.replaceChildren(prompt.element);
  const input = prompt.element.querySelector("textarea");
  const view = page.defaultView;
  assert.ok(input && view);
  const show = (...replies: CardView["reply"][]): void => {
    const cards = replies.map((reply, index) => ({ id: `${reply} ${index}`, reply }) as CardView);
    const around = {
      agent: "Fairlead",
      isHosted: false,
      agents: [],
      chips: [],
      history: [],
      model: "",
      cost: "",
      window: null,
    };
    prompt.draw({ isRunning: true, isWaiting: replies.length > 0, cards, prompt: around } as unknown as StateView);
  };
  const type = (text: string): void => {
    input.value = text;
    input.dispatchEvent(new view.Event("input"));
  };
  const enter = (): object | undefined => {
    sent.length = 0;
    input.dispatchEvent(new view.KeyboardEvent("keydown", { key: "Enter" }));
    return sent.find(({ kind }) => kind === "send");
  };
  show();
  return { prompt, show, type, enter, button: () => prompt.element.querySelector(".buttons")?.lastChild?.textContent };
}

test("a text replies to the cards that were shown when the user began to type it, and the button says so", () => {
  const { show, type, enter, button } = runningPrompt();
  for (const [replies, label, cards] of [
    [["reason"], "Reject", ["reason 0"]],
    [["reason", "answer", null], "Answer", ["reason 0", "answer 1"]],
    [[null], "Send", []],
  ] as const) {
    show(...replies);
    assert.equal(button(), "Send");
    type("x");
    assert.equal(button(), label);
    assert.deepEqual(enter(), { kind: "send", text: "x", mode: "agent", cards });
    assert.equal(button(), "Send");
  }
  show("reason");
  for (const text of ["/new Another task", "/review"]) {
    type(text);
    assert.equal(button(), "Send");
    assert.deepEqual(enter(), { kind: "send", text, mode: "agent", cards: [] });
  }
});

test("a text that was begun before a card appeared stays a message, until the user deletes it", () => {
  const { prompt, show, type, enter, button } = runningPrompt();
  type("Please also cover");
  show("reason");
  type("Please also cover floats");
  assert.equal(button(), "Send");
  assert.deepEqual(enter(), { kind: "send", text: "Please also cover floats", mode: "agent", cards: [] });
  type("No.");
  assert.equal(button(), "Reject");
  // the card was answered elsewhere
  show();
  assert.equal(button(), "Send");
  show("answer");
  assert.equal(button(), "Send");
  type("");
  type("Yes.");
  assert.equal(button(), "Answer");
  prompt.showSession("s", "");
  prompt.showSession("other", "A draft");
  show("reason");
  assert.equal(button(), "Send");
});

test("no line below the prompt begins with the dot between its parts", () => {
  const { prompt } = runningPrompt();
  const around = {
    agent: "Fairlead",
    isHosted: false,
    agents: [],
    chips: [],
    history: [],
    model: "",
    cost: "$0.02 · 6,000 tokens",
    window: 1,
  };
  prompt.draw({ isRunning: true, cards: [], prompt: around } as unknown as StateView);
  const spent = prompt.element.querySelector(".spent")?.textContent;
  assert.equal(spent, "$0.02\u00a0· 6,000 tokens\u00a0· 1% of the window");
});
