// The journeys of a user through Fairlead that `npm run looks` plays, from the first minute to several sessions. For
// each one, `options` returns the options of its window, and `play` acts as the user and takes a picture of each stage.

import fs from "node:fs";
import path from "node:path";
import { root } from "../process.mjs";
import {
  bash,
  edit,
  listingServer,
  modelServer,
  plan,
  recording,
  remove,
  rename,
  write,
} from "../../tests/editor/agent.mjs";

const HELLO = "def greet(name):\n    return 'Hello ' + name\n\n\nprint(greet('you'))\n";
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

const TASK = "Add type hints and a goodbye";
const QUESTION =
  "Two reports read the column `legacy`, which nothing has written to since March. Should I drop it now, archive it first, " +
  "or keep it and mark it as deprecated?";
const PROPOSED = "The changes are proposed.";
const NUMBERS = "one\ntwo\nthree\nfour\nfive\nsix\n";
const MANY = Array.from({ length: 25 }, (_, n) => `shop/part_${String(n + 1).padStart(2, "0")}.py`);
const PART = "PRICE = 1\n\n\ndef total(count):\n    return count * PRICE\n";

export const JOURNEYS = {
  "extension-page": {
    options: () => ({ workspace: null, extensions: [path.join(root, ".build/vsix")] }),
    play: readExtensionPage,
  },
  "first-minute": { options: () => ({ workspace: null }), play: beginWithoutModel },
  untrusted: { options: () => ({ workspace: { "a.txt": "a\n" }, trust: "restricted" }), play: runUntrusted },
  task: { options: taskOptions, play: runTask },
  review: { options: reviewOptions, play: reviewManyFiles },
  kinds: { options: kindsOptions, play: reviewKinds },
  trouble: { options: troubleOptions, play: runIntoErrors },
  inline: { options: inlineOptions, play: reviewInFile },
  budget: { options: pauseOptions, play: pauseAtBudget },
  sessions: { options: sessionsOptions, play: useSessions },
  models: { options: modelsOptions, play: chooseModels },
  "tool-server": { options: toolServerOptions, play: reviewToolServer },
};

async function readExtensionPage({ page, take }) {
  await page.runCommand("Extensions: Show Installed Extensions");
  await page.page.locator(".extension-list-item", { hasText: "Fairlead" }).first().click();
  await page.webview().locator("h1").first().waitFor();
  await take("1-readme");
}

async function beginWithoutModel({ page, take, command, text }) {
  await page.press("F1");
  await page.insertText("Agent");
  await page.page
    .locator(".quick-input-list .label-name", { hasText: /^Fairlead Agent: / })
    .first()
    .waitFor();
  await take("1-palette");
  await page.press("Escape");
  await command("Run Task");
  await page.toast(text("No folder is open. Open the folder that the agent should work in."));
  await take("2-no-folder");
  await command("Welcome to Fairlead");
  await page.page.locator(".step-title").first().waitFor();
  await take("3-walkthrough");
  await command("Set Up Model...");
  await page.quickInput();
  await take("4-model");
}

async function runUntrusted({ page, take, command, text }) {
  await command("Run Task");
  await page.toast(text("The agent runs only in a workspace that you trust."));
  await take("1-refused");
}

function taskOptions() {
  const steps = (done) => plan(...STEPS.map(([content, doing], n) => [content, stateOfStep(n, done), doing]));
  const replay = recording(
    {
      thinking: "The file is short.",
      text: "I plan first.",
      calls: [
        steps(0),
        edit("hello.py", "greet(name):", "greet(name: str) -> str:"),
        edit("hello.py", "'Hello ' + name", 'f"Hello {name}"'),
      ],
      usage: { input: 52_000, output: 900 },
    },
    {
      text: "Now the goodbye.",
      calls: [
        steps(1),
        write("farewell.py", 'def bye(name: str) -> str:\n    return f"Bye {name}"\n'),
        remove("old.py"),
      ],
    },
    { text: "The tests.", calls: [steps(2), bash("echo '1 failed, 3 passed'; exit 1")] },
    { calls: [{ ask_user: { question: QUESTION, options: ["Drop it", "Archive it first", "Keep it"] } }] },
    { calls: [steps(3)] },
    { text: ANSWER },
  );
  // the pace of a quick model
  fs.writeFileSync(replay, JSON.stringify({ pace: 0.05, ...JSON.parse(fs.readFileSync(replay, "utf8")) }));
  return {
    workspace: { "hello.py": HELLO, "old.py": "x = 1\n", "README.md": "# Example\n" },
    settings: { "fairlead.replay": replay, "fairlead.approvals": "ask" },
  };
}

const stateOfStep = (n, done) => (n < done ? "completed" : n === done ? "in_progress" : "pending");

async function runTask({ page, take, command, conversation, text, plan: view }) {
  const box = conversation("textarea");
  await command("Show Conversation");
  await conversation("textarea:focus").waitFor(); // VS Code moves the focus there when the view has loaded
  await take("01-empty");
  await page.insertText("/");
  await conversation(".completions li").waitFor();
  await take("02-commands");
  await box.fill("");
  await page.insertText("Look at #hel");
  await conversation(".completions li").waitFor();
  await take("03-mentions");
  await page.press("Escape");
  await box.fill("");
  await command("Run Task");
  await page.quickInput();
  await page.insertText(TASK);
  await take("04-task");
  await page.press("Enter");
  await conversation(".card button", text("Allow Once")).waitFor();
  await page.rows(view, (rows) => rows.length > STEPS.length);
  await take("05-approval");
  await page.clickRow(view, ({ label }) => label === STEPS[2][0] || label === STEPS[2][1]);
  await page.press("F2");
  await page.quickInput();
  await take("06-reword");
  await page.press("Escape");
  await page.clickStatus("fairlead.status");
  await page.dialog();
  await take("07-approval-dialog");
  await page.press("Escape");
  await conversation(".card button", text("Allow Once")).click();
  await conversation(".card button", "Archive it first").waitFor();
  await take("08-question");
  await page.clickStatus("fairlead.status");
  await page.quickInput();
  await take("09-question-box");
  await page.pick("Archive it first");
  await conversation(".answer", "The old module is gone.").waitFor();
  await conversation(".card button", text("Review Changes")).waitFor();
  await take("10-end");
}

function reviewOptions() {
  const replay = recording(
    {
      calls: [
        plan(["Count from the price", "in_progress", "Changing the parts"]),
        ...MANY.map((file) => edit(file, "count * PRICE", "round(count * PRICE, 2)")),
      ],
    },
    { calls: [plan(["Count from the price", "completed"])] },
    { text: PROPOSED },
  );
  return {
    workspace: { "notes.md": "# Notes\n", ...Object.fromEntries(MANY.map((file) => [file, PART])) },
    settings: { "fairlead.replay": replay },
  };
}

async function reviewManyFiles({ page, workspace, take, command, text, changes }) {
  const isAccepted = (file) => fs.readFileSync(path.join(workspace, file), "utf8").includes("round");
  const tabOf = (file) => page.tab(text("{0} (proposed)", path.basename(file)));
  await page.openFile("notes.md");
  await startTask({ page, command }, "Round the totals of all parts");
  await page.toast(PROPOSED);
  await page.rows(changes, (rows) => rows.length > 4);
  await take("1-many");
  await page.clickRow(changes, path.basename(MANY[0]));
  await page.editorFocus();
  await page.lenses((titles) => titles.includes(text("Accept")));
  await take("2-diff");
  await page.press("Alt+y");
  await tabOf(MANY[1]);
  await page.editorFocus();
  await page.press("Shift+Alt+y");
  await tabOf(MANY[2]);
  await page.editorFocus();
  await page.lenses((titles) => titles.includes(text("Accept")));
  await take("3-next");
  await command("Accept All");
  await page.until("all files accepted", () => MANY.every(isAccepted));
  await page.until("no row", async () => (await page.rows(changes, () => true)).length === 0);
  await take("4-accepted");
  await command("Undo Review");
  await page.rows(changes, (rows) => rows.length > 4);
  await take("5-undone");
  await command("Review All Changes");
  await page.diffFiles(3);
  await page.lenses((titles) => titles.includes(text("Accept")));
  await take("6-all");
  await page.press("Alt+y");
  await page.until("the next file accepted", () => isAccepted(MANY[2]));
  await page.until("a diff without that file", async () => !(await page.diffFiles()).includes(path.basename(MANY[2])));
  await page.lenses((titles) => titles.includes(text("Accept")));
  await take("7-all-next");
  await page.reload();
  await page.rows(changes, (rows) => rows.length > 4);
  // VS Code may have saved an older list of tabs, with the diff as it was or without it
  await page.until("no diff that includes an accepted file", async () => {
    const diffs = (await page.tabs()).filter(({ label }) => label !== "notes.md");
    return diffs.length === 0 || (diffs.length === 1 && !(await page.diffFiles()).includes(path.basename(MANY[2])));
  });
  await take("8-reloaded");
}

/** A change of each kind, conflicts, and how a change appears in the editor of the file itself. */
const SHOP = `import json
import os

PRICES = {"tea": 2.5, "coffee": 3.0}


def load(path):
    f = open(path)
    orders = json.load(f)
    return orders


def total(order):
    sum = 0
    for name, count in order.items():
        sum = sum + PRICES[name] * count
    return sum


def report(orders):
    for order in orders:
        print(total(order))


if __name__ == "__main__":
    report(load("orders.json"))
`;

function inlineOptions() {
  const replay = recording(
    {
      calls: [
        plan(["Read orders safely", "in_progress"]),
        edit("shop.py", "import json\nimport os\n", "import json\nimport sys\n"),
        edit(
          "shop.py",
          "def load(path):\n    f = open(path)\n    orders = json.load(f)\n    return orders\n",
          'def load(path: str) -> list[dict[str, int]]:\n    """Reads the orders of a day."""\n    with open(path, encoding="utf-8") as file:\n        return json.load(file)\n',
        ),
        edit(
          "shop.py",
          "    sum = 0\n    for name, count in order.items():\n        sum = sum + PRICES[name] * count\n    return sum\n",
          "    return sum(PRICES[name] * count for name, count in order.items())\n",
        ),
        edit("shop.py", "        print(total(order))\n", '        print(f"{total(order):.2f}")\n'),
        edit(
          "shop.py",
          'report(load("orders.json"))\n',
          'report(load(sys.argv[1] if len(sys.argv) > 1 else "orders.json"))\n',
        ),
      ],
    },
    { text: PROPOSED },
  );
  return { workspace: { "shop.py": SHOP }, settings: { "fairlead.replay": replay } };
}

async function reviewInFile({ page, take, command, changes }) {
  const threads = (count) =>
    page.until(`${count} changes`, async () => (await page.page.locator(".review-widget").count()) === count);
  await page.openFile("shop.py");
  await startTask({ page, command }, "Make the shop's script robust");
  await page.toast(PROPOSED);
  await page.rows(changes, (rows) => rows.length > 4);
  await threads(5);
  await take("1-inline");
  await page.editorFocus();
  await page.press("Alt+j");
  await page.press("Alt+j");
  await take("2-next");
  await page.press("Alt+y");
  await threads(4);
  await take("3-accepted");
}

function kindsOptions() {
  const replay = recording(
    {
      calls: [
        rename("price.py", "shop/money.py"),
        edit("shop/money.py", "x = 1", "x = 2"),
        edit("numbers.txt", "two", "TWO"),
        edit("numbers.txt", "five", "FIVE"),
        remove("old.py"),
        edit("gone.txt", "two", "TWO"),
        edit(".github/workflows/test.yml", "on: push", "on: [push, pull_request]"),
        write("farewell.py", "print('bye')\n"),
      ],
    },
    { text: PROPOSED },
  );
  return {
    workspace: {
      "price.py": "x = 1\ny = 2\n",
      "numbers.txt": NUMBERS,
      "old.py": "x = 1\n",
      "gone.txt": NUMBERS,
      ".github/workflows/test.yml": "on: push\njobs: {}\n",
    },
    settings: { "fairlead.replay": replay },
  };
}

async function reviewKinds({ page, workspace, take, command, text, changes }) {
  const conflicts = (count) => (rows) =>
    rows.filter(({ icon, level }) => icon === "warning" && level === 1).length === count;
  await startTask({ page, command }, "Change files of each kind");
  await page.toast(PROPOSED);
  await page.rows(changes, (rows) => rows.length > 4);
  await take("1-kinds");
  await page.clickRow(changes, "price.py");
  await page.diffLines("modified", { wanted: (lines) => lines.includes("x = 2") });
  await take("2-renamed");
  await page.openFile("numbers.txt");
  await page.page.locator(".review-widget", { hasText: "FIVE" }).waitFor();
  await take("3-in-file");
  await page.clickLine("five");
  await page.insertText("-mine");
  await page.rows(changes, conflicts(1));
  await page.clickRow(changes, text("Line {0}", 5));
  await page.lenses((titles) => titles.includes(text("Keep Mine")));
  await take("4-conflict");
  fs.rmSync(path.join(workspace, "gone.txt"));
  await page.rows(changes, conflicts(2));
  await page.clickRow(changes, "gone.txt");
  await page.lenses((titles) => titles.includes(text("Keep Deleted")));
  await take("5-deleted");
  await command("Review All Changes");
  await page.diffFiles(3);
  await page.lenses((titles) => titles.includes(text("Accept")));
  await take("6-all");
  await command("Accept All");
  await page.rows(text("Plan"), ([first]) => first?.icon === "question");
  await page.until("only undecided files", async () => !(await page.diffFiles()).includes("farewell.py"));
  await take("8-accept-all");
}

const BUSY = {
  status: 529,
  headers: { "retry-after": "50" },
  error: { type: "overloaded_error", message: "Overloaded" },
};
const REFUSED = { status: 401, error: { type: "authentication_error", message: "invalid x-api-key" } };
/** The error with which the model server of `troubleOptions` answers. */
let refusal;

async function troubleOptions() {
  refusal = BUSY;
  const url = await modelServer({ text: "The price is rounded.", refusal: () => refusal });
  return { workspace: { "a.txt": "a\n" }, settings: { "fairlead.baseUrl": url } };
}

async function runIntoErrors({ page, take, command, conversation, text }) {
  await startTask({ page, command }, "Round the price");
  await page.statusItem("fairlead.status", (item) => /\d\d s|\d\d 秒/.test(item.text));
  await command("Show Conversation");
  await conversation(".entry.prompt").waitFor();
  await take("1-retry");
  refusal = REFUSED;
  await command("Stop");
  await page.statusItem("fairlead.status", ({ icons }) => icons.includes("codicon-checklist"));
  await startTask({ page, command }, "Round the price");
  await page.rows(text("Plan"), (rows) => rows.some(({ label }) => label === text("Set API Key")));
  await take("2-key-refused");
}

function pauseOptions() {
  const replay = recording(
    { calls: [plan(["Count", "in_progress", "Counting"], ["Add"])], usage: { input: 34_000, output: 100 } },
    { text: "Counted." },
  );
  return { workspace: { "a.txt": "a\n" }, settings: { "fairlead.replay": replay, "fairlead.budget.tokens": 30_000 } };
}

async function pauseAtBudget({ page, take, command, conversation, text, plan: view }) {
  await startTask({ page, command }, "Count the parts");
  await page.rows(view, ([first]) => first?.label === text("Continue"));
  await command("Show Conversation");
  await conversation(".card button").waitFor();
  await take("1-paused");
}

function sessionsOptions() {
  const question = { question: "Should I keep the old names too?", options: ["Yes", "No"] };
  return {
    workspace: { "hello.py": HELLO, "a.txt": "one\n" },
    settings: {
      "fairlead.replay": recording(
        { calls: [plan(["Greet", "in_progress", "Greeting"], ["Say goodbye"]), edit("a.txt", "one", "ONE")] },
        { calls: [{ ask_user: question }] },
        { text: "Both are done." },
      ),
    },
  };
}

/** Two sessions that wait at the same time, and how the user finds and continues them. */
async function useSessions({ page, take, command, conversation, text, plan: view, changes }) {
  const sessionRows = (count) => page.rows(text("Sessions"), (rows) => rows.length === count);
  await page.openFile("hello.py");
  await page.clickLine("def greet");
  await page.press("Shift+ArrowDown");
  await command("Show Conversation");
  await conversation(".chip").waitFor();
  await take("1-context");
  await startTask({ page, command }, "Rename the greeting");
  await conversation(".card button", "Yes").waitFor();
  await startTask({ page, command }, "Rename the goodbye");
  await page.rows(changes, (rows) => rows.length > 3);
  await page.runCommand(`Fairlead: Focus on ${text("Sessions")} View`);
  await sessionRows(2);
  await take("2-sessions");
  await page.clickStatus("fairlead.status");
  await page.quickInput();
  await take("3-waiting");
  await page.press("Escape");
  await conversation(".card button", "Yes").click();
  await conversation(".answer", "Both are done.").waitFor();
  await command("Follow Up");
  await page.quickInput();
  await take("4-follow-up");
  await page.press("Escape");
  await command("Rewind...");
  await page.quickInput();
  await take("5-rewind");
  await page.press("Escape");
  await command("Copy Record");
  await page.rows(view, (rows) => rows.length > 0);
  await take("6-record");
}

/** Types a task into the box of Run Task, and runs it. */
async function startTask({ page, command }, task) {
  await command("Run Task");
  await page.quickInput();
  await page.insertText(task);
  await page.press("Enter");
}

async function modelsOptions() {
  const cloud = [
    { id: "claude-sonnet-5-5", context_length: 200_000 },
    { id: "gpt-6.1-sol", context_length: 400_000, supported_parameters: ["tools", "reasoning_effort"] },
    { id: "an-organization/a-model-with-a-very-long-name-2026-11-29:free", context_length: 131_072 },
    { id: "old-model", context_length: 8192, supported_parameters: ["temperature"] },
  ];
  const gateway = await listingServer({ models: cloud });
  const local = await listingServer({ models: [{ id: "qwen-coder-30b", max_model_len: 32_768 }, { id: "broken" }] });
  const refusing = await listingServer({ models: [], key: "k" });
  const prices = {
    "claude-sonnet-5-5": { inputPrice: 3, outputPrice: 15 },
    "old-model": { inputPrice: 0, outputPrice: 0 },
  };
  return {
    workspace: { "a.txt": "a\n" },
    settings: {
      "fairlead.endpoint": "gateway",
      "fairlead.model": "claude-sonnet-5-5",
      "fairlead.endpoints": {
        gateway: { title: "Our gateway", api: "chat", baseUrl: gateway.url, models: prices },
        llamacpp: { baseUrl: local.url },
        lab: { title: "The lab", api: "chat", baseUrl: refusing.url },
      },
    },
  };
}

async function chooseModels({ page, take, command, conversation, text }) {
  const row = (name) => page.page.locator(".quick-input-list .monaco-list-row", { hasText: name }).first();
  await command("Set Up Model...");
  await row("llama.cpp")
    .filter({ hasText: text("{0} models", 2) })
    .waitFor();
  await take("1-set-up");
  await page.pick("OpenAI");
  await page.quickInput(text("Agent: Set API Key"));
  await take("2-key");
  await page.fillInput("sk-or-v1-of-another-provider");
  await row(text("Use It Anyway")).waitFor();
  await take("2-key-of-another");
  await page.press("Escape");
  await startTask({ page, command }, "Round the price");
  await page.toast("It is well.");
  await command("Show Conversation");
  await conversation(".answer", "It is well.").waitFor();
  await conversation("button[data-action=chooseModel]", "claude-sonnet-5-5").click();
  await row(text("The models could not be listed")).waitFor();
  await take("3-picker");
  for (const name of ["qwen-coder-30b", "broken"])
    // again if the row is redrawn under the pointer
    await page.until(`trying ${name}`, async () => {
      const button = row(name).locator(`.action-label[aria-label="${text("Try with a Small Request")}"]`);
      await row(name).hover({ timeout: 1000 });
      await button.click({ timeout: 1000 });
      return true;
    });
  await row("broken is out of order").waitFor();
  await take("4-tried");
  await page.insertText("gpt");
  await take("5-typed");
  await page.press("Enter");
  await page.page
    .locator(".quick-input-list .label-name", { hasText: text("High") })
    .first()
    .waitFor();
  await take("6-effort");
  await page.pick(text("High"));
  await page.statusItem("fairlead.model", (item) => item.text.startsWith("gpt-6.1-sol"));
  await take("7-chosen");
  await conversation("button[data-action=chooseModel]", "gpt-6.1-sol").click();
  await page.pick(text("Other Model..."));
  await page.fillInput("claude-sonnet-5");
  await page.statusItem("fairlead.model", (item) => item.text.startsWith("claude-sonnet-5"));
  await conversation("textarea").fill("And the tax?");
  await page.press("Enter");
  const use = text("Use {0}", "claude-sonnet-5-5");
  await conversation(".card button", use).waitFor();
  await page.rows("Plan", (rows) => rows.some(({ label }) => label === use));
  await take("8-unknown");
}

const PRICES = "TEA = 2.5\nCOFFEE = 3.0\n\n\ndef total(count):\n    return count * TEA\n\n\nTAX = 0\n";
const PRICES_TEST = `import unittest
from prices import total


class Prices(unittest.TestCase):
    def test_total(self):
        self.assertEqual(total(3.333), 8.33)
`;
const PRICES_CHECK = "python3 -m unittest test_prices.py";

/** A server from npm that its user knows: it edits two files, as it would on the disk. */
function toolServerOptions() {
  const change = (file, ...edits) => ({
    files__edit_file: { path: file, edits: edits.map(([oldText, newText]) => ({ oldText, newText })) },
  });
  const step = (status) => plan(["Round the prices", status, "Rounding the prices", PRICES_CHECK]);
  const replay = recording(
    {
      text: "The server `files` can edit both files.",
      calls: [
        step("in_progress"),
        change("prices.py", ["return count * TEA", "return round(count * TEA, 2)"], ["TAX = 0", "TAX = 0.07"]),
        change("README.md", ["Prices", "Prices, rounded to cents"]),
      ],
    },
    { calls: [step("completed")] },
    { text: PROPOSED },
  );
  const files = { command: "npx", args: ["-y", "@modelcontextprotocol/server-filesystem", "${workspaceFolder}"] };
  return {
    workspace: { "prices.py": PRICES, "README.md": "# Prices\n", "test_prices.py": PRICES_TEST },
    settings: { "fairlead.replay": replay, "fairlead.mcpServers": { files } },
  };
}

async function reviewToolServer({ page, workspace, take, command, conversation, text, plan: view, changes }) {
  const onDisk = (file) => fs.readFileSync(path.join(workspace, file), "utf8");
  await startTask({ page, command }, "Round the prices with the tool server");
  await command("Show Conversation");
  await conversation(".card button", text("Allow")).waitFor();
  await take("1-install");
  await conversation(".card button", text("Allow")).click();
  await conversation(".answer", PROPOSED).waitFor();
  await page.rows(changes, (rows) => rows.length > 3);
  await command("Show Tool Servers");
  if (onDisk("prices.py") !== PRICES || onDisk("README.md") !== "# Prices\n") throw new Error("the disk changed");
  await conversation(".entry summary, .entry .title", "files: Edit File").click();
  await page.openFile("prices.py");
  await page.page.locator(".review-widget", { hasText: "TAX = 0.07" }).waitFor();
  await take("2-proposed");
  await page.editorFocus();
  await page.press("Alt+j");
  await page.press("Alt+y");
  await page.until(
    "one change accepted",
    () => onDisk("prices.py") === PRICES.replace("count * TEA", "round(count * TEA, 2)"),
  );
  await take("3-accepted");
  await page.rows(view, (rows) => rows.some(({ description }) => description.includes(text("proved"))));
  await take("4-proved");
}
