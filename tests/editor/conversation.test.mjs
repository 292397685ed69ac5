// The conversation view: what it shows while the agent works, and what the user can do in it.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { bash, edit, picture, plan, ROOT, runTask, useAgent } from "./agent.mjs";

const HOSTILE = [
  "A picture ![x](https://example.com/x.png) and <img src=https://example.com/y.png onerror=alert(1)>.",
  "[Run it](command:workbench.action.closeWindow) or [read it](greet.py#L2).",
  "<script>document.title = 'hacked'</script>",
  "gnp.\u202egpj",
].join("\n\n");
const TABLE = [
  "| file | what it does | where it is used | note |",
  "| --- | --- | ---: | --- |",
  `| \`packages/application/${"module/".repeat(10)}greet.py\` | greets | here | ${"some words ".repeat(10)} |`,
].join("\n");
const CODE = "```python\ndef greet(name):  # politely\n    return 'Good day'\n```";
const SLOW = { ask_user: { question: "Which *tone*?", options: ["Formal", "Casual"] } };
const editorTest = useAgent(
  [
    {
      text: "I make a **plan**.",
      calls: [
        plan(["Greet politely", "in_progress", "Greeting politely"], ["Say goodbye"]),
        bash("seq 100; echo one; exit 3"),
      ],
    },
    { calls: [edit("greet.py", "Hello", "Good day"), SLOW] },
    { calls: [plan(["Greet politely", "completed"], ["Say goodbye", "completed"])] },
    { text: `All of it is done.\n\n${HOSTILE}` },
    { text: `Second answer.\n\n${TABLE}` },
    { text: `Third answer, see \`greet.py:2\`.\n\n${CODE}` },
    { text: "It shows a *red* square." },
  ],
  { workspace: { "greet.py": "# a greeting\nprint('Hello')\n" }, settings: { "fairlead.approvals": "ask" } },
);
const inView = (page, selector, options) => page.webview().locator(selector, options);
const appears = (page, selector, hasText) => inView(page, selector, { hasText }).first().waitFor();

/** Whether the end of an element's text is in the visible part of the element. */
const showsItsEnd = (element) => {
  const range = document.createRange();
  range.setStart(element.firstChild, element.textContent.length - 2);
  range.setEnd(element.firstChild, element.textContent.length - 1);
  const [end, box] = [range.getBoundingClientRect(), element.getBoundingClientRect()];
  return end.height > 0 && end.top >= box.top && end.bottom <= box.bottom;
};

editorTest("an approval is answered in the conversation, which shows why the command failed", async ({ page }) => {
  // a window that is too low for the whole conversation, so that the next test can see it scroll
  await page.setSize({ width: 1280, height: 520 });
  await page.showContainer("Fairlead");
  await page.runCommand("Agent: Show Conversation");
  await runTask(page, "Greet me `politely`");
  await appears(page, ".card .title", "The agent asks to run this command.");
  await appears(page, ".card pre", "seq 100; echo one; exit 3");
  await picture(page, "conversation-approval");
  await inView(page, ".card button", { hasText: "Allow Once" }).click();
  await appears(page, ".tool .note", "exit code 3");
  const output = inView(page, ".tool pre", { hasText: "exit code 3" });
  await page.until("the end of the output", () => output.evaluate(showsItsEnd));
  await appears(page, ".step h2", "Greet politely");
});

/** How many pixels of the conversation are above and below its visible part. */
const pixelsOutOfView = (page) =>
  inView(page, ".scroller").evaluate(({ scrollTop, scrollHeight, clientHeight }) => [
    scrollTop,
    scrollHeight - scrollTop - clientHeight,
  ]);

editorTest("a question scrolls into view, and is answered in the conversation", async ({ page }) => {
  await appears(page, ".card .title em", "tone");
  await page.until("the end of the conversation", async () => {
    const [above, below] = await pixelsOutOfView(page);
    return above > 0 && below < 2;
  });
  await page.setSize({ width: 1280, height: 800 });
  await picture(page, "conversation-question");
  await inView(page, ".card input").fill("Very formal");
  await inView(page, ".card input").press("Enter");
  await appears(page, ".answer strong", "plan");
  await appears(page, ".answer", "All of it is done.");
  assert.equal(await inView(page, ".card .title", { hasText: "tone" }).count(), 0);
  await page.until("the focus in the prompt", () =>
    inView(page, "textarea").evaluate((input) => document.activeElement === input),
  );
});

editorTest(
  "docs/faults.md 41: a hostile answer loads nothing and runs nothing; its link to a file works",
  async ({ page }) => {
    const answer = inView(page, ".answer", { hasText: "All of it is done." });
    // the text is empty while VS Code hides the page, which it does after a change of the window's size
    const text = await page.until("the text of the answer", () => answer.innerText());
    for (const part of ["[image: x]", "<img src=https://example.com/y.png", "<script>", "\\u{202e}"])
      assert.ok(text.includes(part), `${part} in ${text}`);
    assert.equal(await answer.locator("img, script").count(), 0);
    assert.ok(!page.blockedHosts().includes("example.com"));
    assert.equal(await answer.locator("a", { hasText: "Run it" }).getAttribute("href"), null);
    await answer.locator("a", { hasText: "read it" }).click();
    await page.tab("greet.py (proposed)");
    // the editor gets the focus after the tab appears; without this wait, the next test's text would go there
    await page.editorFocus();
  },
);

editorTest("at the end, a card offers what to do next: review the changes", async ({ page }) => {
  await appears(page, ".card .title", "1 file to review.");
  await picture(page, "conversation-end");
});

editorTest("an edit unfolds to its diff, in which the change can be rejected", async ({ page }) => {
  const call = inView(page, ".entry.tool", { hasText: "Edit greet.py" });
  const top = () => call.evaluate((entry) => entry.getBoundingClientRect().top);
  const before = await top();
  await call.locator("summary").click();
  const rows = async () => (await call.locator(".change pre > span").allInnerTexts()).map((row) => row.trim());
  const isShown = () =>
    page.until("the diff", async () => (await rows()).join("|") === "- print('Hello')|+ print('Good day')");
  await isShown();
  assert.equal(await top(), before);
  assert.deepEqual(await call.locator(".added .word").allInnerTexts(), ["Good day"]);
  await picture(page, "conversation-diff");
  await call.getByRole("button", { name: "Reject the change, Line 2" }).click();
  await appears(page, ".changes .note", "Nothing of this call is left to review");
  await inView(page, "textarea").press("Alt+u");
  await isShown();
  await call.locator("summary").click();
});

/** The heights of the rows of tables, in lines of text. */
const rowHeights = (rows) =>
  rows.map((row) => row.getBoundingClientRect().height / Number.parseFloat(getComputedStyle(row).lineHeight));

const typed = (page) => inView(page, "textarea").inputValue();

editorTest("the prompt sends a task with Enter; an empty one and Shift+Enter send nothing", async ({ page }) => {
  const box = inView(page, "textarea");
  const prompts = inView(page, ".entry.prompt");
  const before = await prompts.count();
  await box.click();
  await page.press("Enter");
  await page.insertText("One more");
  await page.press("Shift+Enter");
  await page.insertText("thing");
  assert.equal(await typed(page), "One more\nthing");
  assert.equal(await prompts.count(), before);
  await page.press("Enter");
  await appears(page, ".entry.prompt", "One more");
  await appears(page, ".answer", "Second answer.");
  assert.deepEqual([await typed(page), await prompts.count()], ["", before + 1]);
});

editorTest("a table that is wider than the view scrolls, and its cells have few lines", async ({ page }) => {
  const rows = inView(page, ".answer .scrolled tr");
  const heights = await page.until("the table", async () => {
    const found = await rows.evaluateAll(rowHeights);
    return found.length === 2 && found.every((height) => height > 0) && found;
  });
  assert.ok(
    heights.every((height) => height < 6),
    `${heights.join(" and ")} lines`,
  );
  assert.ok(await inView(page, ".answer .scrolled").evaluate((table) => table.scrollWidth > table.clientWidth));
  const alignments = await rows.evaluateAll((found) =>
    found.map(({ cells }) => [...cells].map((cell) => getComputedStyle(cell).textAlign)),
  );
  for (const [first, , third] of alignments) assert.deepEqual([first, third], ["start", "-webkit-right"]);
});

editorTest("in a wide view, a table has wide columns", async ({ page }) => {
  await page.runCommand("Agent: Show Conversation in Editor");
  const cell = inView(page, ".answer .scrolled td").first();
  const shares = () => cell.evaluate(({ clientWidth }) => [clientWidth, clientWidth / window.innerWidth]);
  await page.until("a wide column", async () => {
    const [width, share] = await shares();
    return width > 260 && share < 0.5;
  });
  await page.runCommand("View: Close Editor");
  await page.until("the narrow view", async () => (await shares())[0] < 260);
});

editorTest(
  "arrow up recalls earlier tasks, # completes a mention, / a command, and Escape closes the list",
  async ({ page }) => {
    const row = (text) => inView(page, ".completions li", { hasText: text });
    await inView(page, "textarea").click();
    await page.press("ArrowUp");
    assert.equal(await typed(page), "One more\nthing");
    await page.press("ArrowUp");
    assert.equal(await typed(page), "Greet me `politely`");
    await page.press("ArrowDown");
    await page.press("ArrowDown");
    assert.equal(await typed(page), "");
    await page.insertText("/as");
    await row("/ask").waitFor();
    await page.press("Tab");
    assert.equal(await typed(page), "/ask ");
    await page.insertText("about #gre");
    await row("#greet.py").waitFor();
    await picture(page, "conversation-completion");
    await page.press("Enter");
    assert.equal(await typed(page), "/ask about #greet.py ");
    await page.insertText("@gre");
    await row("#greet.py").waitFor();
    await page.press("Escape");
    assert.equal(await row("#greet.py").count(), 0);
  },
);

editorTest("a / command with too much text or too little is not sent, and says why", async ({ page }) => {
  const box = inView(page, "textarea");
  for (const [text, problem] of [
    ["/ask", "Write the task after /ask."],
    ["/undo this", "/undo takes no text. To send this as a task, begin it with another word."],
  ]) {
    await box.fill(`${text} `);
    await box.press("Enter");
    await page.toast(problem);
    await page.closeToast(problem);
    await page.until("the text again", async () => (await typed(page)) === `${text} `);
  }
});

editorTest("a sent task can be edited and sent again, in another mode", async ({ page }) => {
  await inView(page, "textarea").fill("");
  await inView(page, ".entry.prompt", { hasText: "One more" })
    .getByRole("button", { name: "Edit and send again" })
    .click();
  await page.until("the text", async () => (await typed(page)) === "One more\nthing");
  await inView(page, "textarea").fill("/ask Is it done?");
  await inView(page, "button", { hasText: "Send" }).click();
  await appears(page, ".answer", "Third answer");
  await appears(page, ".entry.prompt", "Is it done?");
});

editorTest("keys and a list go to the user's messages", async ({ page }) => {
  const isAtTop = (text) =>
    page.until(`the message “${text}” at the top`, () =>
      inView(page, ".entry.prompt", { hasText: text }).evaluate(
        (entry) => Math.abs(entry.getBoundingClientRect().top - document.querySelector(".log-area").offsetTop) < 8,
      ),
    );
  await inView(page, "textarea").click();
  await page.press("Alt+ArrowUp");
  await isAtTop("One more");
  await page.press("Alt+ArrowUp");
  await isAtTop("Greet me");
  await picture(page, "conversation-jumps");
  await page.press("Alt+ArrowDown");
  await isAtTop("One more");
  await page.runCommand("Agent: Go to Message...");
  await page.pick("Greet me `politely`", { title: "Agent: Go to Message" });
  await isAtTop("Greet me");
  await inView(page, "button[data-action=latest]").click();
});

editorTest("Ctrl+F finds a text in the conversation, and Enter does not run it", async ({ page }) => {
  const before = await inView(page, ".entry.prompt").count();
  await inView(page, "textarea").click();
  await page.press("Control+F");
  await page.insertText("GREET POLITELY");
  await appears(page, ".find .count", "5 of 6 messages and calls");
  await page.press("Enter");
  await appears(page, ".find .count", "6 of 6");
  await picture(page, "conversation-find");
  await page.press("Escape");
  assert.deepEqual([await typed(page), await inView(page, ".entry.prompt").count()], ["", before]);
  await page.runCommand("Agent: Find in Conversation");
  await page.until("the focus in the bar", () =>
    inView(page, ".find input").evaluate((input) => document.hasFocus() && document.activeElement === input),
  );
  await page.press("Escape");
  await page.until("the focus in the prompt", () =>
    inView(page, "textarea").evaluate((input) => document.activeElement === input),
  );
});

editorTest("code has colors and is inserted at the cursor, and a file with a line is a link", async ({ page }) => {
  const answer = inView(page, ".answer", { hasText: "Third answer" });
  const color = (part, text) =>
    answer
      .locator(part, { hasText: text })
      .first()
      .evaluate((found) => getComputedStyle(found).color);
  await answer.locator(".hljs-keyword", { hasText: "def" }).waitFor();
  const colors = [await color("pre", "def"), await color(".hljs-keyword", "def"), await color(".hljs-string", "Good")];
  assert.equal(new Set(colors).size, 3, colors.join(", "));
  await picture(page, "conversation-code");
  await page.runCommand("File: New Untitled Text File");
  await answer.getByRole("button", { name: "Insert code at the cursor" }).click();
  await page.editorLines((lines) => lines.join("|").includes("def greet(name):  # politely|    return 'Good day'"));
  await page.runCommand("View: Revert and Close Editor");
  await answer.locator("a", { hasText: "greet.py:2" }).click();
  await page.tab("greet.py (proposed)");
  await page.editorFocus();
});

/**
 * Pastes files into the prompt or drops them on it: `event` is "paste" or "drop". A file whose name ends in `.png` is a
 * picture.
 */
const addFiles = (page, event, ...names) =>
  inView(page, "textarea").evaluate(
    async (input, { type, files }) => {
      const canvas = Object.assign(document.createElement("canvas"), { width: 300, height: 200 });
      const context = canvas.getContext("2d");
      context.fillStyle = "crimson";
      context.fillRect(50, 20, 160, 160);
      const picture = await new Promise((resolve) => canvas.toBlob(resolve));
      const data = new DataTransfer();
      for (const name of files) data.items.add(new File([name.endsWith(".png") ? picture : "text"], name));
      const options = { bubbles: true, cancelable: true };
      if (type === "paste") input.dispatchEvent(new ClipboardEvent(type, { ...options, clipboardData: data }));
      else input.dispatchEvent(new DragEvent(type, { ...options, dataTransfer: data }));
    },
    { type: event, files: names },
  );

editorTest(
  "a pasted picture and a dropped one are chips, and the prompt names those that were sent",
  async ({ page }) => {
    const chip = (name) => inView(page, ".chip", { hasText: name });
    await addFiles(page, "paste", "image.png");
    await addFiles(page, "drop", "image.png", "photo.heic");
    await chip("image 2.png").waitFor();
    await appears(page, ".notice", "photo.heic is not a picture that the model can read. Use PNG, JPEG, GIF or WebP.");
    await page.until("a thumbnail that is drawn", () =>
      chip("image.png")
        .locator("img")
        .evaluate((picture) => picture.naturalWidth > 0),
    );
    await picture(page, "conversation-picture-chips");
    await inView(page, "textarea").fill("What does it show?");
    await inView(page, "textarea").press("Shift+Tab");
    await page.press("Enter");
    await page.until("the removal of the editor's chip", async () => (await chip("greet.py").count()) === 0);
    await chip("image 2.png").getByRole("button", { name: "Do not send image 2.png" }).click();
    await chip("image 2.png").waitFor({ state: "detached" });
    await page.until("the focus in the prompt", () =>
      inView(page, "textarea").evaluate((input) => document.activeElement === input),
    );
    await page.press("Enter");
    await appears(page, ".entry.prompt .picture", "Picture: image.png");
    await appears(page, ".answer", "It shows a red square.");
    assert.equal(await inView(page, ".chip img").count(), 0);
    assert.equal(await inView(page, ".entry.prompt img").count(), 0);
    await picture(page, "conversation-picture");
  },
);

editorTest("files that are dropped from the Explorer become mentions at the cursor", async ({ page, workspace }) => {
  const drop = (...uris) =>
    inView(page, "textarea").evaluate((input, list) => {
      const data = new DataTransfer();
      data.setData("application/vnd.code.uri-list", list);
      const options = { bubbles: true, cancelable: true, dataTransfer: data };
      if (input.dispatchEvent(new DragEvent("dragover", options))) throw new Error("nothing can be dropped");
      input.dispatchEvent(new DragEvent("drop", options));
    }, uris.join("\r\n"));
  await inView(page, "textarea").fill("Read now");
  await inView(page, "textarea").evaluate((input) => input.setSelectionRange(4, 4));
  await drop(`vscode-remote://here${workspace}/my%20notes`, `file://${workspace}/greet.py`, "file:///etc/passwd", "::");
  const text = 'Read #"my notes" #greet.py now';
  await page.until("the mentions", async () => (await typed(page)) === text);
  await drop("file:///etc/passwd");
  await page.toast("Only files and folders in the workspace can be mentioned.");
  await page.runCommand("Notifications: Clear All Notifications"); // the notification covers the prompt
  assert.equal(await typed(page), text);
  await inView(page, "textarea").fill("");
  await inView(page, "button[data-action=attach]").click();
  await page.pick("greet.py");
  await page.until("the mention", async () => (await typed(page)).trim() === "#greet.py");
  await inView(page, "textarea").fill("");
});

editorTest("a selection can be mentioned as soon as it is made", async ({ page }) => {
  const box = inView(page, "textarea");
  const row = (text) => inView(page, ".completions li", { hasText: text }).first();
  await page.openFile("greet.py");
  await page.clickLine("# a greeting");
  await box.fill("#gre");
  await row("#greet.py").waitFor();
  await page.clickLine("# a greeting");
  await page.press("Shift+Home");
  await page.statusItem("status.editor.selection", ({ text }) => text.includes("selected"));
  await box.fill("#sel");
  await row("#selection").waitFor();
  await box.fill("");
});

editorTest("the chips show only what is sent with a task", async ({ page, workspace }) => {
  const chips = (...wanted) =>
    page.until(`the chips ${wanted.join(" and ")}`, async () => {
      const labels = await inView(page, ".chip .label").allTextContents();
      return labels.join() === wanted.join();
    });
  const selected = () => page.statusItem("status.editor.selection", ({ text }) => text.includes("selected"));
  await page.openFile("greet.py");
  await page.clickLine("# a greeting");
  await page.press("Home");
  await page.press("Shift+ArrowDown"); // up to the start of line 2, which is not sent
  await chips("greet.py", "greet.py, line 1");
  const changes = await page.rows("Proposed Changes", (rows) => rows.some(({ label }) => label === "Line 2"));
  await page.clickRow("Proposed Changes", changes.find(({ label }) => label === "Line 2").index);
  await page.clickDiffLine("Good day");
  await page.press("Shift+Home");
  await chips("greet.py", "greet.py, line 2");
  await page.clickDiffLine("Hello", { side: "original" });
  await page.press("Shift+Home");
  await selected();
  await chips("greet.py", "greet.py, line 2"); // their text is sent, because they are not lines of the file
  fs.writeFileSync(path.join(workspace, "..", "outside.py"), "# not in the workspace\n");
  await page.runCommand("File: Open File...");
  await page.pick("..", { isInNext: true });
  await page.pick("outside.py");
  await page.clickLine("# not in the workspace");
  await page.press("Shift+Home");
  await selected();
  await chips("open files");
  await page.openFile("greet.py");
  await chips("greet.py", "greet.py, line 1");
  await inView(page, ".chip").first().getByRole("button").click();
  await chips(); // without the file, no line of it is sent
});

editorTest("a new session begins empty, and earlier sessions remain with what was typed", async ({ page }) => {
  await inView(page, "textarea").fill("For later");
  await page.runCommand("Agent: New Session");
  await page.until("an empty conversation", async () => (await inView(page, ".entry").count()) === 0);
  await page.until("an empty prompt", async () => (await typed(page)) === "");
  await picture(page, "conversation-new");
  await inView(page, ".card button", { hasText: "Explain #greet.py" }).click();
  await page.until("the offered task in the prompt", async () => (await typed(page)) === "Explain #greet.py");
  await inView(page, "textarea").fill("");
  await page.runCommand("Fairlead: Focus on Sessions View");
  await page.clickRow("Sessions", "Greet me `politely`");
  await appears(page, ".answer", "Third answer");
  await page.until("the text again", async () => (await typed(page)) === "For later");
  await inView(page, "textarea").fill("");
});

const AXE = fs.readFileSync(path.join(ROOT, "node_modules/axe-core/axe.min.js"), "utf8");
const THEMES = {
  "vscode-dark": { colorScheme: "dark", forcedColors: "none" },
  "vscode-light": { colorScheme: "light", forcedColors: "none" },
  "vscode-high-contrast": { colorScheme: "dark", forcedColors: "active" },
  "vscode-high-contrast-light": { colorScheme: "light", forcedColors: "active" },
};

editorTest("axe-core finds no violation in the conversation, in each kind of theme", async ({ page }, context) => {
  context.after(() => page.page.emulateMedia(THEMES["vscode-dark"]));
  const found = [];
  for (const [name, media] of Object.entries(THEMES)) {
    await page.page.emulateMedia(media);
    await page.until(`the theme ${name}`, async () =>
      (await inView(page, "body").getAttribute("class")).split(" ").includes(name),
    );
    const body = await inView(page, "body").elementHandle();
    const frame = await body.ownerFrame();
    await frame.evaluate(AXE);
    // VS Code draws the background outside of the page
    await frame.evaluate(() => {
      const { style } = document.documentElement;
      style.background = style.getPropertyValue("--vscode-sideBar-background");
    });
    const { violations, passes } = await frame.evaluate(() => window.axe.run(document));
    assert.ok(passes.length > 10, `${name}: ${passes.length} rules passed`);
    for (const { id, nodes } of violations)
      for (const { html, failureSummary } of nodes) found.push(`${name}, ${id}: ${html} ${failureSummary}`);
    const folder = process.env.FAIRLEAD_EDITOR_PICTURES;
    if (folder) await page.screenshot(path.join(folder, `conversation-${name}.png`));
  }
  assert.deepEqual(found, []);
});

/** The rows of the conversation with everything in them, also what is folded. */
const allRows = (page) =>
  inView(page, ".entry").evaluateAll((rows) =>
    rows.map(({ className, textContent }) => `${className}: ${textContent}`),
  );

editorTest("typed text and all rows survive when the view is hidden and the window is reloaded", async ({ page }) => {
  const before = await allRows(page);
  assert.ok(before.some((row) => row.startsWith("entry step")) && before.length > 12, before.join("\n"));
  const text = "Not sent\nyet #gre";
  await inView(page, "textarea").fill(text);
  const survives = (what) => page.until(`the text after ${what}`, async () => (await typed(page)) === text);
  await page.runCommand("View: Toggle Secondary Side Bar Visibility");
  await page.until("no conversation", async () => (await page.page.locator("iframe.webview.ready").count()) === 0);
  await page.press("Alt+a");
  await survives("it was hidden");
  await page.reload();
  await page.runCommand("Agent: Show Conversation");
  await survives("a reload");
  await appears(page, ".answer", "Third answer");
  assert.deepEqual(await allRows(page), before);
});

editorTest("the prompt has the focus when its page is ready", async ({ page }) => {
  await inView(page, "textarea").fill("");
  await page.runCommand("View: Toggle Secondary Side Bar Visibility");
  await page.until("no conversation", async () => (await page.page.locator("iframe.webview.ready").count()) === 0);
  await page.runCommand("Agent: Show Conversation");
  await page.until("the focus in the prompt", () =>
    inView(page, "textarea").evaluate((input) => document.hasFocus() && document.activeElement === input),
  );
  await page.insertText("Typed at once");
  assert.equal(await typed(page), "Typed at once");
});

const prompts = (page) => inView(page, ".entry.prompt").count();

editorTest("a new session can begin at a message, whose text returns to the prompt", async ({ page }) => {
  await inView(page, "textarea").fill("");
  await inView(page, ".entry.prompt", { hasText: "One more" })
    .getByRole("button", { name: "Rewind to before this message" })
    .click();
  await page.fillInput("New Session from Here", { title: "Agent: Rewind to Before This Message" });
  await page.until("the message", async () => (await typed(page)) === "One more\nthing");
  await page.until("the conversation up to there", async () => (await prompts(page)) === 1);
  await appears(page, ".answer", "All of it is done.");
  await picture(page, "conversation-fork");
  await page.runCommand("Fairlead: Focus on Sessions View");
  await page.clickRow("Sessions", "Greet me `politely`");
  await appears(page, ".answer", "Third answer");
});

editorTest("a rewind to before the first message also undoes what was accepted since", async (editor) => {
  const { page, workspace } = editor;
  const text = () => fs.readFileSync(path.join(workspace, "greet.py"), "utf8");
  await page.runCommand("Agent: Accept All");
  await page.until("the accepted text", () => text().includes("Good day"));
  await page.runCommand("Agent: Rewind...");
  await page.fillInput("Greet me", { title: "Agent: Rewind “Greet me `politely`”" });
  await page.fillInput("Conversation, Plan and Changes", { title: "Agent: Rewind to Before This Message" });
  await page.until("an empty conversation", async () => (await prompts(page)) === 0);
  await page.until("the text before", () => text().includes("Hello"));
  await page.until("the message", async () => (await typed(page)).startsWith("Greet me `politely`"));
  await picture(page, "conversation-rewound");
});
