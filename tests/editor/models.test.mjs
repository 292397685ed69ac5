// The set-up of a model in a fresh profile, and the model picker, with servers that list their models.

import assert from "node:assert/strict";
import { openAgent, listingServer, picture, runTask } from "./agent.mjs";
import { test } from "./host/registry.mjs";

const SET_UP = "Agent: Set Up Model";
const PICKER = "Agent: Choose Model";
const LABEL = ".quick-input-list .monaco-list-row";

async function inEditor(options, body) {
  const editor = await openAgent(options);
  try {
    await body(editor);
  } finally {
    await editor.close();
  }
}

const row = (page, label) => page.page.locator(LABEL, { has: page.page.getByText(label, { exact: true }) }).first();

/** Presses a button of a row of the open list. */
const pressOn = (page, label, button) =>
  page.until(`the button "${button}" of "${label}"`, async () => {
    await row(page, label).hover({ timeout: 1000 });
    await row(page, label).locator(`.action-label[aria-label="${button}"]`).click({ timeout: 1000 });
    return true;
  });

/** Waits for rows of the open list, as `label: description`. */
const listed = (page, ...wanted) =>
  page.until(`the rows ${wanted.join(", ")}`, async () => {
    const shown = (await page.quickInput()).items.map(({ label, description }) => `${label}: ${description}`);
    const missing = wanted.filter((each) => !shown.includes(each));
    if (missing.length > 0) throw new Error(`not there: ${missing.join(", ")}; there: ${shown.join(", ")}`);
    return shown;
  });

test("with an OpenAI key, a model works after three actions in a fresh profile", async () => {
  const { url, requests } = await listingServer({ key: "sk-mine", models: [{ id: "gpt-6.1-sol" }] });
  const settings = { "fairlead.endpoints": { openai: { baseUrl: url, api: "chat" } } };
  await inEditor({ name: "openai-key", workspace: { a: "" }, settings }, async ({ page }) => {
    await page.runCommand("Agent: Set Up Model...");
    await listed(page, "OpenAI: ", "OpenRouter: ", "Google Gemini: ");
    await picture(page, "set-up");
    await page.pick("OpenAI", { title: SET_UP });
    await page.fillInput("sk-mine", { title: "Agent: Set API Key" });
    await page.toast("gpt-6.1-sol answers.");
    assert.ok(requests.some(({ path, key }) => path.endsWith("/chat/completions") && key === "sk-mine"));
    await page.toastButton("gpt-6.1-sol answers.", "Run Task");
    await page.fillInput("Anything", { title: "Agent: Run Task" });
    await page.toast("It is well.");
    await page.statusItem("fairlead.model", ({ text }) => text === "gpt-6.1-sol");
  });
});

test("a local server that answers is named first, and the picker chooses, tries and sets the default", async () => {
  const models = [{ id: "small", max_model_len: 32768 }, { id: "large" }, { id: "broken" }];
  const local = await listingServer({ models });
  const work = await listingServer({ key: "k", models: [{ id: "work-1", context_length: 200_000 }] });
  const settings = {
    "fairlead.endpoints": {
      ollama: { baseUrl: local.url },
      work: { title: "Work", api: "chat", baseUrl: work.url, models: { "work-1": { inputPrice: 3, outputPrice: 15 } } },
    },
  };
  await inEditor({ name: "local-server", workspace: { a: "" }, settings }, async ({ page }) => {
    await page.runCommand("Agent: Set Up Model...");
    await listed(page, "Ollama: 3 models");
    await page.pick("Ollama", { title: SET_UP });
    await listed(page, "small: 32k · local", "large: local");
    await page.pick("small", { title: SET_UP });
    await page.toast("small answers.");
    await page.closeToast("small answers.");
    await runTask(page, "Anything");
    await page.toast("It is well.");
    await page.closeToast("It is well.");

    await page.clickStatus("fairlead.model");
    await listed(page, "small: Ollama · 32k · local", "small: 32k · local", "large: local");
    await listed(page, "The models could not be listed: ");
    await picture(page, "picker");
    await pressOn(page, "broken", "Try with a Small Request");
    await page.until("why it does not work", async () =>
      /broken is out of order/.test(await row(page, "broken").innerText()),
    );
    await pressOn(page, "large", "Make It the Default");
    await page.pick("large", { title: PICKER });
    await page.statusItem("fairlead.model", ({ text }) => text === "large");
    assert.equal(local.requests.at(-1).model, "broken");

    await page.runCommand("Agent: Choose Model...");
    await page.pick("The models could not be listed", { title: PICKER });
    await page.pick("Set Key...", { title: "work" });
    await page.fillInput("k", { title: "Agent: Set API Key" });
    await listed(page, "work-1: 200k · $3 / $15 · local");
    await page.pick("work-1", { title: PICKER });
    await page.statusItem("fairlead.model", ({ text }) => text === "work-1");
    await page.runCommand("Agent: Follow Up");
    await page.fillInput("And now?");
    await page.toast("It is well.");
    assert.equal(work.requests.at(-1).model, "work-1");
    await page.runCommand("Agent: New Session");
    await page.statusItem("fairlead.model", ({ text }) => text === "large");
  });
});
