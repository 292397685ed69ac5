import assert from "node:assert/strict";
import { test } from "node:test";
import { pageHtml } from "../src/features/conversation/page";

const sources = { script: "s.js", codeScript: "c.js", style: "s.css", cspSource: "https://here", nonce: "n" };

test("the texts of the display language are in an attribute of the page, escaped so that they cannot end it", () => {
  const texts = { 'Say "no" & <b>leave</b>': "“不”" };
  const html = pageHtml({ ...sources, language: "zh-cn", texts });
  const [, language, data = ""] = /<html lang="([^"]*)" data-texts="([^"]*)">/.exec(html) ?? [];
  assert.equal(language, "zh-cn");
  assert.doesNotMatch(data, /[<"]/);
  const read = data.replaceAll("&quot;", '"').replaceAll("&lt;", "<").replaceAll("&amp;", "&");
  assert.deepEqual(JSON.parse(read), texts);
});

test("docs/faults.md 41: the page's policy allows embedded pictures, and none that are loaded from a URL", () => {
  const [, policy = ""] = /Content-Security-Policy" content="([^"]*)"/.exec(pageHtml(sources)) ?? [];
  const rules = policy.split("; ").sort();
  assert.deepEqual(rules, ["default-src 'none'", "img-src data:", "script-src 'nonce-n'", "style-src https://here"]);
});

test("without other texts the page is English", () => {
  assert.match(pageHtml(sources), /<html lang="en" data-texts="{}">/);
});
