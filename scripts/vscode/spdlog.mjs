// Replaces VS Code's native logger, which is not compiled here. Without a logger, VS Code writes no log files, and the
// log channels of extensions stay empty in the Output panel.
import fs from "node:fs";
import path from "node:path";

const LEVELS = ["trace", "debug", "info", "warn", "error", "critical", "off"];

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
    const time = new Date().toISOString().replace("T", " ").replace("Z", "");
    const line = this.#plain ? message : `${time} [${LEVELS[level]}] ${message}\n`;
    try {
      fs.appendFileSync(this.#file, line);
    } catch {
      // The folder is removed when the editor stops, so the last messages of a process may be lost.
    }
  }
}

for (const [level, name] of LEVELS.slice(0, -1).entries()) {
  Logger.prototype[name] = function log(message) {
    this.write(level, message);
  };
}

export async function createRotatingLogger(name, file) {
  await fs.promises.mkdir(path.dirname(file), { recursive: true });
  return new Logger("rotating", name, file);
}

export const createAsyncRotatingLogger = createRotatingLogger;
