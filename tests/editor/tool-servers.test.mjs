// Tool servers in a real VS Code: the user adds them, sees their state and their tools, reviews what they write, and
// decides what may start and be called.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { conversationSays, followUp, picture, ROOT, runTask, useAgent } from "./agent.mjs";

const SERVERS = "Tool Servers";
const TOOLS = "19 tools"; // of scripted.py
const CHANGES = "Proposed Changes";
const PYTHON = path.join(ROOT, ".venv", "bin", "python");
const SCRIPTED = path.join(ROOT, "tests", "tool_servers", "scripted.py");
const scripted = (fields = {}) => ({ command: PYTHON, args: [SCRIPTED], ...fields });
// works only after the user has made a file
const UNREADY = {
  command: "/bin/sh",
  args: ["-c", "test -e ready || { echo 'no file named ready' >&2; exit 2; }; exec python3 scripted.py"],
};
const OWN = {
  mcpServers: { own: { command: "/bin/sh", args: ["-c", "exec python3 scripted.py # of the team"] } },
};
const writing = (file, text) => ({ files__write: { path: file, text } });
const editorTest = useAgent(
  [
    { calls: [writing("a.txt", "one\nnew\n"), writing("b.txt", "two\nnew\n")] },
    { text: "Both are proposed." },
    { calls: [{ outside__run: { command: "echo called" } }] },
    { text: "I have called it." },
    { text: "Your team's server is there." },
    { text: "It has one line." },
  ],
  {
    // a box shows no program and no script that only the text of a shell names
    workspace: { "a.txt": "one\n", "b.txt": "two\n", "scripted.py": fs.readFileSync(SCRIPTED, "utf8") },
    viewport: { width: 1280, height: 1000 },
    own: true,
  },
);
const find = (rows, label) => rows.find((row) => row.label === label);
const described =
  (label, ...parts) =>
  (rows) =>
    parts.every((part) => find(rows, label)?.description.includes(part));
const userSettings = (code) =>
  JSON.parse(fs.readFileSync(path.join(code.userDataDir, "User", "settings.json"), "utf8"))["fairlead.mcpServers"];

editorTest("without a tool server, the view says what one is and offers to add one", async ({ page }) => {
  await page.showContainer("Fairlead");
  await page.runCommand("Agent: Show Tool Servers");
  assert.match(
    await page.welcome(SERVERS),
    /^Tool servers \(MCP\) give the agent more tools\..*Add Tool Server\.\.\..*review\.$/s,
  );
  await picture(page, "tool-servers-none");
});

editorTest("a command line is split, named and saved; the box says what is wrong with it", async ({ page, code }) => {
  const title = "Agent: Add Tool Server";
  await page.runCommand("Agent: Add Tool Server...");
  await page.pick("Command", { title });
  await page.fillInput(`${PYTHON} '${SCRIPTED}`, { title, accept: false });
  await page.until("the problem", async () => (await page.quickInput()).message.includes("The quote ' is not closed."));
  await picture(page, "tool-servers-add");
  await page.fillInput(`${PYTHON} '${SCRIPTED}'`, { title });
  await page.until("the suggested name", async () => (await page.quickInput()).value === "scripted");
  await page.fillInput("files", { title });
  await page.until("the box for hosts", async () => (await page.quickInput()).message.startsWith("What it reaches"));
  await page.fillInput("", { title });
  const [row] = await page.rows(SERVERS, described("files", "stopped"));
  assert.equal(row.icon, "circle-outline");
  assert.deepEqual(userSettings(code), { files: scripted() });
});

editorTest("definitions are pasted as JSON", async ({ page, code }) => {
  const title = "Agent: Add Tool Server";
  const servers = { outside: scripted({ hosts: ["localhost:9"] }), unready: UNREADY };
  await page.runCommand("Agent: Add Tool Server...");
  await page.pick("Paste a Definition", { title });
  await page.fillInput('{"mcpServers"', { title, accept: false });
  await page.until("the problem", async () => (await page.quickInput()).message.includes("This is not JSON."));
  await page.fillInput(JSON.stringify({ mcpServers: servers }), { title });
  const rows = await page.rows(SERVERS, (all) => all.length === 3);
  assert.deepEqual(
    rows.map(({ label }) => label),
    ["files", "outside", "unready"],
  );
  assert.deepEqual(userSettings(code), { files: scripted(), ...servers });
});

editorTest("what a tool server writes is proposed for review; the files are unchanged", async ({ page, workspace }) => {
  await runTask(page, "Write both files");
  await page.rows(CHANGES, (rows) => find(rows, "a.txt") && find(rows, "b.txt"));
  for (const [file, text] of [
    ["a.txt", "one\n"],
    ["b.txt", "two\n"],
  ])
    assert.equal(fs.readFileSync(path.join(workspace, file), "utf8"), text);
  await page.runCommand("Agent: Show Tool Servers");
  const rows = await page.rows(SERVERS, described("files", "running", TOOLS, "tokens"));
  assert.equal(find(rows, "files").icon, "pass-filled");
});

editorTest("a server that failed says why, with its output, and works after a restart", async ({ page, workspace }) => {
  const rows = await page.rows(SERVERS, described("unready", "failed: it ended"));
  assert.equal(find(rows, "unready").icon, "error");
  assert.match(await page.tooltip(SERVERS, "unready"), /Failed: it ended.*test -e ready.*no file named ready/s);
  await page.rowAction(SERVERS, "unready", "Show Output");
  await page.until("the output", async () => (await page.screen()).includes("no file named ready"));
  await picture(page, "tool-servers-failed");
  fs.writeFileSync(path.join(workspace, "ready"), "");
  await page.rowAction(SERVERS, "unready", "Restart Tool Server");
  await page.rows(SERVERS, described("unready", "running", TOOLS));
});

editorTest("a tool has what it costs and claims, and can be switched off and on", async ({ page, code }) => {
  await page.toggleRow(SERVERS, "files");
  const rows = await page.rows(SERVERS, (all) => find(all, "remove")?.checked);
  assert.match(find(rows, "remove").description, /^\d+ tokens$/);
  assert.match(await page.tooltip(SERVERS, "remove"), /Removes a file\..*The server says that it may delete/s);
  await picture(page, "tool-servers-tools");
  await page.clickBox(SERVERS, "remove");
  await page.rows(SERVERS, (all) => find(all, "remove")?.checked === false && described("remove", "switched off")(all));
  assert.deepEqual(userSettings(code).files.disabledTools, ["remove"]);
  await page.clickBox(SERVERS, "remove");
  await page.until("the definition as it was", () => !("disabledTools" in userSettings(code).files));
  await page.rows(SERVERS, (all) => find(all, "remove")?.checked && !described("remove", "switched off")(all));
  await page.toggleRow(SERVERS, "files");
});

editorTest(
  "a call with effects outside asks in the tool's words, and can be allowed for good",
  async ({ page, code }) => {
    await followUp(page, "Call it");
    const { buttons } = await page.toast("Call run of outside with “command: echo called”?");
    assert.deepEqual(buttons, ["Allow Once", "Reject", "More..."]);
    await page.runCommand("Agent: Show Conversation");
    await conversationSays(page, ["Call run of outside?", "command: echo called", "effects outside of the workspace"]);
    await picture(page, "tool-servers-call");
    await page.webview().locator(".card button", { hasText: "Always Allow..." }).click();
    const title = "Agent: Always Allow";
    await page.until("the rule", async () => (await page.quickInput(title)).value === "outside__run");
    await page.fillInput("outside_run", { title, accept: false });
    await page.until("the problem", async () => (await page.quickInput()).message.includes("Write server__tool"));
    await page.fillInput("outside__run(command=echo *)", { title });
    await conversationSays(page, ["I have called it."]);
    const settings = JSON.parse(fs.readFileSync(path.join(code.userDataDir, "User", "settings.json"), "utf8"));
    assert.deepEqual(settings["fairlead.tools.allow"], ["outside__run(command=echo *)"]);
  },
);

editorTest("a call unfolds to what it changed, which can be accepted there", async ({ page, workspace }) => {
  await page.webview().locator("summary", { hasText: "files: write (path: b.txt, text: two new)" }).click();
  const change = page.webview().locator(".change", { hasText: "b.txt · Line 2" });
  await change.locator(".added", { hasText: "new" }).waitFor();
  await picture(page, "tool-servers-change");
  await change.getByRole("button", { name: /^Accept/ }).click();
  await page.until("b.txt", () => fs.readFileSync(path.join(workspace, "b.txt"), "utf8") === "two\nnew\n");
});

editorTest(
  "a server that the workspace defines starts only after a question with its whole command",
  async ({ page, workspace }) => {
    fs.writeFileSync(path.join(workspace, ".mcp.json"), JSON.stringify(OWN));
    await page.rows(SERVERS, described("own", "stopped"));
    await followUp(page, "Is our server there?");
    await conversationSays(page, ["Start this tool server?", "scripted.py", "# of the team", ".mcp.json"]);
    await page.rows(SERVERS, described("own", "waiting for you"));
    await page.rows("Plan", (rows) => find(rows, "Start the tool server own?"));
    await picture(page, "tool-servers-start");
    await page
      .webview()
      .locator(".card button", { hasText: /^Allow$/ })
      .click();
    await conversationSays(page, ["Your team's server is there."]);
    await page.rows(SERVERS, described("own", "running"));
    assert.match(await page.tooltip(SERVERS, "own"), /Defined in \.mcp\.json/);
  },
);

editorTest("a prompt of a tool server, with a resource, begins a task", async ({ page }) => {
  const prompt = page.webview().locator("textarea");
  const completion = (text) => page.webview().locator(".completions li", { hasText: text }).first();
  await prompt.click();
  await prompt.fill("");
  await prompt.pressSequentially("/files:e");
  await completion("/files:explain <path> [style]").waitFor();
  await picture(page, "tool-servers-prompts");
  await prompt.press("Enter");
  await page.until("the completed command", async () => (await prompt.inputValue()) === "/files:explain ");
  await prompt.press("Enter");
  await page.toast("/files:explain needs path.");
  await page.until("the text again", async () => (await prompt.inputValue()) === "/files:explain ");
  await prompt.fill("/files:refused");
  await prompt.press("Escape");
  await prompt.press("Enter");
  await page.toast("The prompt refused of files was refused by its server: Unknown prompt: refused");
  await page.until("the refused text", async () => (await prompt.inputValue()) === "/files:refused");
  await prompt.fill("/files:explain ");
  await prompt.pressSequentially("a.txt #files:note");
  await completion("#files:note://today").click();
  await prompt.press("Enter");
  await conversationSays(page, [
    "/files:explain a.txt #files:note://today",
    "explain, a prompt of the tool server files",
    "It has one line.",
  ]);
});

editorTest("the definition of a server is opened, and removed after a question", async ({ page, code }) => {
  await page.rowMenu(SERVERS, "own", "Open Definition");
  await page.until("the file", async () => (await page.tabs()).some(({ label }) => label === ".mcp.json"));
  await page.rowMenu(SERVERS, "unready", "Remove...");
  assert.equal((await page.dialog()).message, "Remove the tool server “unready”?");
  await page.pressDialog("Remove");
  await page.rows(SERVERS, (rows) => !find(rows, "unready"));
  assert.deepEqual(Object.keys(userSettings(code)), ["files", "outside"]);
});

editorTest("a server asks for a value that it needs, which is not shown", async ({ page, code }) => {
  const asking = scripted({ env: { KEY: "${input:API key}" } });
  await page.runCommand("Agent: Add Tool Server...");
  await page.pick("Paste a Definition", { title: "Agent: Add Tool Server" });
  await page.fillInput(JSON.stringify({ mcpServers: { asking } }), { title: "Agent: Add Tool Server" });
  const title = "The tool server asking needs a value";
  await page.fillInput("secret-1", { title, accept: false });
  assert.match((await page.quickInput()).message, /^API key/);
  await picture(page, "tool-servers-value");
  await page.fillInput("secret-1", { title });
  await page.rows(SERVERS, described("asking", "running", TOOLS));
  assert.ok(!JSON.stringify(userSettings(code)).includes("secret-1"));
  await page.rowAction(SERVERS, "asking", "Sign In to Tool Server...");
  await page.fillInput("secret-2", { title });
  await page.toast("You are signed in to asking.");
  await page.rows(SERVERS, described("asking", "stopped", TOOLS));
});

editorTest("/mcp in the conversation shows the view", async ({ page }) => {
  await page.runCommand("View: Show Explorer");
  const prompt = page.webview().locator("textarea");
  await prompt.fill("/mcp ");
  await prompt.press("Enter");
  await page.rows(SERVERS, (rows) => find(rows, "files"));
});
