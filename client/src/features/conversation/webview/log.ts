// The list of entries. It stays scrolled to the end until the user scrolls up; then it has buttons that go to the end and
// to the user's messages. Earlier entries are loaded when the user scrolls to the first ones.

import { t } from "@vscode/l10n";
import type { Update } from "../messages";
import { button, element } from "./elements";
import { EntryElement } from "./entryElement";

/** With more entries than this, the earliest are removed while the end is shown. */
const MOST_ENTRIES = 600;
/** The number of entries that are left then. */
const ENTRIES_LEFT = 200;
/** How many earlier entries are loaded at a time. */
const EARLIER = 200;
/** They are loaded when the user is this close to the first ones, in pixels. */
const NEAR_START = 600;
/** Up to this distance from its end, in pixels, the list counts as scrolled to the end. */
const NEAR_END = 40;

/** In pixels, between the top of the list and the entry that it is scrolled to. */
const MARGIN = 4;

export class Log {
  /** The list with what is drawn over it. */
  readonly area: HTMLElement;
  /** The scrolled element. It also contains what is above and below the entries. */
  private readonly scroller = element("div", "scroller");
  private readonly element = element("div", "log");
  private readonly earlier = element("div", "earlier");
  private readonly entries = new Map<number, EntryElement>();
  /** The index of the first entry that is shown. The page can get earlier ones. */
  private first = 0;
  private followsEnd = true;
  /** Whether earlier entries were asked for and have not arrived. */
  private isLoading = false;
  private readonly latest = button(t("Latest"), "latest", t("Latest message"));
  /** The buttons that are drawn over the list while it does not follow its end. */
  private readonly jumps = element(
    "div",
    "jumps",
    button("↑", "previousMessage", t("Previous message of yours")),
    button("↓", "nextMessage", t("Next message of yours")),
    button("≡", "listMessages", t("List your messages")),
    this.latest,
  );
  /** The entry that the user went to last. */
  private revealed: EntryElement | undefined;
  private lastMetrics: Metrics = { top: 0, height: 0, visible: 0 };
  private readonly resizes = new ResizeObserver(() => {
    if (this.followsEnd) this.scrollToEnd();
  });

  /**
   * `showFrom` tells the extension the index of the first entry that the page shows or is about to show. `above` and
   * `below` scroll together with the entries.
   */
  constructor(
    private readonly showFrom: (first: number) => void,
    above: HTMLElement,
    below: readonly HTMLElement[],
  ) {
    this.element.setAttribute("role", "log");
    this.element.setAttribute("aria-label", t("Conversation"));
    this.element.setAttribute("aria-live", "polite");
    this.element.append(this.earlier);
    this.scroller.tabIndex = 0;
    this.scroller.setAttribute("role", "region");
    this.scroller.setAttribute("aria-label", t("Messages"));
    this.scroller.append(above, this.element, ...below);
    for (const each of this.jumps.querySelectorAll("button")) each.title = each.ariaLabel ?? "";
    this.follow(true);
    this.area = element("div", "log-area", this.scroller, this.jumps);
    this.scroller.addEventListener("scroll", () => {
      const before = this.lastMetrics;
      this.lastMetrics = this.metrics();
      if (this.isNearEnd()) this.follow(true);
      else if (isScrolledUp(before, this.lastMetrics)) this.follow(false);
    });
    // while an answer grows, the height changes with each scroll, so `isScrolledUp` does not notice that the user
    // scrolls
    this.scroller.addEventListener("wheel", ({ deltaY, target }) => {
      if (deltaY < 0 && this.scroller.scrollTop > 0 && !this.scrollsUpInside(target)) this.follow(false);
    });
    const nearStart = new IntersectionObserver(
      ([start]) => {
        if (start?.isIntersecting && !this.followsEnd) this.showEarlier();
      },
      { root: this.scroller, rootMargin: `${NEAR_START}px 0px` },
    );
    nearStart.observe(this.earlier);
    for (const observed of [this.scroller, this.element, ...below]) this.resizes.observe(observed);
  }

  update({ isNew, first, changed }: Extract<Update, { kind: "entries" }>): void {
    if (isNew) {
      this.element.replaceChildren(this.earlier);
      this.entries.clear();
      this.revealed = undefined;
      this.follow(true);
    }
    const before = this.scroller.scrollHeight - this.scroller.scrollTop;
    const isEarlier = !isNew && first < this.first;
    this.first = first;
    this.isLoading = false;
    // the user asked for them
    if (isEarlier) this.follow(false);
    const last = Math.max(-1, ...this.entries.keys());
    for (const [index, view] of changed) {
      const known = this.entries.get(index);
      if (known) known.update(view);
      else this.insert(new EntryElement(index, view));
      // what the user sends is shown, wherever they were reading
      if (index > last && view.kind === "prompt" && view.note === "") this.follow(true);
    }
    this.drawEarlier();
    // the entries that the user reads stay at their position on the screen
    if (isEarlier) this.scroller.scrollTop = this.scroller.scrollHeight - before;
    else if (this.followsEnd) this.scrollToEndOfNew();
    if (this.followsEnd && this.entries.size > MOST_ENTRIES) this.trim();
  }

  /** Says on the button that goes to the end whether something there waits for the user. */
  markWaiting(isWaiting: boolean): void {
    this.latest.textContent = isWaiting ? t("Waiting for you") : t("Latest");
    this.latest.classList.toggle("waiting", isWaiting);
  }

  /** Returns the index of the entry that contains an element of the page. */
  entryOf(target: Element): number | undefined {
    const index = target.closest<HTMLElement>("[data-entry]")?.dataset.entry;
    return index === undefined ? undefined : Number(index);
  }

  /** Scrolls to an entry that is drawn (null: to the end). Returns its text; empty for the end. */
  reveal(index: number | null): string {
    const entry = index === null ? undefined : this.entries.get(index);
    if (index === null) this.scrollToEnd();
    if (!entry) return "";
    this.follow(false);
    this.revealed = entry;
    this.scroller.scrollTop += this.topOf(entry) - MARGIN;
    this.follow(this.isNearEnd());
    return entry.element.innerText;
  }

  /** Returns the index of the entry before (-1) or after (1) which the user's nearest message is wanted. */
  startOfJump(by: -1 | 1): number {
    const { revealed } = this;
    if (revealed && this.topOf(revealed) > -MARGIN && this.topOf(revealed) < this.scroller.clientHeight)
      return revealed.index;
    const atTop = this.entries.get(this.firstVisible);
    if (!atTop) return this.first;
    const isCutOff = this.topOf(atTop) < -MARGIN;
    return by === -1 && isCutOff ? atTop.index + 1 : atTop.index;
  }

  /** The index of the first entry that the user sees. */
  get firstVisible(): number {
    const entries = [...this.entries.values()].sort((one, other) => one.index - other.index);
    return entries.find((entry) => this.topOf(entry) + entry.element.offsetHeight > MARGIN)?.index ?? this.first;
  }

  /** Returns the element of an entry; undefined if it is not drawn. */
  elementOf(index: number): HTMLElement | undefined {
    return this.entries.get(index)?.element;
  }

  /** Draws the changes that an entry proposed. */
  showChanges({ entry, changes }: Extract<Update, { kind: "changes" }>): void {
    this.entries.get(entry)?.showChanges(changes);
    this.followIfNearEnd();
  }

  /** Leaves what the user is about to unfold where it is, instead of scrolling to the end. */
  hold(): void {
    this.follow(false);
  }

  /** Follows the end again if what was unfolded is so short that the end is still in sight. */
  followIfNearEnd(): void {
    if (this.isNearEnd()) this.follow(true);
  }

  /** Scrolls to a part of an entry that is drawn, in the list and in what scrolls inside of it, unless it is in sight. */
  scrollToRange(range: Range): void {
    let box = range.startContainer.parentElement;
    while (box) {
      const [outer, part] = [box.getBoundingClientRect(), range.getBoundingClientRect()];
      const isScrolled = box === this.scroller || getComputedStyle(box).overflowY === "auto";
      if (isScrolled && (part.top < outer.top || part.bottom > outer.bottom))
        box.scrollTop += part.top - outer.top - box.clientHeight / 3;
      if (box === this.scroller) return;
      box = box.parentElement;
    }
  }

  /** Returns how many pixels below the top of the list an entry begins. */
  private topOf({ element: each }: EntryElement): number {
    return each.getBoundingClientRect().top - this.scroller.getBoundingClientRect().top;
  }

  private follow(isWanted: boolean): void {
    this.followsEnd = isWanted;
    // what the user reads stays in place while the entries around it get their heights
    this.scroller.style.overflowAnchor = isWanted ? "none" : "auto";
    this.jumps.hidden = isWanted;
  }

  showEarlier(): void {
    if (this.first === 0 || this.isLoading) return;
    this.isLoading = true;
    this.showFrom(Math.max(0, this.first - EARLIER));
  }

  private insert(entry: EntryElement): void {
    this.entries.set(entry.index, entry);
    const next = this.entries.get(entry.index + 1);
    if (next) next.element.before(entry.element);
    else {
      const previous = this.entries.get(entry.index - 1)?.element ?? (this.entries.size > 1 ? null : this.earlier);
      if (previous) previous.after(entry.element);
      else this.insertInOrder(entry);
    }
  }

  /** Inserts an entry at its position. When earlier entries arrive, the first of them has no direct neighbor yet. */
  private insertInOrder(entry: EntryElement): void {
    const later = [...this.entries.keys()].filter((index) => index > entry.index);
    const next = this.entries.get(Math.min(...later));
    if (next) next.element.before(entry.element);
    else this.element.append(entry.element);
  }

  /** Removes the earliest entries, so that a long run does not fill the page. */
  private trim(): void {
    const last = Math.max(...this.entries.keys());
    this.first = last + 1 - ENTRIES_LEFT;
    for (const [index, entry] of this.entries) {
      if (index >= this.first) continue;
      entry.element.remove();
      this.entries.delete(index);
    }
    this.drawEarlier();
    this.scrollToEnd();
    this.showFrom(this.first);
  }

  private drawEarlier(): void {
    const label = t("Show Earlier Messages ({0})", this.first.toLocaleString("en"));
    if (this.first === 0) this.earlier.replaceChildren();
    else if (this.earlier.textContent !== label) this.earlier.replaceChildren(button(label, "earlier"));
  }

  /** Scrolls to the end of new entries, and again when the browser has laid them out. */
  private scrollToEndOfNew(): void {
    this.scrollToEnd();
    // until then, their heights are estimates; afterwards, all entries together may be as high as those before
    this.resizes.unobserve(this.element);
    this.resizes.observe(this.element);
  }

  /** Scrolls to the end, and follows it from then on. */
  scrollToEnd(): void {
    this.follow(true);
    this.scroller.scrollTop = this.scroller.scrollHeight;
    this.lastMetrics = this.metrics();
  }

  private isNearEnd(): boolean {
    const { top, height, visible } = this.metrics();
    return height - top - visible < NEAR_END;
  }

  /** Whether turning the wheel up over an element scrolls something inside of the list, such as a long output. */
  private scrollsUpInside(target: EventTarget | null): boolean {
    let inner = target instanceof Element ? target : null;
    while (inner && inner !== this.scroller) {
      const { overflowY, flexDirection } = getComputedStyle(inner);
      // an output begins at its end: there, `scrollTop` is 0, and above it is negative
      const hidden = flexDirection === "column-reverse" ? inner.scrollHeight - inner.clientHeight : 0;
      if (overflowY === "auto" && hidden + inner.scrollTop >= 1) return true;
      inner = inner.parentElement;
    }
    return false;
  }

  private metrics(): Metrics {
    return { top: this.scroller.scrollTop, height: this.scroller.scrollHeight, visible: this.scroller.clientHeight };
  }
}

/** Where a list is scrolled to, its height, and how much of it is visible, in pixels. */
interface Metrics {
  readonly top: number;
  readonly height: number;
  readonly visible: number;
}

/** Whether the user scrolled up. False if a height has changed too, because then the browser may have scrolled. */
function isScrolledUp(before: Metrics, now: Metrics): boolean {
  return now.top < before.top && now.height === before.height && now.visible === before.visible;
}
