import assert from "node:assert/strict";
import { test } from "node:test";
import { pageHtml } from "../src/conversation/page";

const sources = { script: "s.js", style: "s.css", cspSource: "https://here", nonce: "n" };

test("the page holds the texts of the display language as data, which ends neither its attribute nor its tag", () => {
  const texts = { 'Say "no" & <b>leave</b>': "“不”" };
  const html = pageHtml({ ...sources, language: "zh-cn", texts });
  const [, language, data = ""] = /<html lang="([^"]*)" data-texts="([^"]*)">/.exec(html) ?? [];
  assert.equal(language, "zh-cn");
  assert.doesNotMatch(data, /[<"]/);
  const read = data.replaceAll("&quot;", '"').replaceAll("&lt;", "<").replaceAll("&amp;", "&");
  assert.deepEqual(JSON.parse(read), texts);
});

test("docs/faults.md 41: the page's policy allows pictures that are part of it, and none with an address", () => {
  const [, policy = ""] = /Content-Security-Policy" content="([^"]*)"/.exec(pageHtml(sources)) ?? [];
  const rules = policy.split("; ").sort();
  assert.deepEqual(rules, ["default-src 'none'", "img-src data:", "script-src 'nonce-n'", "style-src https://here"]);
});

test("without other texts the page is English", () => {
  assert.match(pageHtml(sources), /<html lang="en" data-texts="{}">/);
});
