// The script of the conversation's webview. It draws what the extension sends, and sends what the user wants.

import "./l10n";
import { t } from "@vscode/l10n";
import type { ChipView, Intention, StateView, Update } from "../messages";
import { Cards } from "./cards";
import { element, withCode } from "./elements";
import { Find } from "./find";
import { Log } from "./log";
import { duration } from "../../../ui/format";
import { Prompt, type SavedState } from "./prompt";

declare function acquireVsCodeApi(): {
  postMessage(message: Intention): void;
  getState(): SavedState | undefined;
  setState(state: SavedState): void;
};

const host = acquireVsCodeApi();
const send = (intention: Intention): void => {
  host.postMessage(intention);
};
const cards = new Cards(() => {
  prompt.focus();
});
const heading = element("h1", "session");
const intro = element(
  "p",
  "intro",
  t("Give the agent a task. It proposes changes, and no file changes until you accept the change."),
);
const replay = element("p", "replay");
const working = element("p", "working");
const announcer = element("p", "for-screen-readers");
announcer.setAttribute("role", "status");
const place = element("p", "for-screen-readers");
place.setAttribute("role", "status");
const log = new Log(
  (first) => {
    send({ kind: "showFrom", first });
  },
  element("header", "", heading, intro, replay),
  [working, cards.element],
);
const prompt = new Prompt(
  send,
  () => {
    log.scrollToEnd();
  },
  () => cards.focusFirst(),
  (state) => {
    host.setState(state);
  },
  host.getState(),
);
document.getElementById("conversation")?.append(log.area, prompt.element, announcer, place);
const find = new Find(log, send, () => {
  prompt.focus();
});
log.area.prepend(find.element);

function jump(by: -1 | 1): void {
  send({ kind: "jump", from: log.startOfJump(by), by });
}

/** What the agent is doing, and since when (null: not shown), in milliseconds since the epoch; undefined if it is idle. */
let running: { readonly doing: string; readonly since: number | null; readonly retryAt: number } | undefined;
let nextSecond: ReturnType<typeof setTimeout> | undefined;
/** Whether the next press of Esc stops the run. */
let isStopAsked = false;

function drawState(state: StateView): void {
  const { title, replay: recording, doing, cards: shown } = state;
  prompt.draw(state);
  heading.replaceChildren(...withCode(title || t("Conversation")));
  heading.title = title;
  intro.hidden = title !== "";
  replay.textContent = recording === "" ? "" : t("Replay. A recorded conversation replaces the model: {0}.", recording);
  running = state.isRunning ? { doing, since: state.startedAt, retryAt: state.retryAt ?? 0 } : undefined;
  log.markWaiting(state.isWaiting);
  drawWorking();
  cards.update(shown);
  const firstCard = shown[0]?.title ?? "";
  if (announcer.textContent !== firstCard) announcer.textContent = firstCard;
}

/** Says what the agent is doing and for how long. Draws itself again each second. */
function drawWorking(): void {
  clearTimeout(nextSecond);
  if (!running) isStopAsked = false;
  const { doing = "", since = null, retryAt = 0 } = running ?? {};
  const now = Date.now();
  const seconds = since === null ? 0 : Math.floor((now - since) / 1000);
  const what =
    retryAt > now
      ? [t("Trying again in {0} s.", Math.ceil((retryAt - now) / 1000))]
      : [`${doing}…`, seconds > 0 ? duration(seconds) : ""];
  const parts = [...what, isStopAsked ? t("Press Esc again to stop.") : ""];
  working.textContent = doing === "" ? "" : parts.filter(Boolean).join(" ");
  if (running) nextSecond = setTimeout(drawWorking, 1000);
}

/** Stops the run at the second of two presses of Esc, and says so at the first. Returns whether there is a run. */
function stopByKey(): boolean {
  if (!running) return false;
  if (isStopAsked) send({ kind: "stop" });
  isStopAsked = !isStopAsked;
  drawWorking();
  place.textContent = isStopAsked ? t("Press Esc again to stop.") : "";
  return true;
}

function onClick(event: MouseEvent): void {
  const { target: clicked } = event;
  if (clicked instanceof Element && clicked.closest("summary") && log.entryOf(clicked) !== undefined) log.hold();
  const target = event.target instanceof Element ? event.target.closest<HTMLElement>("[data-action], a") : null;
  if (!target) return;
  const entry = log.entryOf(target);
  const { action, uri, path, line, button, chip } = target.dataset;
  const card = target.closest<HTMLElement>("[data-card]")?.dataset.card;
  const place = line === undefined ? null : Number(line);
  if (uri !== undefined || path !== undefined) event.preventDefault();
  if (uri !== undefined) send({ kind: "open", uri, line: place });
  else if (path !== undefined) send({ kind: "openPath", path, line: place });
  else if (action === "copyCode" || action === "insertCode") {
    const text = target.closest(".code")?.querySelector("pre")?.textContent ?? "";
    send({ kind: action === "copyCode" ? "copyText" : "insertText", text });
  } else if (action === "copy" && entry !== undefined) send({ kind: "copy", entry });
  else if (action === "rewind" && entry !== undefined) send({ kind: "rewind", entry });
  else if ((action === "showWhole" || action === "showSubagent") && entry !== undefined) send({ kind: action, entry });
  else if ((action === "acceptChange" || action === "rejectChange") && entry !== undefined) {
    const { file = "", change = "" } = target.closest<HTMLElement>("[data-change]")?.dataset ?? {};
    send({ kind: "decide", entry, uri: file, change, isAccepted: action === "acceptChange" });
  } else if (action === "earlier") log.showEarlier();
  else if (action === "edit" && entry !== undefined) send({ kind: "edit", entry });
  else if (action === "send") prompt.submit();
  else if (action === "latest") log.scrollToEnd();
  else if (action === "findNext") find.search(1);
  else if (action === "findPrevious") find.search(-1);
  else if (action === "closeFind") find.close();
  else if (action === "previousMessage") jump(-1);
  else if (action === "nextMessage") jump(1);
  else if (
    action === "stop" ||
    action === "chooseAgent" ||
    action === "chooseModel" ||
    action === "listMessages" ||
    action === "attach"
  )
    send({ kind: action });
  else if (action === "removeChip" && chip !== undefined) {
    send({ kind: "removeChip", chip: chip as ChipView["id"] });
    prompt.focus();
  } else if (action === "press" && card !== undefined) send({ kind: "press", card, button: Number(button) });
}

/** Handles the keys that work in the whole page. VS Code's own key bindings do not know whether it has the focus. */
function onKey(event: KeyboardEvent): void {
  const { key, altKey, ctrlKey, metaKey, shiftKey } = event;
  if (event.defaultPrevented || event.isComposing) return;
  if (key === "Escape" && stopByKey()) {
    event.preventDefault();
    event.stopPropagation();
    return;
  }
  if (isStopAsked) {
    isStopAsked = false;
    drawWorking();
  }
  const isAlt = altKey && !ctrlKey && !metaKey && !shiftKey;
  const isMac = navigator.platform.startsWith("Mac");
  if (isAlt && (key === "ArrowUp" || key === "ArrowDown")) jump(key === "ArrowUp" ? -1 : 1);
  else if (key.toLowerCase() === "u" && !shiftKey && (isMac ? ctrlKey && metaKey && !altKey : isAlt))
    send({ kind: "undo" });
  else if (key.toLowerCase() === "f" && (ctrlKey || metaKey) && !altKey && !shiftKey) find.open();
  else return;
  event.preventDefault();
  // VS Code would do something else for the key too, such as find in the editor and focus it
  event.stopPropagation();
}

/** Asks for the changes of a call that is unfolded. */
function onToggle({ target }: Event): void {
  if (!(target instanceof HTMLDetailsElement)) return;
  const entry = target.open && target.querySelector(".changes") ? log.entryOf(target) : undefined;
  if (entry === undefined) log.followIfNearEnd();
  else send({ kind: "showChanges", entry });
}

function onSubmit(event: SubmitEvent): void {
  event.preventDefault();
  const form = event.target instanceof HTMLFormElement ? event.target : undefined;
  const card = form?.closest<HTMLElement>("[data-card]")?.dataset.card;
  const text = form?.querySelector("input")?.value.trim() ?? "";
  if (card !== undefined && text !== "") send({ kind: "answer", card, text });
}

document.addEventListener("click", onClick);
document.addEventListener("submit", onSubmit);
document.addEventListener("keydown", onKey);
// the event of an element does not bubble
document.addEventListener("toggle", onToggle, true);
window.addEventListener("focus", () => {
  // VS Code focuses the page, but the user wants to type into the prompt
  if (document.activeElement === document.body) prompt.focus();
});
window.addEventListener("message", ({ data }: MessageEvent<Update>) => {
  switch (data.kind) {
    case "entries":
      log.update(data);
      return;
    case "state":
      drawState(data.state);
      return;
    case "session":
      prompt.showSession(data.id, data.draft);
      return;
    case "draft":
      prompt.restoreDraft(data.text);
      return;
    case "edit":
      prompt.edit(data.text);
      return;
    case "insert":
      prompt.insert(data.text);
      return;
    case "completions":
      prompt.showCompletions(data.request, data.items);
      return;
    case "reveal":
      place.textContent = log.reveal(data.entry);
      if (data.entry !== null) find.revealed(data.entry);
      return;
    case "changes":
      log.showChanges(data);
      return;
    case "found":
      find.show(data);
      return;
    case "find":
      find.open();
      return;
    case "jump":
      jump(data.by);
      return;
    case "focus":
      prompt.focus();
  }
});
// VS Code may have focused the page before this script was loaded
if (document.hasFocus()) prompt.focus();
send({ kind: "ready" });
