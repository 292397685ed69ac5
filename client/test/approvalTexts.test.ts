import assert from "node:assert/strict";
import { test } from "node:test";
import { describeApproval } from "../src/ui/approvalTexts";
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
  assert.ok(describeApproval(long, relative).details.includes("In: /a\\u{202e}b,"));
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
