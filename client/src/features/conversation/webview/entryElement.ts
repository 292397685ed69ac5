// Draws one entry of the conversation, and draws it again when it has changed.

import { t } from "@vscode/l10n";
import type { ChangeView, EntryView, Place, ShownText } from "../messages";
import { button, element, withCode } from "./elements";
import { markdownBlocks, preformatted, type Block } from "./markdown";
import { redrawOutput } from "./output";
import { linkPlaces } from "./placeLinks";

type ToolView = Extract<EntryView, { kind: "tool" }>;

const TOOL_MARKS = { running: "◌", ok: "✓", failed: "✗", refused: "⊘" } as const;
const TOOL_WORDS = { running: t("running"), ok: t("done"), failed: t("failed"), refused: t("refused") } as const;

/** An entry in the page. */
export class EntryElement {
  readonly element: HTMLElement;
  private blocks: Block[] = [];

  constructor(
    readonly index: number,
    private view: EntryView,
  ) {
    this.element = element("article", `entry ${view.kind}`);
    this.element.dataset.entry = String(index);
    this.draw();
  }

  /** Draws the entry again. What the user has folded or unfolded stays that way, unless a call has failed meanwhile. */
  update(view: EntryView): void {
    const isSameKind = view.kind === this.view.kind;
    const isOpen = this.element.querySelector("details")?.open;
    const wasFailed = isFailed(this.view);
    this.view = view;
    if (isSameKind && view.kind === "answer") {
      this.drawAnswer(view.body);
      return;
    }
    if (!(isSameKind && view.kind === "tool" && updateTool(this.element, view))) {
      this.element.className = `entry ${view.kind}`;
      this.blocks = [];
      this.draw();
    }
    const details = this.element.querySelector("details");
    // a failed call unfolds, so that the user sees the reason
    if (details) details.open = isOpen !== undefined && wasFailed === isFailed(view) ? isOpen : isFailed(view);
  }

  /** Draws the changes that a call proposed, which the page has asked for. */
  showChanges(changes: readonly ChangeView[]): void {
    const none = element(
      "p",
      "note",
      t("Nothing of this call is left to review: it was decided, or a later call changed the same lines."),
    );
    const box = this.element.querySelector(".changes");
    box?.replaceChildren(...(changes.length > 0 ? changes.map(changePart) : [none]));
  }

  private draw(): void {
    if (this.view.kind === "answer") {
      const buttons = element("div", "actions", button(t("Copy"), "copy", t("Copy answer")));
      this.element.replaceChildren(element("div", "markdown"), element("div", "rest"), buttons);
      this.drawAnswer(this.view.body);
    } else {
      this.element.replaceChildren(...parts(this.view));
    }
  }

  /**
   * Replaces only the changed blocks and those after them, so that a selection above stays and a screen reader reads
   * only what is new.
   */
  private drawAnswer(body: ShownText): void {
    const [markdown, rest] = this.element.children;
    const blocks = markdownBlocks(body.text, this.blocks);
    const firstChanged = blocks.findIndex((block, index) => block !== this.blocks[index]);
    const unchanged = firstChanged < 0 ? blocks.length : firstChanged;
    for (const { element: old } of this.blocks.slice(unchanged)) old.remove();
    markdown?.append(...blocks.slice(unchanged).map((block) => block.element));
    this.blocks = blocks;
    rest?.replaceChildren(...omission(body));
  }
}

function parts(view: Exclude<EntryView, { kind: "answer" }>): Node[] {
  switch (view.kind) {
    case "prompt": {
      const who = element("h2", "who", t("You"), view.note === "" ? "" : `, ${view.note}`);
      const text = element("div", "plain", ...withCode(view.body.text));
      text.dir = "auto";
      const buttons = element(
        "div",
        "actions",
        button(t("Copy"), "copy", t("Copy message")),
        button(t("Edit"), "edit", t("Edit and send again")),
        ...(view.canRewind ? [button(t("Rewind..."), "rewind", t("Rewind to before this message"))] : []),
      );
      const pictures = view.pictures.map((name) => element("p", "picture", t("Picture: {0}", name)));
      return [who, text, ...omission(view.body), ...pictures, buttons];
    }
    case "thinking":
      return [folded(element("span", "", t("Thinking")), markdownPart(view.body), ...omission(view.body))];
    case "step": {
      const label = element("span", "label", view.label);
      label.dir = "auto";
      return [element("h2", "", mark(view.mark), label, " ", note(view.description))];
    }
    case "tool":
      return [toolPart(view)];
    case "note":
      return [element("p", "", view.text)];
    case "context": {
      const title = view.title === "" ? t("Context") : t("Context: {0}", view.title);
      return [folded(element("span", "", title), preformatted(view.body.text, t("Context")), ...omission(view.body))];
    }
    case "rules": {
      const links = view.files.flatMap(({ place, label }) => [", ", placeLink(place, label)]).slice(1);
      return [element("p", "", t("Rules:"), " ", ...links)];
    }
    case "end": {
      const title = view.title === "" ? [] : [element("p", "title", view.title)];
      const message = view.body.text === "" ? [] : [element("p", "plain", view.body.text)];
      const record = view.record === "" ? [] : [element("p", "record", view.record)];
      return [...title, ...message, ...omission(view.body), ...record];
    }
  }
}

function toolPart(view: ToolView): HTMLElement {
  const open = view.place ? [placeLink(view.place, t("Open"), t("Open {0}", view.title))] : [];
  if (view.body.text === "" && view.command.text === "" && !view.hasChanges && !view.isSubagent)
    return element("div", "line", toolHead(view), ...open);
  const output = preformatted(view.body.text, t("Output"));
  output.classList.add("output");
  output.classList.toggle("shows-end", view.showsEnd);
  // otherwise, a screen reader would read all of it each time a running command prints something
  output.setAttribute("aria-live", "off");
  // the text of a growing output must stay one node
  if (view.state !== "running") linkPlaces(output);
  const rest = element("div", "rest", ...toolOmission(view));
  const result = view.body.text === "" ? [] : view.showsEnd ? [rest, output] : [output, rest];
  const changes = view.hasChanges ? [element("div", "changes")] : [];
  const did = view.isSubagent ? [element("p", "", button(t("Show What It Did"), "showSubagent"))] : [];
  const part = folded(toolHead(view), ...commandPart(view.command), ...changes, ...result, ...did);
  part.open = isFailed(view);
  return open.length > 0 ? element("div", "line", part, ...open) : part;
}

function changePart({ uri, id, title, isChangedLater, rows, omitted }: ChangeView): HTMLElement {
  const code = preformatted("", title);
  code.append(
    ...rows.map(({ mark: side, parts: words }) => {
      const marked = words.map(({ text, isChanged }) => (isChanged ? element("span", "word", text) : text));
      return element("span", side === "+" ? "added" : "removed", `${side} `, ...marked, "\n");
    }),
  );
  const more = omitted > 0 ? [element("p", "omission", t("{0} more lines.", omitted.toLocaleString("en")))] : [];
  const bar = element("div", "bar", element("span", "", title), decision("accept", title), decision("reject", title));
  const later = isChangedLater ? [element("p", "note", t("A later call changed these lines too."))] : [];
  const change = element("div", "change", bar, ...later, code, ...more);
  Object.assign(change.dataset, { file: uri, change: id });
  return change;
}

const decision = (action: "accept" | "reject", title: string): HTMLButtonElement =>
  action === "accept"
    ? button(t("Accept"), "acceptChange", t("Accept the change, {0}", title))
    : button(t("Reject"), "rejectChange", t("Reject the change, {0}", title));

function commandPart(command: ShownText): Node[] {
  return command.text === "" ? [] : [preformatted(command.text, t("Command")), ...omission(command)];
}

/**
 * Draws a call again that had an output and still has one. Returns false for other calls. The elements stay in the page,
 * so that the output also keeps its scroll position, its selection and the focus.
 */
function updateTool(entry: HTMLElement, view: ToolView): boolean {
  const output = entry.querySelector<HTMLElement>(".output");
  const text = output?.firstChild;
  if (!output || !(text instanceof Text) || view.body.text === "") return false;
  if (view.hasChanges !== (entry.querySelector(".changes") !== null)) return false;
  const head = toolHead(view);
  const drawnHead = entry.querySelector(".head");
  // a click on an element that is replaced before the button is released would not count
  if (!drawnHead?.isEqualNode(head)) drawnHead?.replaceWith(head);
  const more = redrawOutput(output, text, view.body.text, view.state === "running");
  if (more !== undefined) entry.querySelector(".rest")?.replaceChildren(...toolOmission(view, more));
  return true;
}

function toolHead(view: ToolView): HTMLElement {
  const title = view.isCommand
    ? element("code", "label", view.title)
    : element("span", "label", ...withCode(view.title));
  const state = element("span", "mark", TOOL_MARKS[view.state]);
  state.setAttribute("role", "img");
  state.setAttribute("aria-label", TOOL_WORDS[view.state]);
  return element("span", "head", state, title, " ", note(view.note));
}

/** Returns the note about what is omitted of a call's result, of which `more` characters than in the view are drawn. */
function toolOmission({ body, showsEnd }: ToolView, more = 0): Node[] {
  return omission({ ...body, omitted: Math.max(0, body.omitted - more) }, showsEnd ? "start" : "end");
}

function folded(summary: HTMLElement, ...content: readonly Node[]): HTMLDetailsElement {
  return element("details", "", element("summary", "", summary), ...content);
}

function markdownPart({ text }: ShownText): HTMLElement {
  return element("div", "markdown", ...markdownBlocks(text).map((block) => block.element));
}

/** Returns the note that a text is cut off at its start or its end; empty if it is not. */
function omission({ omitted }: ShownText, cutAt: "start" | "end" = "end"): Node[] {
  if (omitted === 0) return [];
  const number = omitted.toLocaleString("en");
  const count = cutAt === "start" ? t("{0} earlier characters.", number) : t("{0} more characters.", number);
  return [element("p", "omission", count, " ", button(t("Open All in Editor"), "showWhole"))];
}

function placeLink({ uri, line }: Place, label: string, name = label): HTMLAnchorElement {
  const link = element("a", "place", label);
  link.href = "#";
  link.dataset.uri = uri;
  if (line !== null) link.dataset.line = String(line);
  if (name !== label) link.setAttribute("aria-label", name);
  return link;
}

function mark(text: string): HTMLElement | string {
  if (text === "") return "";
  const made = element("span", "mark", text);
  made.setAttribute("aria-hidden", "true");
  return made;
}

const note = (text: string): HTMLElement | string => (text === "" ? "" : element("span", "note", text));
const isFailed = (view: EntryView): boolean => view.kind === "tool" && view.state === "failed";
