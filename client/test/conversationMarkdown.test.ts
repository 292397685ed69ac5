import assert from "node:assert/strict";
import { test } from "node:test";
import { page } from "./page";
import { markdownBlocks } from "../src/features/conversation/webview/markdown";

/** The elements that the page shows for an answer. */
function drawn(text: string): HTMLElement {
  const element = page.createElement("div");
  element.append(...markdownBlocks(text).map((block) => block.element));
  return element;
}

const NAMES = new Set(
  "A BLOCKQUOTE BR BUTTON CODE DEL DIV EM H1 H2 H3 H4 H5 H6 HR LI OL P PRE SPAN STRONG TABLE TBODY TD TH THEAD TR UL".split(
    " ",
  ),
);
const ATTRIBUTES = new Set(
  "href title align start dir class tabindex role type aria-label data-path data-line data-action".split(" "),
);

const HOSTILE = [
  "<script>alert(1)</script>",
  "<img src=x onerror=alert(1)>",
  "![x](https://example.com/x.png)",
  "![x][ref]\n\n[ref]: https://example.com/x.png",
  "&lt;img src=x onerror=alert(1)&gt;",
  "<svg onload=alert(1)><style>*{display:none}</style></svg>",
  "<iframe srcdoc='<script>1</script>'></iframe><base href='https://example.com'>",
  "<form action='https://example.com'><input name=answer autofocus><button>Allow Once</button></form>",
  "<a href='command:workbench.action.quit' style='position:fixed;inset:0'>x</a>",
  "<div data-action='press' data-card='#1' data-button='0'>x</div>",
  "[x](command:workbench.action.quit)",
  "[x](COMMAND:workbench.action.quit)",
  "[x](javascript:alert(1))",
  "[x](java\tscript:alert(1))",
  "[x](&#106;avascript:alert(1))",
  "[x](data:text/html,<script>1</script>)",
  "[x](vscode://fairlead.fairlead/x)",
  "[x](file:///etc/passwd)",
  "[x](//example.com/a)",
  "[x](/etc/passwd)",
  "[x](../../etc/passwd)",
  "[x](a/%2e%2e/%2e%2e/etc/passwd)",
  '[x](https://example.com/"onmouseover="alert(1))',
  '[x](a.py"data-action="press)',
  '[x](https://example.com "onclick=alert(1)")',
  "<https://example.com/<img src=x>>",
  "```html\n<img src=x onerror=alert(1)>\n```",
  '```"><img src=x onerror=alert(1)>\nx\n```',
  "| a |\n|---|\n| <img src=x onerror=alert(1)> |",
  "- [ ] <input autofocus onfocus=alert(1)>",
  "<math><mtext></mtext><mglyph><style><!--</style><img title='--&gt;&lt;img src=1 onerror=alert(1)&gt;'>",
  "`<b>`<b>\n\n<!-- --!><script>1</script> -->",
];

test("docs/faults.md 41: an answer makes no element, attribute or address that could act, load or hide anything", () => {
  for (const attack of HOSTILE) {
    for (const element of drawn(attack).querySelectorAll("*")) {
      assert.ok(NAMES.has(element.tagName), `${attack} made ${element.outerHTML}`);
      for (const { name, value } of element.attributes) {
        assert.ok(ATTRIBUTES.has(name), `${attack} made ${element.outerHTML}`);
        if (name === "href") assert.match(value, /^(https?:\/\/|#$)/, attack);
        if (name === "data-path") assert.doesNotMatch(value, /(^|\/)\.\.(\/|$)|^\/|^[a-z]+:/i, attack);
        if (name === "data-action") assert.match(value, /^(copy|insert)Code$/, attack);
      }
    }
  }
});

test("docs/faults.md 41: a direction character that is written as an entity is shown as an escape", () => {
  const answer = drawn("a &#x202e;gpj and `&#x202e;`\n\n> &#8294;quote [x&#x200b;](https://example.com)");
  assert.doesNotMatch(answer.textContent, /[\u200b\u202e\u2066]/);
  assert.match(answer.textContent, /a \\u\{202e\}gpj/);
  assert.match(answer.textContent, /\\u\{2066\}quote/);
});

test("the harmless parts of an answer are shown: words, lists, tables, code, and HTML as text", () => {
  const answer = drawn(
    "# Title\n\nSome *words* and `code`.\n\n- one\n- [x] two\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```python\nif a < b:\n```\n\nUse <b>.",
  );
  const texts = (selector: string): (string | null)[] =>
    [...answer.querySelectorAll(selector)].map(({ textContent }) => textContent);
  assert.deepEqual(texts("h1"), ["Title"]);
  assert.deepEqual(texts("em"), ["words"]);
  assert.deepEqual(texts("li"), ["one", "☑ two"]);
  assert.deepEqual(texts("td"), ["1", "2"]);
  assert.deepEqual(texts("pre"), ["if a < b:"]);
  assert.deepEqual(texts(".bar span"), ["python"]);
  assert.match(answer.textContent, /Use <b>\./);
});

test("a table keeps the alignment of its columns, and a list the number that it starts with", () => {
  const answer = drawn("| a | b |\n|---|---:|\n| 1 | 2 |\n\n3. three\n4. four");
  const values = (selector: string, name: string): (string | null)[] =>
    [...answer.querySelectorAll(selector)].map((element) => element.getAttribute(name));
  assert.deepEqual(values("th, td", "align"), [null, "right", null, "right"]);
  assert.deepEqual(values("ol", "start"), ["3"]);
});

test("a link opens the web address that it shows on hover, or a file and line of the workspace, or nothing", () => {
  const links = (text: string): unknown[] =>
    [...drawn(text).querySelectorAll("a")].map((link) => [
      link.getAttribute("href"),
      link.title,
      link.dataset.path,
      link.dataset.line,
    ]);
  assert.deepEqual(links("[x](https://example.com/a?b=c&d)"), [
    ["https://example.com/a?b=c&d", "https://example.com/a?b=c&d", undefined, undefined],
  ]);
  assert.deepEqual(links("[x](src/a%20b.py#L3)"), [["#", "", "src/a b.py", "3"]]);
  assert.deepEqual(links("[x](src/a.py:12:4) [y](./b.py)"), [
    ["#", "", "src/a.py", "12"],
    ["#", "", "./b.py", undefined],
  ]);
  assert.deepEqual(links("[x](a.py:3) [y](Makefile:3-5) [z](a.py:12:4)"), [
    ["#", "", "a.py", "3"],
    ["#", "", "Makefile", "3"],
    ["#", "", "a.py", "12"],
  ]);
  assert.deepEqual(links("[x](command:a) [x](#top)"), [
    [null, "", undefined, undefined],
    [null, "", undefined, undefined],
  ]);
});

test("the unchanged blocks of a growing answer stay in the page", () => {
  const first = markdownBlocks("One.\n\nTwo");
  const second = markdownBlocks("One.\n\nTwo words.\n\n- three", first);
  assert.equal(second[0], first[0]);
  assert.deepEqual(
    second.map(({ element }) => element.textContent.trim()),
    ["One.", "Two words.", "three"],
  );
});

test("docs/faults.md 41: an answer that is deeply nested or designed to be slow is still shown", () => {
  const size = 100_000;
  const attacks = [
    "[",
    "![",
    "*a ",
    "**_",
    "> ",
    "- ",
    "`",
    "<",
    "&",
    "|a",
    "a_",
    "[a](",
    "1. ",
    "\\",
    "~~a",
    "<!--",
    "[a]: ",
  ];
  for (const attack of attacks) {
    const text = attack.repeat(size / attack.length);
    const shown = drawn(text).textContent;
    assert.ok(shown.length > 0 || attack === "<!--" || attack.trim() === "[a]:", attack);
  }
});

test("an item of a task list has its box as its only mark", () => {
  const items = [...drawn("- [x] done\n- [ ] open\n- plain").querySelectorAll("li")];
  assert.deepEqual(
    items.map((item) => [item.textContent.trim(), item.className]),
    [
      ["☑ done", "task"],
      ["☐ open", "task"],
      ["plain", ""],
    ],
  );
});
