// Makes links of the places in the workspace that a text mentions.

import { placesIn } from "../../../ui/places";

/** Makes links of the places in an element's texts, apart from those in links and in `except`. */
export function linkPlaces(container: Element, except = "a"): void {
  const texts: Text[] = [];
  const walker = document.createTreeWalker(container, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) texts.push(walker.currentNode as Text);
  for (const text of texts) {
    if (text.parentElement?.closest(except)) continue;
    const places = placesIn(text.data);
    if (places.length === 0) continue;
    const parts: (Node | string)[] = [];
    let shown = 0;
    for (const { start, end, path, line } of places) {
      const link = document.createElement("a");
      link.href = "#";
      link.dataset.path = path;
      link.dataset.line = String(line);
      link.textContent = text.data.slice(start, end);
      parts.push(text.data.slice(shown, start), link);
      shown = end;
    }
    text.replaceWith(...parts.filter((part) => part !== ""), text.data.slice(shown));
  }
}
