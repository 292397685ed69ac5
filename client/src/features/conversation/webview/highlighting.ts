// Loads the library that colors code, when code is shown for the first time.

import type { Highlighter } from "./highlighter";

/** In characters. Longer code has no colors, because it is colored again whenever the answer grows. */
const MAX_CODE = 20_000;

/** The page's own script: it has the URL of the library, and the nonce with which the policy lets the page load it. */
const own = document.currentScript as HTMLScriptElement | null;
let loading: Promise<Highlighter | undefined> | undefined;

/** Calls `show` with the code as HTML, now or when the library is loaded. Does nothing if the language is unknown. */
export function highlight(code: string, language: string, show: (html: string) => void): void {
  if (language === "" || code.length > MAX_CODE || !own?.dataset.code) return;
  const color = (highlighter: Highlighter | undefined): void => {
    const html = highlighter?.(code, language);
    if (html !== undefined) show(html);
  };
  // at once if possible: code that gets its colors later would flicker while the answer grows
  if (window.highlighter) color(window.highlighter);
  else void (loading ??= load(own.dataset.code, own.nonce)).then(color);
}

function load(url: string, nonce: string): Promise<Highlighter | undefined> {
  const script = document.createElement("script");
  script.src = url;
  script.nonce = nonce;
  return new Promise((resolve) => {
    for (const type of ["load", "error"])
      script.addEventListener(type, () => {
        resolve(window.highlighter);
      });
    document.head.append(script);
  });
}
