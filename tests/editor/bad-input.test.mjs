// A missing key, an untrusted workspace, a vanished folder, a second window, and a reload during a run.

import assert from "node:assert/strict";
import fs from "node:fs";
import { bash, edit, modelServer, openAgent, picture, recording, runTask, serverPids } from "./agent.mjs";
import { openPage } from "./host/page.mjs";
import { test } from "./host/registry.mjs";

async function inEditor(options, body) {
  const editor = await openAgent(options);
  try {
    await body(editor);
  } finally {
    await editor.close();
  }
}

test("without a key the user is asked how to reach a model, and then the typed task runs", async () => {
  const keys = [];
  const refusal = ({ headers }) => {
    keys.push(headers.authorization);
    return keys.at(-1) !== "Bearer sk-good" && { status: 401, error: { type: "authentication_error", message: "No." } };
  };
  const url = await modelServer({ text: "It is well.", refusal });
  await inEditor({ name: "no-key", workspace: { a: "" }, settings: {} }, async ({ page }) => {
    await runTask(page, "Anything");
    const { items } = await page.quickInput("Agent: Choose a Model");
    assert.deepEqual(
      items.map(({ label }) => label),
      ["Anthropic API key", "Local model or another server", "Amazon Bedrock", "Google Vertex AI"],
    );
    await picture(page, "no-key");
    await page.press("Escape");
    await page.runCommand("Agent: Run Task");
    assert.equal((await page.quickInput("Agent: Run Task")).value, "Anything");
    await page.press("Enter");
    await page.pick("Local model or another server", { title: "Agent: Choose a Model" });
    await page.fillInput(url, { title: "Agent: Choose a Model" });
    await page.until("the question for the model's name", async () =>
      (await page.quickInput()).message.startsWith("The model's name"),
    );
    await page.fillInput("small");
    const told = await page.toast("The API key was refused");
    assert.deepEqual(told.buttons, ["Set API Key"]);
    await page.closeToast("The API key was refused");
    await page.clickRow("Plan", "Set API Key");
    await page.fillInput("sk-good", { title: "Agent: Set API Key" });
    await page.toast("It is well.");
  });
});

test("an untrusted workspace: the message opens the trust editor, and a task runs after that", async () => {
  const settings = { "fairlead.replay": recording({ text: "It works now." }) };
  await inEditor({ name: "untrusted", workspace: { a: "" }, settings, trust: "restricted" }, async ({ page }) => {
    await page.runCommand("Agent: Run Task");
    assert.deepEqual((await page.toast("only in a workspace that you trust")).buttons, ["Manage Trust"]);
    await page.toastButton("only in a workspace that you trust", "Manage Trust");
    await page.trustWorkspace();
    await runTask(page, "Anything");
    await page.toast("It works now.");
  });
});

test("a folder that vanished: the task is refused with the reason", async () => {
  const settings = { "fairlead.replay": recording({ text: "Never said." }) };
  await inEditor({ name: "vanished", workspace: { a: "" }, settings }, async ({ page, workspace }) => {
    await page.showContainer("Fairlead");
    await page.welcome("Plan");
    // VS Code shows its own dialog if the folder is missing when it starts, so the folder is removed later
    await page.runCommand("Agent: Run Task");
    await page.fillInput("Anything", { title: "Agent: Run Task", accept: false });
    fs.rmSync(workspace, { recursive: true });
    await page.press("Enter");
    await page.toast("The workspace is not a folder");
  });
});

test("two windows on one folder: each has its own run and its own proposals", async () => {
  const settings = { "fairlead.replay": recording({ calls: [edit("a.txt", "one", "ONE")] }, { text: "Proposed." }) };
  await inEditor(
    { name: "two-windows", workspace: { "a.txt": "one\n" }, settings },
    async ({ page, code, workspace }) => {
      const other = await openPage(code.url, { name: "two-windows-other", logs: code.logs });
      await runTask(page, "In the first window");
      await page.toast("Proposed.");
      await other.showContainer("Fairlead");
      assert.match(await other.welcome("Plan"), /Give the agent a task/);
      await runTask(other, "In the second window");
      await other.toast("Proposed.");
      assert.equal(serverPids(code).length, 2);
      await page.rowAction("Proposed Changes", "a.txt", "Reject");
      await page.until("the first window's list to be empty", async () =>
        /no changes to review/.test(await page.welcome("Proposed Changes")),
      );
      await other.rowAction("Proposed Changes", "a.txt", "Accept");
      await other.until(
        "the second window's change on disk",
        () => fs.readFileSync(`${workspace}/a.txt`, "utf8") === "ONE\n",
      );
      await other.close();
    },
  );
});

test("the window reloads during a run: the old server ends, and the next task starts", async () => {
  const settings = {
    "fairlead.replay": recording({ calls: [bash("sleep 300")] }, { text: "Refused." }),
    "fairlead.approvals": "ask",
  };
  await inEditor({ name: "reload", workspace: { a: "" }, settings }, async ({ page, code }) => {
    await runTask(page, "Wait");
    await page.rows("Plan", (rows) => rows[0]?.label.startsWith("Allow") ?? false);
    const [before] = serverPids(code);
    await page.reload();
    await page.until("the end of the first server", () => !serverPids(code).includes(before));
    await runTask(page, "Again");
    await page.rows("Plan", (rows) => rows[0]?.label.startsWith("Allow") ?? false);
    assert.equal(serverPids(code).length, 1);
  });
});
