// The checks of `npm test` and `npm run test:all`, in the order in which they start.

import { availableParallelism } from "node:os";
import { acpClientsDir } from "./acp-clients.mjs";
import { agentsDir } from "./agents.mjs";
import { nodeProgram, pythonEnvironment, venvProgram } from "./process.mjs";
import { wheelsDir } from "./wheels.mjs";

/**
 * Returns the checks. With `all`, the tests of each are complete, as in `npm run test:all`. Without `editor`, no check
 * runs tests in a real VS Code. `pytest` has more arguments for pytest. All checks run in the environment `env`. Each
 * check has
 *   name     as in `--only`
 *   command, args, env   the process to start
 *   needs    what it uses in addition to .venv and node_modules: "vscode", "conformance" or a set of wheels.mjs
 *   slow     true if `npm test` does not run it unless `--only` names it
 *   optional true if `npm run test:all` does not run it either
 *   alone    true if it measures time or uses all cores: it runs after the others
 *   count    a function of the output and `summary` that returns `{ passed, failed }`, and `skipped` if that may be;
 *            without it, the check counts as one test
 *   summary  matches the output lines that are printed even if all tests passed
 *   passing  matches the lines of passed tests, which are not printed if a test failed
 *   failure  matches the lines that name a failed test, which are printed again at the end
 *   leftOutBy  the option that leaves it out, if one does
 */
export function checks({ all = false, editor = true, pytest = [], env = process.env } = {}) {
  const python = (program, ...args) => ({
    command: venvProgram(program),
    args,
    env: pythonEnvironment({ PYTHONIOENCODING: "utf-8" }, env),
  });
  const node = (file, ...args) => ({ command: process.execPath, args: [nodeProgram(file), ...args], env });
  const script = (file, ...args) => ({ command: process.execPath, args: [file, ...args], env });
  const otherPrograms = (name, needs, folder, more) => ({
    name,
    needs,
    alone: true,
    count: countWords,
    summary: /^(SKIPPED .*|=* ?(\d+ \w+, )*\d+ \w+ in [\d.]+s\b.*)$/,
    failure: /^(FAILED|ERROR) /,
    ...python("python", "-m", "pytest", folder, "-rs", ...pytest),
    env: pythonEnvironment(more, env),
  });
  const inEditor = (...files) => ({
    needs: ["vscode"],
    alone: true,
    count: countWords,
    summary: /^\d+ (passed|failed|skipped)\b.*$/,
    passing: /^ {2}ok {4}|^ +figure: /,
    failure: /^ {2}FAIL {2}/,
    ...script("tests/editor/run.mjs", ...files),
  });
  // Two more than there are cores, because a test spends half of its time waiting for its server.
  const workers = String(availableParallelism() + 2);
  const quick = all ? [] : ["-m", "not slow"];
  const journey = all ? [] : ["tests/editor/main-job.test.mjs"];
  return [
    { name: "pyright", ...node("pyright/index.js") },
    { name: "eslint", ...node("eslint/bin/eslint.js", "--max-warnings=0") },
    { name: "tsc", ...node("typescript/bin/tsc", "--noEmit") },
    { name: "build", ...script("scripts/build.mjs") },
    { name: "client", count: countTap, ...script("scripts/client-tests.mjs") },
    // Shows that each benchmark still runs. Its numbers mean nothing at this size.
    { name: "bench", slow: true, ...python("python", "benchmarks/speed/run.py", "--smallest") },
    { name: "ruff", ...python("ruff", "check", "--quiet", "--output-format=concise") },
    { name: "format", ...python("ruff", "format", "--check", "--output-format=concise") },
    { name: "prettier", ...node("prettier/bin/prettier.cjs", "--check", "--log-level=warn", ".") },
    { name: "imports", ...python("lint-imports", "--no-logo") },
    { name: "wire", ...python("python", "scripts/wire.py", "--check") },
    {
      name: "pytest",
      alone: true,
      count: countWords,
      summary: /^=* ?(\d+ \w+, )*(\d+ \w+|no tests ran) in [\d.]+s\b.*$/,
      passing: /^[.sxFE]+ +\[ *\d+%\]$/,
      failure: /^(FAILED|ERROR) /,
      ...python("python", "-m", "pytest", "-n", workers, "--dist", "worksteal", ...quick, ...pytest),
    },
    {
      slow: true,
      ...otherPrograms("local-model", ["local-model", "litellm", "dasllama"], "tests/local_model", {
        FAIRLEAD_LOCAL_MODEL: wheelsDir("local-model"),
        FAIRLEAD_LITELLM: wheelsDir("litellm"),
        FAIRLEAD_DASLLAMA: wheelsDir("dasllama"),
      }),
    },
    {
      slow: true,
      ...otherPrograms("tool-servers", ["tool-servers"], "tests/real_servers", {
        FAIRLEAD_TOOL_SERVERS: wheelsDir("tool-servers"),
      }),
    },
    {
      name: "conformance",
      slow: true,
      needs: ["conformance"],
      alone: true,
      count: countWords,
      summary: /^\d+ (passed|skipped)\b.*$|: \d+ scenarios, /,
      failure: /^ {2}\S+: \d+ passed, \d+ failed/,
      ...script("scripts/conformance.mjs"),
    },
    {
      optional: true,
      ...otherPrograms("neovim", ["neovim"], "tests/neovim", { FAIRLEAD_NEOVIM: wheelsDir("neovim") }),
    },
    {
      optional: true,
      ...otherPrograms("acp", ["acp-clients"], "tests/acp_clients", { FAIRLEAD_ACP_CLIENTS: acpClientsDir() }),
    },
    {
      optional: true,
      // the agents of others; Fairlead itself installs them there
      ...otherPrograms("agents", [], "tests/real_agents", { FAIRLEAD_AGENTS: agentsDir() }),
    },
    {
      name: "agents-editor",
      optional: true,
      ...inEditor("tests/real_agents/claude.test.mjs"),
      env: { ...env, FAIRLEAD_AGENTS: agentsDir() },
    },
    { optional: true, ...otherPrograms("emacs", [], "tests/emacs", {}) },
    {
      name: "editor",
      ...inEditor(...journey),
      leftOutBy: editor ? undefined : "--no-editor",
    },
    {
      name: "places",
      slow: true,
      needs: editor ? ["vscode"] : [],
      alone: true,
      count: countWords,
      summary: /^place \w+: |^(\d+ \w+, )*\d+ \w+ in [\d.]+ s$/,
      failure: /\(in the place \w+\)$/,
      ...script("scripts/places/places.mjs", ...(editor ? [] : ["--no-editor"])),
    },
  ];
}

function countTap(output) {
  return { passed: last(output, /^# pass (\d+)$/gm), failed: last(output, /^# fail (\d+)$/gm) };
}

function countWords(output, summary) {
  const line = output.split(/\r?\n/).findLast((text) => summary.test(text)) ?? "";
  return {
    passed: last(line, /(\d+) passed/g),
    failed: last(line, /(\d+) failed/g) + last(line, /(\d+) errors?\b/g),
    skipped: last(line, /(\d+) skipped/g),
  };
}

function last(text, pattern) {
  return Number([...text.matchAll(pattern)].at(-1)?.[1] ?? 0);
}
