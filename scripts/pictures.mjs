// `npm run pictures`: the README's pictures, taken from the real thing: a VS Code in which the recorded example runs.

import fs from "node:fs";
import path from "node:path";
import { root, run } from "./process.mjs";
import { say } from "./progress.mjs";
import { ensureNode, ensurePython, main, together } from "./setup.mjs";

const folder = path.join(root, "docs", "pictures");
const example = path.join(root, "server/fairlead/example");
const TASK = "Refactor hello.py: add type hints, docstrings, and a main guard";

await main(async () => {
  await together(ensurePython(), ensureNode());
  await run(process.execPath, [path.join(root, "scripts/build.mjs")]);
  const { openAgent, recording, plan, runTask } = await import("../tests/editor/agent.mjs");
  const { closeBrowser } = await import("../tests/editor/host/page.mjs");
  const { pictureFonts, PICTURE_SETTINGS } = await import("../tests/editor/host/pictures.mjs");
  const fonts = await pictureFonts();
  fs.mkdirSync(folder, { recursive: true });
  const look = { viewport: { width: 1200, height: 720 }, scale: 1.5, fonts };

  for (const theme of ["dark", "light"]) {
    const take = (page, name) =>
      page.screenshot(path.join(folder, `${name}-${theme}.png`)).then(() => say(`  ${name}-${theme}.png`));
    const settings = { ...PICTURE_SETTINGS, "fairlead.replay": path.join(example, "refactor.replay.yaml") };
    const editor = await openAgent({
      ...look,
      name: "pictures",
      theme,
      workspace: path.join(example, "workspace"),
      settings,
    });
    const { page } = editor;
    await page.openFile("hello.py");
    await page.showContainer("Fairlead");
    await runTask(page, TASK);
    await page.until("a plan half done", async () => /^[23]\//.test(await page.viewDescription("Plan")), 60_000);
    await take(page, "plan");
    await page.until("the end", async () => (await page.viewDescription("Plan")) === "5/5", 60_000);
    await page.until(
      "the last word",
      async () => (await page.toasts()).some(({ buttons }) => buttons.includes("Review Changes")),
      60_000,
    );
    await page.closeToast("");
    const rows = await page.rows("Proposed Changes");
    await page.clickRow("Proposed Changes", rows[1].index);
    await page.diffLines("modified", { wanted: (lines) => lines.length > 5 });
    await page.page.mouse.move(600, 600);
    await take(page, "diff");
    await page.runCommand("Agent: Show Conversation");
    await page.page.frameLocator("iframe.webview.ready").frameLocator("#active-frame").locator("h1").waitFor();
    await take(page, "conversation");
    await editor.close();

    const command = { bash: { command: "pip install ruff", network: true } };
    const script = recording(
      {
        text: "",
        calls: [
          plan(["Read the tests", "completed"], ["Get the formatter", "in_progress", "Getting the formatter"]),
          command,
        ],
      },
      { text: "Done." },
    );
    const asking = await openAgent({
      ...look,
      name: "pictures",
      theme,
      workspace: path.join(example, "workspace"),
      settings: { ...PICTURE_SETTINGS, "fairlead.replay": script },
    });
    await asking.page.openFile("hello.py");
    await asking.page.showContainer("Fairlead");
    await runTask(asking.page, "Format hello.py");
    await asking.page.toast("pip install ruff");
    await asking.page.rows("Plan", (all) => all.length > 2);
    await take(asking.page, "approval");
    await asking.page.toastButton("pip install ruff", "Reject");
    await asking.page.toast("Done.");
    await asking.close();
  }
  await closeBrowser();
  return 0;
});
