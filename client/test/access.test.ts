import assert from "node:assert/strict";
import { test } from "node:test";
import { extraFor, hasAccess, settingsFor, typedUrl, urlProblem } from "../src/server/access";

const none = { endpoint: "", baseUrl: "", replay: "" };

test("a key, another server, a cloud, a recording and environment variables each give access to a model", () => {
  assert.equal(hasAccess(none, {}, undefined), false);
  assert.equal(hasAccess({ ...none, baseUrl: " " }, { ANTHROPIC_API_KEY: "" }, " "), false);
  assert.equal(hasAccess(none, {}, "sk-1"), true);
  assert.equal(hasAccess({ ...none, baseUrl: "http://localhost:11434" }, {}, undefined), true);
  assert.equal(hasAccess({ ...none, replay: "/a.replay.yaml" }, {}, undefined), true);
  assert.equal(hasAccess({ ...none, endpoint: "bedrock" }, {}, undefined), true);
  for (const name of ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL", "OPENAI_API_KEY"])
    assert.equal(hasAccess(none, { [name]: "x" }, undefined), true);
});

test("choosing other access resets the earlier settings, except the model and gateway of the same endpoint", () => {
  const local = { endpoint: "", baseUrl: "http://localhost:11434", model: "small" };
  const gateway = { endpoint: "bedrock", baseUrl: "https://gateway.example", model: "b" };
  const reset = { endpoint: undefined, baseUrl: undefined, model: undefined };
  assert.deepEqual(settingsFor({ endpoint: "anthropic" }, local), reset);
  assert.deepEqual(settingsFor({ endpoint: "anthropic" }, gateway), reset);
  assert.deepEqual(settingsFor({ endpoint: "openai" }, gateway), { ...reset, endpoint: "openai" });
  const opus = { endpoint: "", baseUrl: "", model: "claude-opus" };
  assert.deepEqual(settingsFor({ endpoint: "anthropic" }, opus), { ...reset, model: "claude-opus" });
  const server = { baseUrl: "http://localhost:1" };
  assert.deepEqual(settingsFor(server, gateway), { ...reset, ...server });
  assert.deepEqual(settingsFor({ ...server, model: "m" }, local), { ...reset, ...server, model: "m" });
  const azure = { endpoint: "azure", baseUrl: "https://a.example", model: "deployment" };
  assert.deepEqual(settingsFor(azure, opus), azure);
  const bedrock = { endpoint: "bedrock", model: "m" };
  assert.deepEqual(settingsFor(bedrock, local), { ...bedrock, baseUrl: undefined });
  assert.deepEqual(settingsFor(bedrock, gateway), { ...bedrock, baseUrl: "https://gateway.example" });
});

test("a base URL must be an HTTP or HTTPS URL", () => {
  assert.equal(urlProblem(" https://example.com/v1 "), undefined);
  assert.deepEqual(["localhost:11434/v1", "10.0.0.2:80", "https://a.example:8443"].map(typedUrl), [
    "http://localhost:11434/v1",
    "http://10.0.0.2:80",
    "https://a.example:8443",
  ]);
  assert.equal(urlProblem("localhost:11434"), undefined);
  for (const wrong of ["", "localhost", "gpt 4", "ftp://x", "http://"])
    assert.match(urlProblem(wrong) ?? "", /such as http/);
});

test("an endpoint with an API of OpenAI or in a cloud needs more packages", () => {
  const extra = (endpoint: string, baseUrl = "", environment = {}): string | undefined =>
    extraFor({ endpoint, baseUrl }, environment);
  assert.deepEqual([extra(""), extra("anthropic"), extra("anthropic", "http://localhost:1")], Array(3).fill(undefined));
  assert.deepEqual(
    [extra("vertex"), extra("mistral"), extra("", "http://localhost:1")],
    ["vertex", "openai", "openai"],
  );
  const both = { OPENAI_API_KEY: "o", ANTHROPIC_API_KEY: "a" };
  assert.deepEqual([extra("", "", { OPENAI_API_KEY: "o" }), extra("", "", both)], ["openai", undefined]);
});
