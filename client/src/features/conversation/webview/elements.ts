// Small helpers that make elements.

/** Makes an element with a class (empty: none) and children. Strings become text; empty ones are left out. */
export function element<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  className: string,
  ...children: readonly (Node | string)[]
): HTMLElementTagNameMap[Tag] {
  const made = document.createElement(tag);
  if (className !== "") made.className = className;
  made.append(...children.filter((child) => child !== ""));
  return made;
}

/** Makes a button. `main.ts` handles a click according to `action`. Screen readers read `name`. */
export function button(label: string, action: string, name = label): HTMLButtonElement {
  const made = element("button", "", label);
  made.type = "button";
  made.dataset.action = action;
  if (name !== label) made.setAttribute("aria-label", name);
  return made;
}

/** Returns a text as nodes, in which the words between backticks are code. */
export function withCode(text: string): (Node | string)[] {
  return text.split(/`([^`\n]+)`/).map((part, index) => (index % 2 === 1 ? element("code", "", part) : part));
}
