import assert from "node:assert/strict";
import { test } from "node:test";
import {
  freeName,
  nameOfAddress,
  splitCommandLine,
  suggestedName,
  type CommandLine,
} from "../src/features/toolServers/commandLine";
import {
  addressProblem,
  definitionOffset,
  hostsIn,
  hostsProblem,
  nameProblem,
  readPasted,
  without,
  withTool,
} from "../src/features/toolServers/definitions";
import { outputText, serverNodes, toolNodes } from "../src/features/toolServers/serverRows";
import { Store } from "../src/state/store";
import type { ToolServer, ToolServers } from "../src/wire/protocolStates";
import { params } from "./goldens";

const relative = (uri: string): string => decodeURIComponent(uri.replace("file:///project/", ""));
const words = (text: string): readonly string[] => {
  const line: CommandLine = splitCommandLine(text);
  return "problem" in line ? [line.problem] : line.words;
};

test("a command line is split as a shell does", () => {
  const cases: [string, ...string[]][] = [
    ["npx -y  @scope/server ", "npx", "-y", "@scope/server"],
    [`run 'a b' "c d" e\\ f "g \\" h" '' i"j"k`, "run", "a b", "c d", "e f", 'g " h', "", "ijk"],
    [`echo 'it'"'"'s' "\\n" '\\n' 'a|b' "c;d" '$HOME'`, "echo", "it's", "\\n", "\\n", "a|b", "c;d", "$HOME"],
    ["serve ~/notes ${workspaceFolder} a~/b", "serve", "${userHome}/notes", "${workspaceFolder}", "a~/b"],
    ["two\nlines", "two", "lines"],
  ];
  for (const [text, ...expected] of cases) assert.deepEqual(words(text), expected, text);
  assert.deepEqual(splitCommandLine("TOKEN=a=b DEBUG= npx server"), {
    words: ["npx", "server"],
    variables: { TOKEN: "a=b", DEBUG: "" },
  });
});

test("what only a shell can do is a problem that says what to write", () => {
  const cases = {
    "": /^Enter a command/,
    "A=b": /^Enter a command/,
    "run 'a": /quote ' is not closed/,
    'run "a': /quote " is not closed/,
    "a | b": /^\| needs a shell/,
    "a > b": /^> needs a shell/,
    "a && b": /^& needs a shell/,
    "docker run -v $PWD:/x image": /^Write \$\{env:PWD\} instead of \$PWD/,
    'echo "$HOME"': /^Write \$\{env:HOME\}/,
  };
  for (const [text, problem] of Object.entries(cases)) assert.match(words(text).join(), problem, text);
});

test("a server is named after its package, its image or its address", () => {
  const cases = {
    "npx -y @modelcontextprotocol/server-filesystem ${workspaceFolder}": "filesystem",
    "npx @playwright/mcp@latest --headless": "playwright",
    "npx -y @upstash/context7-mcp@1.0.3": "context7",
    "uvx mcp-server-git --repository .": "git",
    "uvx --from git+https://example.com/a serena start": "serena",
    "python3 -m mcp_server_time": "time",
    "docker run -i --rm -e GITHUB_TOKEN ghcr.io/github/github-mcp-server:v1": "github",
    "node /home/me/notes/build/index.js": "notes",
    "/usr/bin/github-mcp-server stdio": "github",
    "sqlite.exe": "sqlite",
    npx: "npx",
  };
  for (const [command, name] of Object.entries(cases)) assert.equal(suggestedName(words(command)), name, command);
  assert.equal(nameOfAddress("https://mcp.notion.com/mcp"), "notion");
  assert.equal(nameOfAddress("http://localhost:3000/mcp"), "localhost");
  assert.equal(nameOfAddress("http://127.0.0.1:3000"), "127-0-0-1");
  assert.equal(freeName("git", ["git", "git-2"]), "git-3");
  assert.equal(freeName("git", []), "git");
});

test("names, hosts and addresses are checked where they are typed", () => {
  assert.match(nameProblem(" ", []) ?? "", /^Enter a name/);
  assert.match(nameProblem("a__b", []) ?? "", /without __/);
  assert.match(nameProblem("x".repeat(61), []) ?? "", /at most 60/);
  assert.match(nameProblem("git", ["git"]) ?? "", /already/);
  assert.equal(nameProblem(" git ", ["other"]), undefined);
  assert.deepEqual(hostsIn(" api.github.com,localhost:5432  [::1]:80 "), [
    "api.github.com",
    "localhost:5432",
    "[::1]:80",
  ]);
  assert.equal(hostsProblem(" api.github.com,localhost:5432  [::1]:80 "), undefined);
  assert.equal(hostsProblem(""), undefined);
  for (const wrong of ["https://a.b", "a.b/c", "a b:c"])
    assert.match(hostsProblem(wrong) ?? "", /is not a host/, wrong);
  assert.equal(addressProblem("https://a.example/mcp"), undefined);
  for (const wrong of ["", "a.example", "ftp://a"]) assert.match(addressProblem(wrong) ?? "", /^Enter an address such/);
  assert.match(addressProblem("https://me:secret@a.example") ?? "", /without a user name/);
});

test("a definition can be pasted in the forms of other agents", () => {
  const notes = { command: "npx", args: ["-y", "notes"] };
  const servers = { kind: "servers", servers: { notes } };
  for (const value of [{ mcpServers: { notes } }, { servers: { notes } }, { notes }, { mcp: { servers: { notes } } }])
    assert.deepEqual(readPasted(JSON.stringify(value), []), servers, JSON.stringify(value));
  assert.deepEqual(readPasted(`"notes": ${JSON.stringify(notes)},`, []), servers);
  assert.deepEqual(readPasted("```json\n" + JSON.stringify({ notes }) + "\n```", []), servers);
  assert.deepEqual(readPasted(JSON.stringify(notes), []), { kind: "one", definition: notes });
  const remote = { type: "http", url: "https://a.example" };
  assert.deepEqual(readPasted(JSON.stringify(remote), []), { kind: "one", definition: remote });
});

test("a pasted text that defines nothing usable says why", () => {
  const problem = (text: string, taken: string[] = []): string => {
    const read = readPasted(text, taken);
    return read.kind === "problem" ? read.problem : "";
  };
  assert.match(problem("{"), /^This is not JSON/);
  assert.match(problem(""), /^This is not JSON/);
  assert.match(problem("[]"), /^Paste an object/);
  assert.match(problem('{"mcpServers": []}'), /^Paste an object/);
  assert.match(problem("{}"), /defines no tool server/);
  assert.match(problem('{"servers": {}}'), /defines no tool server/);
  assert.match(problem('{"notes": {"args": []}}'), /^notes: It has neither/);
  assert.match(problem('{"notes": {"command": "a"}}', ["notes"]), /^notes: There is a tool server/);
  assert.match(problem('{"type": "sse", "url": "https://a.example/sse"}'), /“sse”/);
});

test("a tool is switched off and on in its definition, and a server is removed", () => {
  const definitions = { notes: { command: "notes" }, git: { command: "git", disabledTools: ["push"] } };
  const off = withTool(definitions, "notes", "write", false);
  assert.deepEqual(off, { ...definitions, notes: { command: "notes", disabledTools: ["write"] } });
  assert.deepEqual(withTool(off, "notes", "write", true), definitions);
  assert.deepEqual(withTool(definitions, "git", "push", false), definitions);
  assert.deepEqual(withTool(definitions, "git", "push", true).git, { command: "git" });
  assert.deepEqual(withTool(definitions, "other", "x", false), definitions);
  assert.deepEqual(without(definitions, "git"), { notes: { command: "notes" } });
});

test("the definition of a server is found in a settings file and in a file of the workspace", () => {
  const settings =
    '{\n  "a": { "git": { "x": 1 } },\n  "fairlead.mcpServers": {\n    "git" : {"command": "git"}\n  }\n}';
  assert.equal(definitionOffset(settings, "git"), settings.indexOf('"git" :'));
  assert.equal(definitionOffset(settings, "other"), settings.indexOf('"fairlead.mcp'));
  assert.equal(definitionOffset('{"servers": {"a.b": {}}}', "a.b"), 13);
  assert.equal(definitionOffset("", "a"), 0);
});

const servers = (): readonly ToolServer[] => params<ToolServers>("toolServers").servers;
const server = (changes: Partial<ToolServer>): ToolServer => {
  const [first] = servers();
  assert.ok(first);
  return { ...first, ...changes };
};
const row = (changes: Partial<ToolServer>) => {
  const [node] = serverNodes([server(changes)], relative);
  assert.ok(node);
  return node;
};

test("the row of a server has its state, and what its tools cost", () => {
  const { tools } = server({});
  const enabled = tools.filter(({ isEnabled }) => isEnabled).reduce((sum, { tokens }) => sum + tokens, 0);
  const running = row({ state: "running", problem: "" });
  assert.equal(running.description, `running · ${tools.length} tools · ${enabled} tokens`.replace("1 tools", "1 tool"));
  assert.equal(row({ state: "stopped", problem: "", tools: [] }).description, "stopped");
  assert.equal(row({ state: "failed", problem: "it ended", tools: [] }).description, "failed: it ended");
  const long = row({ state: "failed", problem: "x".repeat(500), tools: [] });
  assert.ok(long.description.length < 100);
  assert.ok(long.tooltip.includes("x".repeat(500)));
  assert.equal(row({ state: "disabled", problem: "", tools: [] }).description, "switched off");
});

test("a server about which the user is asked waits for them", () => {
  const starting = server({ state: "starting", tools: [] });
  const [node] = serverNodes([starting], relative, new Set([starting.name]));
  assert.equal(node?.description, "waiting for you");
  assert.equal(serverNodes([starting], relative)[0]?.description, "starting");
});

test("a state that this client does not know is shown with its problem", () => {
  const state = "updating" as ToolServer["state"];
  assert.equal(row({ state, problem: "It updates.", tools: [] }).description, "It updates.");
  assert.equal(row({ state, problem: "", tools: [] }).description, "updating");
  assert.ok(outputText(server({ state })).startsWith(`${server({}).name}: updating`));
});

test("the tooltip of a server has its whole command, its source, its hosts, its problem and its output", () => {
  const command = `notes ${"argument ".repeat(100)}--last`;
  const changes = { command, hosts: ["a.example:443"], definedIn: "file:///project/.mcp.json", output: "one\ntwo\n" };
  const { tooltip } = row({ ...changes, state: "failed", problem: "it ended" });
  for (const part of [command, "It reaches a.example:443", "Defined in .mcp.json", "Failed: it ended", "one\ntwo"])
    assert.ok(tooltip.includes(part), part);
  assert.ok(row({ definedIn: null }).tooltip.includes("Defined in your settings"));
});

test("a tool has what it costs and claims; only tools of the user's settings can be switched", () => {
  const tool = {
    name: "read",
    title: "",
    description: "Reads.",
    readsOnly: true,
    isDestructive: false,
    tokens: 1200,
    isEnabled: true,
  };
  const remove = { ...tool, name: "rm", title: "Remove", readsOnly: false, isDestructive: true, isEnabled: false };
  const [first, second] = toolNodes(row({ definedIn: null, state: "running", tools: [tool, remove] }));
  assert.ok(first && second);
  assert.deepEqual([first.label, first.description, first.canSwitch], ["read", "1,200 tokens", true]);
  assert.equal(first.tooltip, "read\n\nReads.\n\nThe server says that it only reads.");
  assert.deepEqual([second.label, second.description], ["Remove", "switched off · 1,200 tokens"]);
  assert.match(second.tooltip, /^rm\n\nReads\.\n\nThe server says that it may delete/);
  const [others] = toolNodes(row({ definedIn: "file:///project/.mcp.json", tools: [tool] }));
  assert.equal(others?.canSwitch, false);
});

test("the store has the servers of each session, and those of a new one until a session's are known", () => {
  const { toolServers } = new Store();
  let changes = 0;
  const stop = toolServers.onChange(() => changes++);
  assert.equal(toolServers.of(undefined), undefined);
  toolServers.set({ sessionId: null, servers: [] });
  assert.deepEqual(toolServers.of("s"), []);
  toolServers.set({ sessionId: "s", servers: servers() });
  assert.deepEqual([toolServers.of("s"), toolServers.of("t"), toolServers.of(undefined)], [servers(), [], []]);
  toolServers.clear();
  assert.deepEqual(toolServers.of("s"), []);
  assert.equal(changes, 3);
  stop();
});
