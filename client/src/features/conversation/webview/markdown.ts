// The model's Markdown as elements. The text is untrusted: HTML and images are shown as text, and links lead only to
// web addresses and to files of the workspace (docs/faults.md 41).

import { t } from "@vscode/l10n";
import DOMPurify from "dompurify";
import { Lexer, Marked, type Token, type Tokens } from "marked";
import { button } from "./elements";
import { highlight } from "./highlighting";
import { linkPlaces } from "./placeLinks";
import { visibleText } from "../../../ui/shownText";
import { withoutDeepNesting } from "../../../ui/text";

/** A block of a text: a paragraph, a list, a code block. */
export interface Block {
  /** Its Markdown. A block with the same Markdown is not drawn again, even if a link's definition was added below. */
  readonly raw: string;
  readonly element: HTMLElement;
}

/** In characters. A longer paragraph is shown as plain text, because parsing emphasis takes quadratic time. */
const MAX_PARAGRAPH = 4000;
const TAGS = "a blockquote br code del em h1 h2 h3 h4 h5 h6 hr li ol p pre strong table tbody td th thead tr ul".split(
  " ",
);
const ATTRIBUTES = ["href", "title", "align", "start", "data-path", "data-line"];
const WEB = /^https?:\/\/[^\s]+$/i;
/** A relative path, and the line in it, as in `a.py#L3`, `a.py:3` or `a.py:3-5`. Not an address with a scheme. */
const FILE = /^(?!\/|[a-z][a-z0-9+.-]*:(?!\d+(?:[:-]\d+)?$)|#)([^?#]+?)(?:#L(\d+)(?:-L?\d+)?|:(\d+)(?:[:-]\d+)?)?$/i;

const marked = new Marked({
  gfm: true,
  renderer: {
    html: ({ text }) => escapeHtml(text),
    image: ({ text, href }) => escapeHtml(`[image: ${text || href}]`),
    checkbox: ({ checked }) => (checked ? "☑ " : "☐ "),
    link({ href, tokens }: Tokens.Link) {
      return `<a${linkAttributes(href)}>${this.parser.parseInline(tokens)}</a>`;
    },
  },
});

/** Returns the blocks of a text. Takes unchanged blocks from `known`, so that they stay in the page. */
export function markdownBlocks(text: string, known: readonly Block[] = []): Block[] {
  const tokens = tokensOf(text).filter(({ type }) => type !== "space" && type !== "def");
  return tokens.map((token, index) => {
    const old = known[index];
    return old?.raw === token.raw ? old : { raw: token.raw, element: blockElement(token) };
  });
}

function tokensOf(text: string): Token[] {
  const lexer = new Lexer({ gfm: true });
  lexer.blockTokens(withoutDeepNesting(text), lexer.tokens);
  for (const { src, tokens } of lexer.inlineQueue) {
    if (src.length <= MAX_PARAGRAPH) lexer.inlineTokens(src, tokens);
    else tokens.push({ type: "text", raw: src, text: src, escaped: false });
  }
  return lexer.tokens;
}

function blockElement(token: Token): HTMLElement {
  if (token.type === "code") return codeBlock((token as Tokens.Code).text, (token as Tokens.Code).lang ?? "");
  const element = document.createElement("div");
  element.dir = "auto";
  element.append(sanitized(marked.parser([token])));
  linkPlaces(element, "a, pre");
  // a box of a task list is mark enough
  for (const item of element.querySelectorAll("li")) item.classList.toggle("task", /^\s*[☑☐]/u.test(item.textContent));
  for (const pre of element.querySelectorAll("pre")) pre.replaceWith(codeBlock(pre.textContent, ""));
  for (const table of element.querySelectorAll("table")) {
    const scrolled = document.createElement("div");
    scrolled.className = "scrolled";
    scrolled.tabIndex = 0;
    scrolled.setAttribute("role", "region");
    scrolled.setAttribute("aria-label", t("Table"));
    table.replaceWith(scrolled);
    scrolled.append(table);
  }
  return element;
}

function sanitized(html: string): DocumentFragment {
  const fragment = DOMPurify.sanitize(html, {
    ALLOWED_TAGS: TAGS,
    ALLOWED_ATTR: ATTRIBUTES,
    ALLOWED_URI_REGEXP: /^(?:https?:\/\/|#$)/i,
    // these are no addresses; without this, they would have to match the pattern above
    ADD_URI_SAFE_ATTR: ["align", "start", "data-path", "data-line"],
    ALLOW_DATA_ATTR: false,
    ALLOW_ARIA_ATTR: false,
    RETURN_DOM_FRAGMENT: true,
  });
  // only now are entities such as `&#x202e;` characters that can be escaped
  const texts = document.createNodeIterator(fragment, NodeFilter.SHOW_TEXT);
  for (let text = texts.nextNode(); text; text = texts.nextNode()) text.nodeValue = visibleText(text.nodeValue ?? "");
  return fragment;
}

/**
 * Returns the attributes of a link, each after a space. A web address is also the title. Empty if the link leads
 * neither to the web nor to a file by a relative path without `..`.
 */
function linkAttributes(href: string): string {
  if (WEB.test(href)) return ` href="${escapeHtml(href)}" title="${escapeHtml(visibleText(href))}"`;
  const [, encoded = "", fragment, suffix] = FILE.exec(href) ?? [];
  const path = decoded(encoded);
  if (path === "" || path.startsWith("/") || path.split(/[\\/]/).includes("..")) return "";
  const line = fragment ?? suffix;
  const attributes = ` href="#" data-path="${escapeHtml(path)}"`;
  return line === undefined ? attributes : `${attributes} data-line="${line}"`;
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

/** Makes a block of code with its colors, and with buttons that copy it and insert it into the editor. */
export function codeBlock(text: string, language: string): HTMLElement {
  const block = document.createElement("div");
  block.className = "code";
  const bar = document.createElement("div");
  bar.className = "bar";
  const name = document.createElement("span");
  name.textContent = language.split(/\s/, 1)[0]?.slice(0, 30) ?? "";
  const code = preformatted(text, t("Code"));
  bar.append(
    name,
    button(t("Insert"), "insertCode", t("Insert code at the cursor")),
    button(t("Copy"), "copyCode", t("Copy code")),
  );
  block.append(bar, code);
  highlight(text, name.textContent.toLowerCase(), (html) => {
    code.replaceChildren(
      DOMPurify.sanitize(html, { ALLOWED_TAGS: ["span"], ALLOWED_ATTR: ["class"], RETURN_DOM_FRAGMENT: true }),
    );
  });
  return block;
}

/** Makes an element with preformatted text, which can also be scrolled with the keyboard. */
export function preformatted(text: string, label: string): HTMLElement {
  const pre = document.createElement("pre");
  pre.textContent = text;
  pre.tabIndex = 0;
  pre.setAttribute("role", "region");
  pre.setAttribute("aria-label", label);
  return pre;
}

function escapeHtml(text: string): string {
  const entities: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };
  return text.replace(/[&<>"']/g, (character) => entities[character] ?? character);
}
