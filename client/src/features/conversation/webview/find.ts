// The bar that finds a text in the conversation. The extension finds the entries that contain it, also those that are not
// drawn; the page marks the text in the drawn ones.

import { t } from "@vscode/l10n";
import type { Intention, Update } from "../messages";
import { button, element } from "./elements";
import type { Log } from "./log";

type Send = (intention: Extract<Intention, { kind: "find" | "reveal" }>) => void;

export class Find {
  readonly element: HTMLElement;
  private readonly input = element("input", "");
  private readonly count = element("span", "count");
  /** The number of the last request. Answers to earlier ones are ignored. */
  private lastRequest = 0;
  /** Where the answer moves to: the nearest entry (0), or the next or previous occurrence. */
  private direction: -1 | 0 | 1 = 0;
  /** The indexes of the entries that contain the text, in ascending order. */
  private found: readonly number[] = [];
  /** The entry with the current occurrence, and the occurrence's number in it. */
  private current: { readonly entry: number; readonly occurrence: number } | undefined;

  /** `onClose` is called when the user closes the bar. */
  constructor(
    private readonly log: Log,
    private readonly send: Send,
    private readonly onClose: () => void,
  ) {
    this.input.type = "text";
    this.input.placeholder = t("Find");
    this.input.setAttribute("aria-label", t("Find in the conversation"));
    this.count.setAttribute("role", "status");
    const buttons = [
      button("↑", "findPrevious", t("Previous occurrence")),
      button("↓", "findNext", t("Next occurrence")),
      button("×", "closeFind", t("Close")),
    ];
    for (const each of buttons) each.title = each.ariaLabel ?? "";
    const controls = element("div", "controls", this.count, ...buttons);
    this.element = element("div", "find", this.input, controls);
    this.element.setAttribute("role", "search");
    this.element.hidden = true;
    this.input.addEventListener("input", () => {
      this.search(0);
    });
    this.element.addEventListener("keydown", (event) => {
      if (event.isComposing) return;
      if (event.key === "Escape") this.close();
      else if (event.key === "Enter" && event.target === this.input) this.search(event.shiftKey ? -1 : 1);
      else return;
      event.preventDefault();
    });
  }

  /** Opens the bar with the focus in it, so that nothing that is typed goes into the prompt. */
  open(): void {
    this.element.hidden = false;
    if (document.activeElement === this.input) return;
    this.input.focus();
    this.input.select();
    this.search(0);
  }

  close(): void {
    this.element.hidden = true;
    this.found = [];
    this.mark();
    this.onClose();
  }

  /** Asks where the text is, to go to the nearest entry (0), or to the next or previous occurrence. */
  search(direction: -1 | 0 | 1): void {
    this.lastRequest += 1;
    this.direction = direction;
    this.send({ kind: "find", request: this.lastRequest, text: this.input.value });
  }

  /** Goes to the occurrence that was asked for. The answer contains the entries of this moment. */
  show({ request, entries }: Extract<Update, { kind: "found" }>): void {
    if (request !== this.lastRequest || this.element.hidden) return;
    this.found = entries;
    const { current, direction } = this;
    const inEntry = current && entries.includes(current.entry) ? this.rangesIn(current.entry).length : 0;
    const next = (current?.occurrence ?? 0) + direction;
    if (current && direction !== 0 && next >= 0 && next < inEntry) this.goTo(current.entry, next);
    else this.goToEntry(current?.entry ?? this.log.firstVisible);
  }

  private goToEntry(from: number): void {
    const { found, direction } = this;
    const next =
      direction === -1
        ? (found.findLast((index) => index < from) ?? found.at(-1))
        : (found.find((index) => (direction === 0 ? index >= from : index > from)) ?? found[0]);
    if (next === undefined) {
      this.current = undefined;
      this.mark();
    } else this.goTo(next, direction === -1 ? -1 : 0);
  }

  /** Goes to an occurrence in an entry; -1 is the last one. */
  private goTo(entry: number, occurrence: number): void {
    this.current = { entry, occurrence };
    this.send({ kind: "reveal", entry });
  }

  /** Scrolls to the current occurrence, after the entry that contains it was drawn and scrolled to. */
  revealed(entry: number): void {
    const { current } = this;
    if (current?.entry !== entry || this.element.hidden) return;
    const ranges = this.rangesIn(entry);
    const occurrence = current.occurrence === -1 ? Math.max(0, ranges.length - 1) : current.occurrence;
    this.current = { entry, occurrence };
    const range = ranges[occurrence];
    if (range) unfold(range.startContainer);
    this.mark();
    if (range) this.log.scrollToRange(range);
  }

  /** Marks all occurrences in the drawn entries, and says which one is the current one. */
  private mark(): void {
    const { found, current } = this;
    const drawn = found.map((entry) => ({ entry, ranges: this.rangesIn(entry) }));
    const here = current && drawn.find(({ entry }) => entry === current.entry)?.ranges[current.occurrence];
    CSS.highlights.set("found", new Highlight(...drawn.flatMap(({ ranges }) => ranges)));
    CSS.highlights.set("found-here", new Highlight(...(here ? [here] : [])));
    const position = current ? found.indexOf(current.entry) + 1 : 0;
    this.drawCount(position);
  }

  /** Shows where the current entry is, in few letters, because a side bar is narrow. */
  private drawCount(position: number): void {
    const count = this.found.length;
    const text = this.input.value === "" ? "" : countText(position, count);
    const short = element("span", "", text === "" ? "" : `${position}/${count}`);
    short.ariaHidden = "true";
    this.count.replaceChildren(short, element("span", "for-screen-readers", text));
    this.count.title = text;
  }

  private rangesIn(entry: number): Range[] {
    const drawn = this.log.elementOf(entry);
    return drawn ? occurrences(drawn, this.input.value) : [];
  }
}

const countText = (position: number, count: number): string =>
  count === 0 ? t("Not found") : t("{0} of {1} messages and calls", position, count);

/** Opens whatever is folded around a node. */
function unfold(node: Node): void {
  for (let parent = node.parentElement; parent; parent = parent.parentElement)
    if (parent instanceof HTMLDetailsElement) parent.open = true;
}

/** Returns where an element contains a text, in any case, also across the borders of the elements in it. */
function occurrences(container: HTMLElement, wanted: string): Range[] {
  const texts: Text[] = [];
  const walker = document.createTreeWalker(container, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const text = walker.currentNode as Text;
    if (!text.parentElement?.closest("button")) texts.push(text);
  }
  const whole = folded(texts.map(({ data }) => data).join(""));
  const needle = folded(wanted);
  const found: Range[] = [];
  let [index, before] = [0, 0];
  /** Returns the text node at an offset of the whole, and the offset in it. Offsets must ascend. */
  const at = (offset: number): [Text, number] | undefined => {
    for (let text = texts[index]; text; text = texts[++index]) {
      if (offset <= before + text.length) return [text, offset - before];
      before += text.length;
    }
    return undefined;
  };
  for (let start = whole.indexOf(needle); needle !== "" && start >= 0; start = whole.indexOf(needle, start + 1)) {
    const range = document.createRange();
    const [begin, end] = [at(start), at(start + needle.length)];
    if (!begin || !end) break;
    range.setStart(...begin);
    range.setEnd(...end);
    found.push(range);
    start += needle.length - 1;
  }
  return found;
}

/** Returns a text for comparison in any case. It has the same length, so that offsets stay the same. */
function folded(text: string): string {
  const lower = text.toLowerCase();
  return lower.length === text.length ? lower : text;
}
