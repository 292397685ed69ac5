import assert from "node:assert/strict";
import { test } from "node:test";
import { hasAccess, urlProblem } from "../src/server/access";

const none = { provider: "anthropic", baseUrl: "", replay: "" };

test("a key, another server, a cloud, a recording and environment variables each give access to a model", () => {
  assert.equal(hasAccess(none, {}, undefined), false);
  assert.equal(hasAccess({ ...none, baseUrl: " " }, { ANTHROPIC_API_KEY: "" }, " "), false);
  assert.equal(hasAccess(none, {}, "sk-1"), true);
  assert.equal(hasAccess({ ...none, baseUrl: "http://localhost:11434" }, {}, undefined), true);
  assert.equal(hasAccess({ ...none, replay: "/a.replay.yaml" }, {}, undefined), true);
  assert.equal(hasAccess({ ...none, provider: "bedrock" }, {}, undefined), true);
  for (const name of ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL"])
    assert.equal(hasAccess(none, { [name]: "x" }, undefined), true);
});

test("a base URL must be an HTTP or HTTPS URL", () => {
  assert.equal(urlProblem(" https://example.com/v1 "), undefined);
  for (const wrong of ["", "localhost:11434", "ftp://x", "http://"])
    assert.match(urlProblem(wrong) ?? "", /such as http/);
});
