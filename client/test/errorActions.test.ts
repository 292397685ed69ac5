// The buttons after a failure of the model.

import assert from "node:assert/strict";
import { test } from "node:test";
import { actionLabel, errorActions, remedy } from "../src/server/errorActions";
import { endpointOfKey, PRESETS } from "../src/server/modelRows";
import type { RunError } from "../src/wire/protocol";
import { runError } from "./errors";

const labels = (kind: string, more: Partial<RunError> = {}, usesKey = true): string[] =>
  errorActions(runError(kind, more), usesKey).map(actionLabel);

test("each kind of error has the buttons that may help", () => {
  assert.deepEqual(labels("unknown_model", { models: ["gpt-6.1-sol", "b"] }), [
    "Use gpt-6.1-sol",
    "Use b",
    "Choose Model",
  ]);
  assert.deepEqual(labels("auth"), ["Set API Key", "Choose Model"]);
  assert.deepEqual(labels("auth", { keyEndpoint: "openrouter" }), ["Use OpenRouter", "Set API Key", "Choose Model"]);
  assert.deepEqual(labels("auth", {}, false), []);
  assert.deepEqual(labels("invalid_request", {}, false), ["Cloud Settings", "Choose Model"]);
  assert.deepEqual(labels("wrong_server"), ["Change Server", "Choose Model"]);
  assert.deepEqual(labels("proxy"), ["Proxy Settings", "Change Server"]);
  for (const kind of ["region", "no_tools", "no_images", "no_thinking", "invalid_request"])
    assert.deepEqual(labels(kind), ["Choose Model"]);
  for (const kind of ["overloaded", "rate_limit"]) assert.deepEqual(labels(kind), ["Choose Model"]);
  assert.deepEqual(labels("replay_ended"), ["Set Up Model", "Try the Example"]);
  assert.deepEqual(labels("network"), ["Change Server"]);
  assert.deepEqual(labels("hosted_sign_in"), ["Sign In", "Choose Agent"]);
  assert.deepEqual(labels("hosted_agent"), ["Choose Agent", "Show Log"]);
  for (const kind of ["internal", "a kind of the future"]) assert.deepEqual(labels(kind), []);
  assert.deepEqual(errorActions(null, true), []);
});

test("only the page of a provider that Fairlead knows is opened", () => {
  const { accountUrl = "" } = PRESETS.openai ?? {};
  assert.deepEqual(labels("billing", { accountUrl }), ["Add Credit", "Set API Key", "Choose Model"]);
  assert.deepEqual(labels("billing", { accountUrl: "https://evil.example/pay" }), ["Set API Key", "Choose Model"]);
  assert.deepEqual(labels("billing"), ["Set API Key", "Choose Model"]);
  assert.deepEqual(labels("billing", {}, false), ["Choose Model"]);
  for (const preset of Object.values(PRESETS)) assert.match(preset.accountUrl ?? "https://", /^https:\/\//);
});

test("a row that continues a run first does what can be done without a choice", () => {
  assert.equal(remedy(runError("unknown_model", { models: ["m"] }), true)?.kind, "useModel");
  assert.equal(remedy(runError("auth"), true)?.kind, "setKey");
  assert.equal(remedy(runError("replay_ended"), true)?.kind, "setUpFirst");
  assert.equal(remedy(runError("hosted_sign_in"), true)?.kind, "signIn");
  assert.equal(remedy(runError("auth"), false), undefined);
  assert.equal(remedy(runError("unknown_model"), true), undefined);
});

test("the form of a key tells its provider, unless several use it", () => {
  const owners = ["sk-ant-api03-x", "sk-or-v1-x", "sk-proj-x", "AIzaSyx", "sk-0123456789abcdef", ""].map(endpointOfKey);
  assert.deepEqual(owners, ["anthropic", "openrouter", "openai", "gemini", undefined, undefined]);
});
