// `npm run looks`: plays the journeys of a user in a real VS Code, in each look, and takes pictures for review:
//   npm run looks -- [--only dark,chinese] [--journeys task,review] [FOLDER]
// Recordings and a local server replace the model. The look `chinese` needs a browser that can show Chinese text: set
// FAIRLEAD_BROWSER if the default one cannot.

import fs from "node:fs";
import path from "node:path";
import { parseArgs } from "node:util";
import { root } from "../process.mjs";
import { say } from "../progress.mjs";
import { SetupError } from "../python.mjs";
import { ensureNode, ensurePython, main, runOrThrow, waitForAll } from "../setup.mjs";

const WINDOW = { width: 1440, height: 900 };
/** How each look differs from a dark window of 1440 × 900 pixels. */
const LOOKS = {
  dark: {},
  light: { theme: "light" },
  "high-contrast-dark": { hasHighContrast: true },
  "high-contrast-light": { theme: "light", hasHighContrast: true },
  chinese: { language: "zh-cn" },
  // 150 % on a screen of 1920 × 1200
  zoomed: { viewport: { width: 1280, height: 800 }, scale: 1.5 },
  narrow: { viewport: { width: 900, height: 900 }, sideBarWidth: 190 },
};

await main(async () => {
  await waitForAll(ensurePython(), ensureNode());
  for (const script of ["build.mjs", "package.mjs"])
    await runOrThrow(process.execPath, [path.join(root, "scripts", script)]);
  const { closeBrowser } = await import("../../tests/editor/host/page.mjs");
  const { JOURNEYS } = await import("./journeys.mjs");
  const { values, positionals } = parseArgs({
    options: {
      only: { type: "string", default: Object.keys(LOOKS).join() },
      journeys: { type: "string", default: Object.keys(JOURNEYS).join() },
    },
    allowPositionals: true,
  });
  const folder = path.resolve(positionals[0] ?? path.join(root, "tests/editor/.artifacts/looks"));
  for (const look of chosen(values.only, LOOKS))
    for (const journey of chosen(values.journeys, JOURNEYS)) await play(journey, look, JOURNEYS[journey], folder);
  await closeBrowser();
  say(`The pictures are in ${folder}.`);
  return 0;
});

function chosen(names, known) {
  const wrong = names.split(",").find((name) => !(name in known));
  if (wrong !== undefined) throw new SetupError(`There is no ${wrong}. Choose from ${Object.keys(known).join(", ")}.`);
  return names.split(",");
}

/** Plays a journey in a look, and takes a picture of each stage. */
async function play(name, look, journey, folder) {
  const { openAgent } = await import("../../tests/editor/agent.mjs");
  const { hasHighContrast = false, sideBarWidth, language, ...rest } = LOOKS[look];
  const { settings, ...options } = await journey.options();
  const editor = await openAgent({
    name: `${look}-${name}`,
    viewport: WINDOW,
    settings: { "window.autoDetectHighContrast": true, ...settings },
    language,
    ...options,
    ...rest,
  });
  const { page } = editor;
  const text = translator(language);
  const take = async (stage) => {
    await page.page.mouse.move((rest.viewport ?? WINDOW).width / 2, 0); // nothing is highlighted there
    await page.screenshot(path.join(folder, `${name}-${stage}-${look}.png`));
    say(`  ${name}-${stage}-${look}.png`);
  };
  try {
    if (hasHighContrast) await page.page.emulateMedia({ forcedColors: "active", colorScheme: rest.theme ?? "dark" });
    await page.showContainer("Fairlead");
    if (sideBarWidth) await setSideBarWidth(page.page, sideBarWidth);
    await journey.play({
      ...editor,
      take,
      text,
      plan: text("Plan"),
      changes: text("Proposed Changes"),
      command: (title) => page.runCommand(`Agent: ${text(title)}`),
      conversation: (selector, hasText) => page.webview().locator(selector, { hasText }).first(),
    });
  } catch (error) {
    if (!error.artifacts) error.message += `\nSaved in ${await page.saveArtifacts(error.message)}`;
    throw error;
  } finally {
    await editor.close();
  }
}

/** Drags the border between the side bar and the editors. */
async function setSideBarWidth(page, width) {
  const bar = await page.locator(".part.sidebar").boundingBox();
  await page.mouse.move(bar.x + bar.width, bar.y + bar.height / 2);
  await page.mouse.down();
  await page.mouse.move(bar.x + width, bar.y + bar.height / 2, { steps: 5 });
  await page.mouse.up();
}

/** Returns a function that translates a title or text of the extension and fills in its placeholders. */
function translator(language) {
  const fill = (text, values) => text.replace(/\{(\d)\}/g, (_, index) => values[index]);
  if (!language) return (english, ...values) => fill(english, values);
  const read = (file) => JSON.parse(fs.readFileSync(path.join(root, file), "utf8"));
  const english = read("package.nls.json");
  const translated = read(`package.nls.${language}.json`);
  const texts = read(`l10n/bundle.l10n.${language}.json`);
  const titles = Object.entries(english).map(([key, title]) => [title, translated[key]]);
  const all = new Map([...titles, ...Object.entries(texts)]);
  return (text, ...values) => {
    if (!all.has(text)) throw new Error(`There is no translation of “${text}”.`);
    return fill(all.get(text), values);
  };
}
