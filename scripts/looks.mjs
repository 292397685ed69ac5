// `npm run looks`: takes pictures of one task in each look of a real VS Code, for a developer to look at:
//   npm run looks -- [--only dark,chinese] [FOLDER]
// A recording replaces the model. Chinese needs a browser that has a Chinese font (FAIRLEAD_BROWSER).

import fs from "node:fs";
import path from "node:path";
import { parseArgs } from "node:util";
import { root, run } from "./process.mjs";
import { say } from "./progress.mjs";
import { ensureNode, ensurePython, main, waitForAll } from "./setup.mjs";

const WINDOW = { width: 1440, height: 900 };
/** What differs from a dark window of 1440 × 900 pixels. */
const LOOKS = {
  dark: {},
  light: { theme: "light" },
  "high-contrast-dark": { hasHighContrast: true },
  "high-contrast-light": { theme: "light", hasHighContrast: true },
  chinese: { language: "zh-cn" },
  zoomed: { viewport: { width: WINDOW.width / 1.5, height: WINDOW.height / 1.5 }, scale: 1.5 },
  narrow: { viewport: { width: 900, height: 900 }, sideBarWidth: 190 },
};
const TASK = "Add type hints and a goodbye";
const HELLO = "def greet(name):\n    return 'Hello ' + name\n\n\nprint(greet('you'))\n";
const WORKSPACE = {
  "hello.py": HELLO,
  "old.py": "x = 1\n",
  ".github/workflows/test.yml": "on: push\njobs: {}\n",
  "README.md": "# Example\n",
};
const STEPS = [
  ["Add type hints", "Adding type hints"],
  ["Say goodbye", "Saying goodbye"],
  ["Run the tests", "Running the tests"],
];
const ANSWER = `Done: \`hello.py\` has **type hints**, and \`farewell.py\` says goodbye.

| File | Change |
|---|---|
| hello.py | type hints, an f-string |
| farewell.py | new |

\`\`\`python
print(bye("you"))
\`\`\`

- [hello.py](hello.py#L1)
- The old module is gone.`;

await main(async () => {
  const { values, positionals } = parseArgs({
    options: { only: { type: "string", default: Object.keys(LOOKS).join() } },
    allowPositionals: true,
  });
  const folder = path.resolve(positionals[0] ?? path.join(root, "tests/editor/.artifacts/looks"));
  await waitForAll(ensurePython(), ensureNode());
  await run(process.execPath, [path.join(root, "scripts/build.mjs")]);
  const { closeBrowser } = await import("../tests/editor/host/page.mjs");
  for (const look of values.only.split(",")) await takeLook(look, folder);
  await closeBrowser();
  say(`The pictures are in ${folder}.`);
  return 0;
});

/** Plays the task in this look, and takes a picture of each stage. */
async function takeLook(look, folder) {
  const { openAgent } = await import("../tests/editor/agent.mjs");
  const { hasHighContrast = false, sideBarWidth, language, ...rest } = LOOKS[look];
  const replay = await recordedTask();
  const editor = await openAgent({
    name: look,
    viewport: WINDOW,
    workspace: WORKSPACE,
    settings: { "fairlead.replay": replay, "fairlead.approvals": "ask", "window.autoDetectHighContrast": true },
    language,
    ...rest,
  });
  const { page, workspace } = editor;
  const text = translator(language);
  const view = { plan: text("Plan"), changes: text("Proposed Changes") };
  const inConversation = (selector, hasText) => page.webview().locator(selector, { hasText }).first();
  const command = (title) => page.runCommand(`Agent: ${text(title)}`);
  const take = async (stage) => {
    await page.page.mouse.move(WINDOW.width / 2, 0);
    await page.screenshot(path.join(folder, `${look}-${stage}.png`));
    say(`  ${look}-${stage}.png`);
  };
  try {
    if (hasHighContrast) await page.page.emulateMedia({ forcedColors: "active", colorScheme: rest.theme ?? "dark" });
    await page.showContainer("Fairlead");
    if (sideBarWidth) await setSideBarWidth(page.page, sideBarWidth);
    await command("Show Conversation");
    await inConversation("textarea:focus").waitFor(); // VS Code moves the focus there when the view has loaded
    await command("Run Task");
    await page.quickInput();
    await page.insertText(TASK);
    await take("1-task");
    await page.press("Enter");
    await inConversation(".card button", text("Allow Once")).waitFor();
    await page.rows(view.plan, (rows) => rows.length > STEPS.length);
    await take("2-approval");
    await inConversation(".card button", text("Allow Once")).click();
    await inConversation(".card button", "Keep it").waitFor();
    await take("3-question");
    await inConversation(".card button", "Keep it").click();
    await inConversation(".answer", "The old module is gone.").waitFor();
    await inConversation(".card button", text("Review Changes")).waitFor();
    await take("4-end");
    await page.clickRow(view.changes, "hello.py");
    await page.diffLines("modified", { wanted: (lines) => lines.some((line) => line.includes("str")) });
    await page.lenses((titles) => titles.includes(text("Accept")));
    await take("5-diff");
    await page.rowAction(view.changes, "farewell.py", text("Accept"));
    await page.rows(view.changes, (rows) => rows.length > 0 && rows.every(({ label }) => label !== "farewell.py"));
    fs.writeFileSync(path.join(workspace, "hello.py"), HELLO.replace("(name):", "(who):"));
    await page.rows(view.changes, (rows) => rows.some(({ label, icon }) => label === "hello.py" && icon === "warning"));
    await page.diffLines("original", { wanted: (lines) => lines.some((line) => line.includes("who")) });
    await page.lenses((titles) => titles.includes(text("Keep Mine")));
    await take("6-conflict");
    await command("Review All Changes");
    await page.diffFiles(3);
    await page.lenses((titles) => titles.includes(text("Accept")) && titles.includes(text("Keep Mine")));
    await take("7-all");
  } catch (error) {
    if (!error.artifacts) error.message += `\nKept in ${await page.saveArtifacts(error.message)}`;
    throw error;
  } finally {
    await editor.close();
  }
}

/** The path of a recorded task with a plan, an approval, a failed command, a question, and changes of each kind. Its pace is that of a quick model. */
async function recordedTask() {
  const { bash, edit, plan, recording, remove, write } = await import("../tests/editor/agent.mjs");
  const state = (n, done) => (n < done ? "completed" : n === done ? "in_progress" : "pending");
  const steps = (done) => plan(...STEPS.map(([content, doing], n) => [content, state(n, done), doing]));
  const question = { question: "Shall `greet` keep its name?", options: ["Keep it", "Rename it to say_hello"] };
  const file = recording(
    {
      thinking: "The file is short.",
      text: "I plan first.",
      calls: [
        steps(0),
        edit("hello.py", "greet(name):", "greet(name: str) -> str:"),
        edit("hello.py", "'Hello ' + name", 'f"Hello {name}"'),
      ],
    },
    {
      text: "Now the goodbye.",
      calls: [
        steps(1),
        write("farewell.py", 'def bye(name: str) -> str:\n    return f"Bye {name}"\n'),
        remove("old.py"),
        edit(".github/workflows/test.yml", "on: push", "on: [push, pull_request]"),
      ],
    },
    { text: "The tests.", calls: [steps(2), bash("echo '1 failed, 3 passed'; exit 1")] },
    { calls: [{ ask_user: question }] },
    { calls: [steps(3)] },
    { text: ANSWER },
  );
  fs.writeFileSync(file, JSON.stringify({ pace: 0.05, ...JSON.parse(fs.readFileSync(file, "utf8")) }));
  return file;
}

/** Drags the border between the side bar and the editors. */
async function setSideBarWidth(page, width) {
  const bar = await page.locator(".part.sidebar").boundingBox();
  await page.mouse.move(bar.x + bar.width, bar.y + bar.height / 2);
  await page.mouse.down();
  await page.mouse.move(bar.x + width, bar.y + bar.height / 2, { steps: 5 });
  await page.mouse.up();
}

/** Returns a function that translates a title or text of the extension. */
function translator(language) {
  if (!language) return (english) => english;
  const read = (file) => JSON.parse(fs.readFileSync(path.join(root, file), "utf8"));
  const english = read("package.nls.json");
  const translated = read(`package.nls.${language}.json`);
  const texts = read(`l10n/bundle.l10n.${language}.json`);
  const titles = Object.entries(english).map(([key, title]) => [title, translated[key]]);
  const all = new Map([...titles, ...Object.entries(texts)]);
  return (text) => all.get(text);
}
