// The list of completions above the prompt. The focus stays in the text, as in VS Code's own lists.

import { t } from "@vscode/l10n";
import type { CompletionView } from "../messages";
import { element } from "./elements";

export class CompletionList {
  readonly element = element("ul", "completions");
  private items: readonly CompletionView[] = [];
  private active = 0;

  /** `choose` is called with the row that the user clicks. */
  constructor(
    private readonly input: HTMLTextAreaElement,
    choose: (item: CompletionView) => void,
  ) {
    this.element.id = "completions";
    this.element.hidden = true;
    this.element.setAttribute("role", "listbox");
    this.element.setAttribute("aria-label", t("Completions"));
    input.setAttribute("aria-autocomplete", "list");
    input.setAttribute("aria-controls", this.element.id);
    // a mouse press would move the focus out of the text
    this.element.addEventListener("mousedown", (event) => {
      event.preventDefault();
      const row = event.target instanceof Element ? event.target.closest<HTMLElement>("[data-row]") : null;
      const item = this.items[Number(row?.dataset.row)];
      if (item && event.button === 0) choose(item);
    });
  }

  /** The row that Enter or Tab chooses; undefined if the list is closed. */
  get highlighted(): CompletionView | undefined {
    return this.items[this.active];
  }

  show(items: readonly CompletionView[]): void {
    this.items = items;
    this.active = 0;
    this.draw();
  }

  hide(): void {
    this.show([]);
  }

  /** Moves to the next (1) or previous (-1) row, wrapping around at the ends. The list must be open. */
  move(by: 1 | -1): void {
    this.active = (this.active + by + this.items.length) % this.items.length;
    this.draw();
  }

  private draw(): void {
    const rows = this.items.map(({ label, description }, index) => {
      const name = element("bdi", "", label);
      name.dir = "ltr";
      const row = element("li", "", element("span", "label", name), element("span", "note", description));
      row.title = [label, description].filter(Boolean).join("\n");
      row.id = `completion-${index}`;
      row.dataset.row = String(index);
      row.setAttribute("role", "option");
      row.setAttribute("aria-selected", String(index === this.active));
      return row;
    });
    this.element.replaceChildren(...rows);
    this.element.hidden = rows.length === 0;
    const active = rows[this.active];
    if (active) this.input.setAttribute("aria-activedescendant", active.id);
    else this.input.removeAttribute("aria-activedescendant");
    active?.scrollIntoView({ block: "nearest" });
  }
}
