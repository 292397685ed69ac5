// An empty page for the scripts of a webview, without VS Code and without a layout. Import it before these scripts.

import { JSDOM } from "jsdom";

const { window } = new JSDOM("<!DOCTYPE html><html lang='en'><head><title>Test</title></head><body></body></html>");
const NAMES = ["document", "Element", "Option", "HTMLElement", "HTMLFormElement", "Node", "NodeFilter"] as const;
for (const name of NAMES) Object.defineProperty(globalThis, name, { value: window[name], configurable: true });
// jsdom has no layout, so nothing can scroll
window.Element.prototype.scrollIntoView = () => undefined;
Object.defineProperty(globalThis, "window", { value: window, configurable: true });

export const page: Document = window.document;
