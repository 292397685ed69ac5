// Replaces VS Code's native logger, which is not compiled here. Without a logger, VS Code writes no log files, and the
// log channels of extensions stay empty in the Output panel.
import fs from "node:fs";
import path from "node:path";

// Indexed by level. The Output panel reads the level from each line.
const LEVELS = ["trace", "debug", "info", "warning", "error", "critical"];
const METHODS = ["trace", "debug", "info", "warn", "error", "critical"];

export const version = 0;
export function setLevel() {}
export function setFlushOn() {}

export class Logger {
  #level = 2;
  #plain = false;
  #file;

  constructor(_type, _name, file) {
    this.#file = file;
  }

  getLevel() {
    return this.#level;
  }
  setLevel(level) {
    this.#level = level;
  }
  setPattern() {
    this.#plain = false;
  }
  clearFormatters() {
    this.#plain = true;
  }
  flush() {}
  drop() {}

  write(level, message) {
    if (level < this.#level) return;
    const line = this.#plain ? message : `${localTime()} [${LEVELS[level]}] ${message}\n`;
    try {
      fs.appendFileSync(this.#file, line);
    } catch {
      // The folder is removed when the editor stops, so the last messages of a process may be lost.
    }
  }
}

/** The current time in the format of VS Code's pattern `%Y-%m-%d %H:%M:%S.%e`. */
function localTime() {
  const now = new Date();
  const shifted = new Date(now.getTime() - now.getTimezoneOffset() * 60_000);
  return shifted.toISOString().replace("T", " ").replace("Z", "");
}

for (const [level, name] of METHODS.entries()) {
  Logger.prototype[name] = function log(message) {
    this.write(level, message);
  };
}

export async function createRotatingLogger(name, file) {
  await fs.promises.mkdir(path.dirname(file), { recursive: true });
  return new Logger("rotating", name, file);
}

export const createAsyncRotatingLogger = createRotatingLogger;
