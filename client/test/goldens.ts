// The golden wire messages (tests/goldens), which the Python tests write and both sides read.

import * as fs from "node:fs";
import * as path from "node:path";

// the tests run from .build, but npm starts them in the root
const FOLDER = path.join(process.cwd(), "tests", "goldens");

interface Golden<Content> {
  readonly method: string;
  readonly direction: string;
  readonly params?: Content;
  readonly result?: Content;
}

export function golden<Content>(name: string): Golden<Content> {
  return JSON.parse(fs.readFileSync(path.join(FOLDER, `${name}.json`), "utf8")) as Golden<Content>;
}

export function params<Content>(name: string): Content {
  const content = golden<Content>(name).params;
  if (content === undefined) throw new Error(`${name} has no params`);
  return content;
}

export function goldenNames(): string[] {
  return fs.readdirSync(FOLDER).map((file) => file.replace(/\.json$/, ""));
}
