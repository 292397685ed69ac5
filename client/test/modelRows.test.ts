import assert from "node:assert/strict";
import { test } from "node:test";
import {
  accessRows,
  effortChoices,
  modelNameProblem,
  modelRows,
  pickerRows,
  type AccessRow,
  type PickerRow,
} from "../src/server/modelRows";
import { modelFacts, modelLabel, modelName } from "../src/ui/modelTexts";
import type { Endpoint, Model, ModelsResult } from "../src/wire/protocol";
import { golden } from "./goldens";

const unknown = { contextTokens: null, inputPrice: null, outputPrice: null, tools: null, efforts: [] };
const model = (name: string, known: Partial<Model> = {}): Model => ({ name, title: name, ...unknown, ...known });
const endpoint = (name: string, known: Partial<Endpoint> = {}): Endpoint => {
  return {
    name,
    title: name.toUpperCase(),
    local: false,
    needsKey: false,
    keyRefusal: "",
    problem: "",
    answers: true,
    models: [],
    ...known,
  };
};
const chosen = { endpoint: "a", model: "a-1", effort: "high" };
const shown = (rows: readonly (PickerRow | AccessRow)[]): string[] =>
  rows.map(({ kind, label }) => (kind === "heading" ? `# ${label}` : label));
const MORE = ["# More", "Another Endpoint...", "Other Model...", "Effort...", "Model Settings"];

test("a model's facts are its window, its price per million tokens, and whether it is local or has no tools", () => {
  const facts = (known: Partial<Model>, isLocal = false): string => modelFacts(model("m", known), isLocal);
  const priced = { contextTokens: 200_000, inputPrice: 3, outputPrice: 15 };
  assert.equal(facts(priced), "200k · $3 / $15");
  assert.equal(facts({ inputPrice: 0.0251, outputPrice: 1.25 }), "$0.0251 / $1.25");
  assert.equal(facts({ inputPrice: 0, outputPrice: 0, tools: true }), "free");
  assert.equal(facts({ contextTokens: 32_768, tools: false }, true), "32k · local · tools: no");
  assert.deepEqual(
    [512, 131_072, 400_000, 1_000_000, 1_048_576].map((contextTokens) => facts({ contextTokens })),
    ["512", "128k", "400k", "1M", "1.05M"],
  );
  assert.equal(facts({}), "");
});

test("a model's label has the effort if one is set", () => {
  assert.equal(modelLabel({ model: "a", effort: "" }), "a");
  assert.equal(modelLabel({ model: "a", effort: "low" }), "a · Low");
  assert.equal(modelLabel({ model: "a", effort: "new-level" }), "a · new-level");
  assert.equal(modelLabel({ model: "", effort: "low" }), "");
  assert.deepEqual(["/models/a b.gguf", "C:\\models\\a.gguf", "vendor/a", "/", "/a"].map(modelName), [
    "a b.gguf",
    "a.gguf",
    "vendor/a",
    "/",
    "/a",
  ]);
});

test("the models are grouped by endpoint, after those that were used, and before endpoints without a key", () => {
  const endpoints = [
    endpoint("a", { models: [model("a-1", { efforts: ["low", "high"] }), model("a-2")] }),
    endpoint("b", { needsKey: true, models: [model("b-1")] }),
    endpoint("c", { problem: "No connection.", models: [model("c-1")] }),
    endpoint("d"),
  ];
  const recent = [
    { endpoint: "c", model: "c-1", effort: "" },
    { endpoint: "a", model: "a-1", effort: "" },
  ];
  const rows = pickerRows({ endpoints, chosen, recent });
  assert.deepEqual(shown(rows), [
    ...["# Recently used", "a-1", "c-1", "# A", "a-1", "a-2", "# C", "The models could not be listed", "c-1"],
    ...["# Add an API key", "B", ...MORE],
  ]);
  const [, current, , , inGroup, other] = rows;
  assert.ok(current?.kind === "model" && inGroup?.kind === "model" && other?.kind === "model");
  assert.deepEqual([current.isChosen, inGroup.isChosen, other.isChosen], [true, true, false]);
  assert.deepEqual([current.effort, other.effort, current.efforts], ["high", "", ["low", "high"]]);
  assert.equal(current.description, "A");
  const problem = rows.find(({ kind }) => kind === "problem");
  assert.ok(problem?.kind === "problem");
  assert.deepEqual([problem.endpoint, problem.detail], ["c", "No connection."]);
});

test("before the server has answered, the picker has the models that are known", () => {
  const rows = pickerRows({ endpoints: [], chosen: { endpoint: "openai", model: "o", effort: "" }, recent: [] });
  assert.deepEqual(shown(rows), ["# Recently used", "o", ...MORE]);
  const [, first] = rows;
  assert.equal(first?.kind === "model" && first.description, "OpenAI");
  const nothing = { endpoint: "", model: "", effort: "" };
  assert.deepEqual(shown(pickerRows({ endpoints: [], chosen: nothing, recent: [] })), MORE);
});

test("the golden answer of the server becomes rows", () => {
  const { result } = golden<ModelsResult>("models.result");
  assert.ok(result);
  const rows = pickerRows(result);
  assert.deepEqual(shown(rows), [
    ...["# Recently used", "模型-1", "m", "# 公司", "模型-1", "# Add an API key", "OpenAI", ...MORE],
  ]);
  const [, first] = rows;
  assert.equal(first?.kind === "model" && first.description, "公司 · 32k · $0.5 / $2 · local");
});

test("the efforts to choose from are those of the model, else all levels, and the current one", () => {
  assert.deepEqual(effortChoices(["low", "high"], "high"), ["", "low", "high"]);
  assert.deepEqual(effortChoices([], "minimal"), ["", "low", "medium", "high", "xhigh", "max", "minimal"]);
});

test("the set-up offers the endpoints that Fairlead knows, and first what answers without a set-up", () => {
  const clouds = ["# With a sign-in to a cloud", "Amazon Bedrock", "Google Vertex AI"];
  const keys = ["Anthropic", "OpenAI", "OpenRouter", "Google Gemini", "Mistral", "DeepSeek", "Groq", "Azure OpenAI"];
  const rest = ["# With an API key", ...keys, "# With a server", "Local Server...", "Another Address...", ...clouds];
  assert.deepEqual(shown(accessRows([])), rest);
  const found = accessRows([
    endpoint("anthropic", { models: [model("claude")] }),
    endpoint("ollama", { title: "Ollama", local: true, models: [model("qwen"), model("llama")] }),
    endpoint("llamacpp", { local: true, problem: "No connection.", models: [model("x")] }),
    endpoint("work", { title: "Work", models: [model("only")] }),
    endpoint("other-work", { needsKey: true, models: [model("y")] }),
  ]);
  assert.deepEqual(shown(found), ["# Ready to use", "Ollama", "Work", ...rest]);
  const [, ollama, work] = found as readonly { description?: string }[];
  assert.deepEqual([ollama?.description, work?.description], ["2 models", "only"]);
});

test("a text that looks like an API key is no name of a model", () => {
  const keys = ["sk-local", " sk-ant-api03-x ", "AIzaSyx", "gsk_x", "xai-1", "0123456789abcdef0123456789abcdef"];
  for (const key of keys) assert.match(modelNameProblem(key) ?? "", /^This looks like an API key/, key);
  const names = ["gpt-6.1-sol", "us.anthropic.claude-x-v1:0", "vendor/a", "ft:gpt-6:org::x", "small", "skylark-2", ""];
  const long = "claude-sonnet-5-5-20260901-with-thinking";
  for (const name of [...names, long]) assert.equal(modelNameProblem(name), undefined, name);
});

test("a model of a list is chosen only at its endpoint", () => {
  const rows = modelRows(endpoint("b", { local: true, models: [model("a-1")] }), chosen);
  assert.deepEqual(
    rows.map(({ isChosen, effort, description }) => [isChosen, effort, description]),
    [[false, "", "local"]],
  );
});
