import assert from "node:assert/strict";
import { test } from "node:test";
import { describeApproval } from "../src/ui/approvalTexts";
import { hostRuleProblem } from "../src/features/questions/hostRules";
import { toolRuleProblem } from "../src/features/questions/toolRules";
import type { ApproveParams } from "../src/wire/protocol";
import { params } from "./goldens";

const relative = (uri: string): string => decodeURIComponent(uri.replace("file:///project/", ""));
const titles = (approval: ApproveParams): string[] =>
  describeApproval(approval, relative).choices.map(({ title }) => title);

test("a one-line command is in the question; for a longer one, the dialog has the number of lines and the text", () => {
  const command = params<ApproveParams>("approve.params");
  assert.match(
    describeApproval(command, relative).message ?? "",
    /^Run “python3 greet\.py” outside the sandbox\? Runs on the files on disk/,
  );
  const long = { ...command, command: "echo a\necho b\u202e", cwd: "/a\u202eb" };
  assert.equal(describeApproval(long, relative).message, undefined);
  assert.match(describeApproval(long, relative).dialogTitle, /a 2-line command/);
  assert.ok(describeApproval(long, relative).details.includes("echo b\\u{202e}"));
  assert.ok(describeApproval(long, relative).details.includes("In /a\\u{202e}b,"));
});

test("the question for a secret file gives the reason, and its choices allow or reject", () => {
  const secret = params<ApproveParams>("approve.params.secret");
  assert.equal(
    describeApproval(secret, relative).message,
    "Allow “.env”? The agent wants to read this file, which looks like a secret. Its content would be sent to the model.",
  );
  assert.equal(describeApproval(secret, relative).rowLabel, "Allow: .env");
  assert.deepEqual(titles(secret), ["Allow Once", "Allow for This Session", "Reject", "Reject Because..."]);
});

test("the question for a protected file gives the reason, and its choices accept the file or leave it pending", () => {
  const confirmation = params<ApproveParams>("approve.params.confirmation");
  const { rowLabel: row, message: short } = describeApproval(confirmation, relative);
  assert.equal(row, "Confirm: .github/workflows/問候.yml");
  assert.match(
    short ?? "",
    /^Accept “\.github\/workflows\/問候\.yml”\? Accepting creates this protected file\. It defines what your CI builds/,
  );
  assert.deepEqual(titles(confirmation), ["Accept This File", "Leave Pending"]);
});

test("a call is asked with its tool; the notice has its arguments if it can show all of them", () => {
  const call = params<ApproveParams>("approve.params.tool");
  const long = describeApproval(call, relative);
  assert.equal(long.dialogTitle, "Call write of 筆記?");
  assert.equal(long.message, undefined);
  assert.equal(long.isBrief, false);
  assert.ok(long.details.startsWith("path: a.md\ntext: \n  one\n  two\n\nThe server says"));
  assert.deepEqual(titles(call), [
    "Allow Once",
    "Allow for This Session",
    "Always Allow...",
    "Reject",
    "Reject Because...",
  ]);
  const brief = { ...call, command: "筆記: write\npath: a.md\ntext: b" };
  assert.equal(
    describeApproval(brief, relative).message,
    "Call write of 筆記 with “path: a.md · text: b”? The server says that this may delete or overwrite something.",
  );
  for (const argument of ["x".repeat(300), "[a](command:b)", " hidden", ""])
    assert.equal(describeApproval({ ...call, command: `a: b\n${argument}` }, relative).message, undefined, argument);
});

test("a tool server is started after a question with its whole command and all reasons", () => {
  const start = params<ApproveParams>("approve.params.toolServer");
  const texts = describeApproval(start, relative);
  assert.equal(texts.cardTitle, "Start this tool server?");
  assert.equal(
    texts.message,
    "Start the tool server 筆記: “npx -y notes 'a b'”? In /project, in the sandbox. " +
      "The workspace's .mcp.json defines this tool server, 筆記.",
  );
  const long = { ...start, command: `npx ${"argument ".repeat(400)}--last\u202e` };
  assert.equal(describeApproval(long, relative).message, undefined);
  assert.equal(describeApproval(long, relative).dialogTitle, "Start the tool server 筆記?");
  assert.ok(describeApproval(long, relative).details.includes("--last\\u{202e}"));
  assert.deepEqual(titles(start), ["Allow", "Reject"]);
});

test("a server at an address is connected to, and a package is installed", () => {
  const remote = describeApproval(params<ApproveParams>("approve.params.remoteServer"), relative);
  assert.equal(remote.cardTitle, "Connect to this tool server?");
  assert.equal(remote.place, "");
  assert.match(
    remote.message ?? "",
    /^Connect to the tool server 筆記: “https:\/\/notes\.example\/mcp”\? The workspace's/,
  );
  const install = describeApproval(params<ApproveParams>("approve.params.installServer"), relative);
  assert.equal(install.rowLabel, "Install the tool server 筆記?");
  assert.match(
    install.message ?? "",
    /^Install the tool server 筆記 with “npm install .*In \/project, outside the sandbox\./,
  );
});

test("changed tools are shown with their difference", () => {
  const changed = params<ApproveParams>("approve.params.changedTools");
  const { cardTitle, message, details, subject } = describeApproval(changed, relative);
  assert.equal(cardTitle, "Use the changed tools of 筆記?");
  assert.equal(message, undefined);
  assert.equal(subject, "- Reads a note.\n+ Deletes a note.");
  assert.equal(details, `The tool server 筆記 has changed its tools.\n\n${subject}`);
  assert.deepEqual(titles(changed), ["Allow", "Reject"]);
});

test("a hook is shown with where it comes from and when it runs", () => {
  const hook = params<ApproveParams>("approve.params.hook");
  const { cardTitle, message, details, subject, isBrief } = describeApproval(hook, relative);
  assert.equal(cardTitle, "Allow this hook, now and later?");
  assert.equal(subject, "scripts/格式.sh");
  assert.match(
    details,
    /^scripts\/格式\.sh\n\nIn .*, in the sandbox\.\n\nThe workspace's \.claude\/settings\.json defines this hook/,
  );
  assert.match(
    message ?? "",
    /^Allow the hook “scripts\/格式\.sh”, now and later\? .* It runs at PostToolUse, for Edit\|Write\.$/,
  );
  assert.equal(isBrief, false);
  assert.deepEqual(titles(hook), ["Allow", "Reject"]);
});

test("a call that a hook asks about is shown with its whole input", () => {
  const call = params<ApproveParams>("approve.params.call");
  const { cardTitle, message, details, subject } = describeApproval(call, relative);
  assert.equal(cardTitle, "Make this call?");
  assert.equal(message, undefined);
  assert.equal(subject, "bash\ncommand: git push");
  assert.equal(details, `${subject}\n\nA hook wants you to look at this: It pushes.`);
  assert.deepEqual(titles(call), ["Allow Once", "Allow for This Session", "Reject", "Reject Because..."]);
});

test("a rule for calls has the form of the setting, and matches the tool", () => {
  const call = { server: "db", tool: "get_rows" };
  for (const rule of ["db__get_rows", " db__get_* ", "*__*", "db__get_rows(sql=SELECT *)", "db__get_rows(a=1, b=(2))"])
    assert.equal(toolRuleProblem(rule, call), undefined, rule);
  for (const rule of ["", "db", "db_get_rows", "__get", "db__", "db__get_rows(sql)", "db__get_rows(=x)", "db__get(a=b"])
    assert.match(toolRuleProblem(rule, call) ?? "", /^Write server__tool/, rule);
  for (const rule of ["db__put", "other__get_rows", "db__get_row?", "d.__get_rows"])
    assert.match(toolRuleProblem(rule, call) ?? "", /does not match get_rows of db/, rule);
});

test("a page is asked with its host and its whole URL; a row shows only a short one", () => {
  const page = params<ApproveParams>("approve.params.web");
  const texts = describeApproval(page, relative);
  const url = "http://example.com:8080/%E5%95%8F%E5%80%99?q=1";
  assert.equal(
    texts.message,
    `Fetch “${url}” from example.com:8080? Another page redirects to it. The connection is not encrypted.`,
  );
  assert.equal(texts.rowLabel, `Allow: ${url}`);
  assert.equal(texts.subject, url);
  assert.deepEqual(titles(page), [
    "Allow Once",
    "Allow for This Session",
    "Always Allow...",
    "Reject",
    "Reject Because...",
  ]);
  const long = { ...page, command: `${url}${"x".repeat(400)}` };
  const { rowLabel, isBrief, message, details } = describeApproval(long, relative);
  assert.deepEqual([rowLabel, isBrief, message], ["Fetch a page from example.com:8080?", false, undefined]);
  assert.ok(details.startsWith(long.command));
  assert.equal(describeApproval({ ...page, command: "http://a/[x](command:y)" }, relative).message, undefined);
});

test("a rule for a host must match it", () => {
  for (const [rule, host, fits] of [
    ["example.com", "example.com", true],
    [" EXAMPLE.com ", "example.com", true],
    ["*.example.com", "docs.example.com", true],
    ["*.example.com", "example.com", false],
    ["*.example.com", "badexample.com", false],
    ["example.com", "docs.example.com", false],
    ["example.com", "example.com:8080", false],
    ["example.com:8080", "example.com:8080", true],
    ["*", "example.com:8080", true],
    ["*:8080", "example.com:8080", true],
    ["*:8080", "example.com", false],
    ["[::1]:8080", "[::1]:8080", true],
    ["[::1]", "[::1]", true],
  ] as const)
    assert.equal(
      hostRuleProblem(rule, host),
      fits ? undefined : `This rule does not match ${host}.`,
      `${rule} ${host}`,
    );
  for (const rule of ["", "https://example.com", "example.com/path", "ex*.com", "a b"])
    assert.match(hostRuleProblem(rule, "example.com") ?? "", /^Write a host/);
});
