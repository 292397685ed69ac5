// Tasks that the user starts in an editor or in the Explorer: on the selection, on problems, on a file, and questions
// about the code at the cursor.

import path from "node:path";
import { conversationSays, picture, ROOT, runTask, useAgent } from "./agent.mjs";

const editorTest = useAgent([{ text: "Done." }], {
  workspace: {
    "src/shapes.ts": "export const area = (side: number): number => side ** 2;\nexport const again = area\n",
    "src/three.ts": 'import { area } from "./shapes";\nexport const three = area(3);\n',
    "src/wrong.ts": 'export const first: number = "1";\nexport const second: string = 2;\n',
  },
  settings: {
    "typescript.tsdk": path.join(ROOT, "node_modules/typescript/lib"),
    "typescript.disableAutomaticTypeAcquisition": true,
  },
  viewport: { width: 1280, height: 1000 },
  own: true,
});

/** Chooses an entry of the menu that Ctrl+. opens at the cursor. */
async function quickFix(page, label) {
  const entry = page.page.locator(".action-widget .monaco-list-row.action", { hasText: label });
  await page.until(`the quick fix "${label}"`, async () => {
    // reopened until the entry is there, because VS Code finds the problems only after a while
    if (await page.page.locator(".action-widget .monaco-list").first().isVisible()) await page.press("Escape");
    await page.press("Control+.");
    await entry.first().waitFor({ timeout: 1000 });
    return true;
  });
  await picture(page, `menu ${label}`);
  await entry.first().click();
}

/** Waits until the context that the model read with the last prompt contains these parts. */
async function contextSays(page, parts) {
  await page.until(`the context with ${parts.join(", ")}`, async () => {
    const text = await page.webview().locator("details", { hasText: "Context" }).last().textContent({ timeout: 1000 });
    const missing = parts.filter((part) => !text.includes(part));
    if (missing.length > 0) throw new Error(`not there: ${missing.join(", ")} in ${text}`);
    return true;
  });
}

editorTest("Fix with Agent runs a task with the problem's place, text and source", async ({ page }) => {
  await page.openFile("src/wrong.ts");
  await page.clickLine("first: number");
  await page.press("Home");
  for (let word = 0; word < 3; word += 1) await page.press("Control+ArrowRight");
  await quickFix(page, "Fix with Agent");
  await page.toast("Done.");
  await page.closeToast("Done.");
  await page.runCommand("Agent: Show Conversation in Editor");
  const problem = "Type 'string' is not assignable to type 'number'. [ts 2322]";
  await conversationSays(page, [`Fix this problem in src/wrong.ts, line 1: ${problem}`]);
  await picture(page, "fix");
  await contextSays(page, ["src/wrong.ts"]);
});

editorTest("all problems in a selection are one task", async ({ page }) => {
  await page.openFile("src/wrong.ts");
  await page.clickLine("first: number");
  await page.press("Control+A");
  await quickFix(page, "Fix 2 Problems with Agent");
  await page.toast("Done.");
  await page.closeToast("Done.");
  await page.runCommand("Agent: Show Conversation in Editor");
  await conversationSays(page, [
    "Fix these problems in src/wrong.ts:",
    "line 1: Type 'string'",
    "line 2: Type 'number'",
  ]);
});

editorTest("Run Task on Selection names the selected line, and sends it", async ({ page }) => {
  await page.openFile("src/three.ts");
  await page.clickLine("export const three");
  await page.press("Shift+Home");
  await page.editorMenu(["Agent", "Run Task on Selection"]);
  await picture(page, "selection");
  await page.fillInput("Make it faster", { title: "Agent: Ask or Change three.ts, line 2" });
  await page.toast("Done.");
  await page.closeToast("Done.");
  await page.runCommand("Agent: Show Conversation in Editor");
  await conversationSays(page, ["Make it faster"]);
  await contextSays(page, ["src/three.ts, line 2"]);
});

editorTest("a key asks for a task on the line of the cursor", async ({ page }) => {
  await page.openFile("src/three.ts");
  await page.clickLine("export const three");
  await page.press("Alt+Q");
  await picture(page, "key");
  await page.fillInput("What is this?", { title: "Agent: Ask or Change three.ts, line 2" });
  await page.toast("Done.");
  await page.closeToast("Done.");
});

editorTest("a command that failed in a terminal is sent with its output", async ({ page }) => {
  await page.runCommand("Terminal: Create New Terminal");
  await page.page.locator(".terminal-wrapper.active .xterm-rows").last().waitFor();
  await page.page.keyboard.type("echo broken; false\n");
  await page.runCommand("Agent: Fix Last Command with Agent");
  await page.toast("Done.");
  await page.closeToast("Done.");
  await page.runCommand("Agent: Show Conversation in Editor");
  await conversationSays(page, [
    "This command failed in my terminal with exit code 1. Fix the cause: echo broken; false",
  ]);
  await contextSays(page, [
    "a command in the user's terminal: echo broken; false (exit code 1)",
    "$ echo broken; false",
    "broken",
  ]);
  await runTask(page, "Explain #terminal");
  await page.webview().locator("h1", { hasText: "Explain #terminal" }).waitFor();
  await conversationSays(page, ["Done."]);
  await contextSays(page, ["a command in the user's terminal: echo broken; false (exit code 1)"]);
  await picture(page, "terminal");
});

editorTest("Run Agent Task on Files in the Explorer sends the selected file", async ({ page }) => {
  await page.openFile("src/shapes.ts");
  await page.showContainer("Explorer");
  const row = page.page.locator(".explorer-folders-view .monaco-list-row", { hasText: "shapes.ts" }).first();
  await row.click();
  await page.editorMenu(["Run Agent Task on Files..."]);
  await page.fillInput("Say what this is", { title: "Agent: Run Task on src/shapes.ts" });
  await page.toast("Done.");
  await page.closeToast("Done.");
  await page.runCommand("Agent: Show Conversation in Editor");
  await conversationSays(page, ["Say what this is"]);
  await contextSays(page, ["src/shapes.ts"]);
});

editorTest("Explain asks about the symbol at the cursor, and shows the answer", async ({ page }) => {
  await page.openFile("src/shapes.ts");
  await page.clickLine("again = area");
  await page.editorMenu(["Agent", "Explain"]);
  await conversationSays(page, ["Explain area in src/shapes.ts, line 2.", "Done."]);
  await picture(page, "explain");
});
