// With 800 proposed files and the real server, a client that gets differences has the same rows as one that gets whole
// states.

import assert from "node:assert/strict";
import { spawn, type ChildProcessWithoutNullStreams } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { Store } from "../src/state/store";
import { allRows } from "../src/features/review/editRows";
import { method } from "../src/wire/protocol";
import type { Changed, Edits, Plan } from "../src/wire/protocolStates";

const FILES = 800;
/** The fields that differ between two runs of the same task. */
const OWN = new Set(["sessionId", "seconds"]);

interface Message {
  readonly id?: number;
  readonly method?: string;
  readonly params?: unknown;
  readonly result?: unknown;
}

/** A connection to a server process of its own, whose notifications go into a store. */
class Connection {
  readonly store = new Store();
  readonly counts = { whole: 0, changed: 0 };
  private readonly server: ChildProcessWithoutNullStreams;
  private readonly waiting = new Map<number, (result: unknown) => void>();
  private received = Buffer.alloc(0);
  private number = 0;

  constructor(home: string) {
    const python = path.join(".venv", process.platform === "win32" ? "Scripts/python.exe" : "bin/python");
    const env = { ...process.env, HOME: home, USERPROFILE: home, LOCALAPPDATA: home };
    this.server = spawn(python, ["-I", "-m", "fairlead", "serve"], { env });
    this.server.stdout.on("data", (data: Buffer) => {
      this.received = Buffer.concat([this.received, data]);
      for (let message = this.next(); message; message = this.next()) this.take(message);
    });
  }

  send(name: string, params: unknown): void {
    this.write({ method: name, params });
  }

  request(name: string, params: unknown): Promise<unknown> {
    const id = ++this.number;
    this.write({ id, method: name, params });
    return new Promise((resolve) => this.waiting.set(id, resolve));
  }

  /** Ends the server, as an editor does. */
  async close(): Promise<void> {
    await this.request("shutdown", null);
    const ended = new Promise((resolve) => this.server.once("exit", resolve));
    this.send("exit", null);
    await ended;
  }

  private write(message: object): void {
    const body = JSON.stringify({ jsonrpc: "2.0", ...message });
    this.server.stdin.write(`Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
  }

  private next(): Message | undefined {
    const start = this.received.indexOf("\r\n\r\n");
    if (start < 0) return undefined;
    const length = Number(/Content-Length: (\d+)/.exec(this.received.toString("latin1", 0, start))?.[1]);
    const end = start + 4 + length;
    if (this.received.length < end) return undefined;
    const message = JSON.parse(this.received.toString("utf8", start + 4, end)) as Message;
    this.received = this.received.subarray(end);
    return message;
  }

  private take(message: Message): void {
    switch (message.method) {
      case undefined:
        this.waiting.get(message.id ?? 0)?.(message.result);
        return;
      case method.plan:
        this.counts.whole += 1;
        this.store.setPlan(message.params as Plan);
        return;
      case method.edits:
        this.counts.whole += 1;
        this.store.setEdits(message.params as Edits);
        return;
      case method.planChanged:
        this.counts.changed += 1;
        assert.ok(this.store.changePlan(message.params as Changed));
        return;
      case method.editsChanged:
        this.counts.changed += 1;
        assert.ok(this.store.changeEdits(message.params as Changed));
        return;
      default:
        if (message.id !== undefined) this.write({ id: message.id, result: null });
    }
  }
}

/**
 * Runs the task and decides on one file, with or without `incremental`. Returns the rows and the plan after the run and
 * after the decision, and the number of whole states and of differences that the client got.
 */
async function followed(
  folder: string,
  incremental: boolean,
): Promise<{ rows: unknown[]; counts: Connection["counts"] }> {
  const connection = new Connection(path.join(folder, "home"));
  await connection.request("initialize", {
    processId: null,
    rootUri: pathToFileURL(path.join(folder, "workspace")).href,
    capabilities: { experimental: { agent: { incremental } } },
    initializationOptions: {
      settings: { replay: path.join(folder, "replay.yaml"), loop: { maxRounds: FILES + 5, maxIdleRounds: FILES + 5 } },
      trusted: true,
    },
  });
  connection.send("initialized", {});
  const { sessionId } = (await connection.request(method.createSession, {})) as { sessionId: string };
  await connection.request(method.runTask, { sessionId, prompt: "Write them." });
  const rows: unknown[] = [];
  const take = (): void => {
    const session = connection.store.get(sessionId);
    rows.push(allRows(connection.store.reviewable, (uri) => uri).map((row) => ({ ...row, sessionId: "" })));
    // the times of the steps differ
    rows.push(JSON.parse(JSON.stringify(session?.plan, (key, value: unknown) => (OWN.has(key) ? 0 : value))));
  };
  take();
  const [file] = connection.store.get(sessionId)?.edits?.files ?? [];
  await connection.request(method.reject, { sessionId, target: { uri: file?.uri } });
  take();
  await connection.close();
  return { rows, counts: connection.counts };
}

test("differences and whole states of 800 proposed files lead to the same rows", async () => {
  const folder = mkdtempSync(path.join(tmpdir(), "fairlead-"));
  try {
    for (const name of ["home", "workspace"]) mkdirSync(path.join(folder, name));
    const items = [{ content: "Write them", status: "in_progress", activeForm: "Writing" }];
    const writes = Array.from({ length: FILES }, (_, number) => ({
      calls: [{ write_file: { path: `f${number}.txt`, content: `${number}\n` } }],
    }));
    const turns = [{ calls: [{ todo: { items } }] }, ...writes, { text: "Done." }];
    // JSON is YAML
    writeFileSync(path.join(folder, "replay.yaml"), JSON.stringify({ replay: 1, turns }));
    const [byDifferences, byStates] = [await followed(folder, true), await followed(folder, false)];
    assert.equal((byStates.rows[0] as unknown[]).length, FILES);
    assert.deepEqual(byDifferences.rows, byStates.rows);
    assert.equal(byDifferences.counts.whole, 2);
    assert.equal(byStates.counts.changed, 0);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
