// For pictures that look the same on every machine: start VS Code with PICTURE_SETTINGS, and open its page with
// `fonts: await pictureFonts()`.
import fs from "node:fs";
import path from "node:path";
import { cacheDir, fetchPackage, installOnce } from "../../../scripts/vscode/packages.mjs";

const PACKAGES = [
  {
    name: "@fontsource-variable/inter",
    version: "5.3.0",
    integrity: "sha512-OupL48va4JNofb97w6NYeF9S7W/kHNKM0Er8Dem5nqi4jeOLrVJDoE8tZEpnMJmtkvNbB1EIPPwHcdkF6b1oUA==",
  },
  {
    name: "@fontsource-variable/jetbrains-mono",
    version: "5.3.0",
    integrity: "sha512-F32xpS2NsGYoQi2ADSkKTgpJj7ozajsGgDJ8woTnqjmIB+dxDIqImjl4pXZVEExu8UFZ2ndhmX18EBS/hdz3Lw==",
  },
];
const FILES = [
  { family: "Picture UI", style: "normal", file: "inter/files/inter-latin-wght-normal.woff2" },
  { family: "Picture UI", style: "italic", file: "inter/files/inter-latin-wght-italic.woff2" },
  { family: "Picture Mono", style: "normal", file: "jetbrains-mono/files/jetbrains-mono-latin-wght-normal.woff2" },
  { family: "Picture Mono", style: "italic", file: "jetbrains-mono/files/jetbrains-mono-latin-wght-italic.woff2" },
];

/** VS Code's settings for pictures: they set the fonts and hide parts that only VS Code in a browser shows. */
export const PICTURE_SETTINGS = {
  "breadcrumbs.enabled": false,
  "editor.fontFamily": "'Picture Mono', monospace",
  "editor.fontLigatures": false,
  "editor.fontSize": 13,
  "editor.occurrencesHighlight": "off",
  "editor.scrollbar.vertical": "hidden",
  "editor.scrollBeyondLastLine": false,
  "terminal.integrated.fontFamily": "'Picture Mono', monospace",
  "window.menuBarVisibility": "hidden",
  // Transparent, because the slider is only a grey bar if everything fits.
  "workbench.colorCustomizations": { "scrollbarSlider.background": "#00000000" },
  "workbench.layoutControl.enabled": false,
};

/** The font files, as `[{ family, style, data }]` with `data` in base64; fetched once. */
export async function pictureFonts({ log = (line) => process.stderr.write(`${line}\n`) } = {}) {
  const dir = path.join(cacheDir(), "picture-fonts");
  await installOnce(
    dir,
    JSON.stringify(PACKAGES.map(({ name, version }) => `${name}@${version}`)),
    async (staging) => {
      log("fetching the fonts of the pictures, once");
      for (const wanted of PACKAGES) await fetchPackage(wanted, path.join(staging, path.basename(wanted.name)));
    },
    log,
  );
  return FILES.map(({ family, style, file }) => ({
    family,
    style,
    data: fs.readFileSync(path.join(dir, file), "base64"),
  }));
}

/** Adds the fonts to a page before its first script runs, because an editor measures its font only once. */
export async function addFonts(page, fonts) {
  await page.addInitScript((given) => {
    for (const { family, style, data } of given) {
      const bytes = Uint8Array.from(atob(data), (character) => character.charCodeAt(0));
      document.fonts.add(new FontFace(family, bytes.buffer, { style, weight: "100 900" }));
    }
    addEventListener("DOMContentLoaded", () => {
      const sheet = new CSSStyleSheet();
      sheet.replaceSync(".monaco-workbench { font-family: 'Picture UI', sans-serif !important; }");
      document.adoptedStyleSheets.push(sheet);
    });
  }, fonts);
}
