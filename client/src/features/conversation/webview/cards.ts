// Draws the cards below the entries.

import { t } from "@vscode/l10n";
import type { CardView } from "../messages";
import { button, element, withCode } from "./elements";
import { markdownBlocks, preformatted } from "./markdown";

export class Cards {
  readonly element = element("div", "cards");
  private readonly drawn = new Map<string, { readonly text: string; readonly element: HTMLElement }>();

  /** `onFocusLost` is called when an update takes the focus away, because it removes, redraws or moves the card. */
  constructor(private readonly onFocusLost: () => void) {}

  /** Draws the cards. An unchanged card keeps its element with the typed text, and the focus too unless it is moved. */
  update(cards: readonly CardView[]): void {
    // the last element that the user clicked is active in the page even while the focus is elsewhere in VS Code
    const hadFocus = document.hasFocus() && this.element.contains(document.activeElement);
    const elements = cards.map((card) => {
      const text = JSON.stringify(card);
      const known = this.drawn.get(card.id);
      const drawn = known?.text === text ? known : { text, element: cardElement(card) };
      this.drawn.set(card.id, drawn);
      return drawn.element;
    });
    const hasNewFirst = this.element.firstElementChild !== (elements[0] ?? null);
    for (const id of this.drawn.keys()) if (!cards.some((card) => card.id === id)) this.drawn.delete(id);
    for (const old of [...this.element.children]) if (!elements.some((each) => each === old)) old.remove();
    // move only the elements that are at another position, because a moved element loses the focus
    elements.forEach((each, index) => {
      const here = this.element.children[index] ?? null;
      if (here !== each) this.element.insertBefore(each, here);
    });
    if (hasNewFirst) this.element.scrollTop = 0;
    if (hadFocus && !this.element.contains(document.activeElement)) this.onFocusLost();
  }

  /** Focuses the first button of the first card, or its text box if it has none. Returns false if there is no card. */
  focusFirst(): boolean {
    const first = this.element.querySelector<HTMLElement>("button, input");
    first?.focus();
    return first !== null;
  }
}

function cardElement({ id, title, subject, details, buttons, reply }: CardView): HTMLElement {
  // a question may have Markdown, as an answer of the model
  const name =
    reply === "answer"
      ? element("div", "title question", ...markdownBlocks(title, []).map((block) => block.element))
      : element("p", "title", ...withCode(title));
  name.id = `card-${id}`;
  const shown = subject === "" ? [] : [preformatted(subject, t("Command"))];
  const choices = buttons.map((label, index) => {
    const made = button(label, "press");
    made.dataset.button = String(index);
    return made;
  });
  const lines = details.map((detail) => element("p", "detail", detail));
  const row = choices.length > 0 ? [element("div", "buttons", ...choices)] : [];
  const card = element(
    "section",
    "card",
    name,
    ...shown,
    ...lines,
    ...row,
    ...(reply === "answer" ? [answerForm(title)] : []),
  );
  card.dataset.card = id;
  card.setAttribute("role", "group");
  card.setAttribute("aria-labelledby", name.id);
  return card;
}

function answerForm(question: string): HTMLFormElement {
  const input = element("input", "");
  input.type = "text";
  input.name = "answer";
  input.placeholder = t("Your answer");
  input.setAttribute("aria-label", t("Your answer to: {0}", question));
  const send = button(t("Answer"), "answer");
  send.type = "submit";
  const form = element("form", "reply", input, send);
  return form;
}
