// The library that finds the parts of code that have a color. It is a bundle of its own, which the page loads when it
// shows code for the first time.

import hljs from "highlight.js/lib/common";

/** Returns the code as HTML with a class for each part; undefined if the language is unknown. */
export type Highlighter = (code: string, language: string) => string | undefined;

declare global {
  interface Window {
    highlighter?: Highlighter;
  }
}

window.highlighter = (code, language) =>
  hljs.getLanguage(language) ? hljs.highlight(code, { language, ignoreIllegals: true }).value : undefined;
