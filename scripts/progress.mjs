// Prints progress: a line for each finished step, and a status line that lists the running steps. On a terminal, the
// status line is always the last line; elsewhere, it is printed every 20 seconds.

const terminal = process.stdout.isTTY === true;
const running = new Map();
let drawn = false;
let timer;

/** The seconds since a `performance.now()`, as text. */
export function seconds(since) {
  return `${((performance.now() - since) / 1000).toFixed(1)} s`;
}

/** Prints a text, above the line of the running steps if there is one. */
export function say(text = "") {
  clear();
  console.log(text);
  draw();
}

/** Runs `work`, and shows `name` as running meanwhile. Prints no line when it ends. */
export async function withProgress(name, work) {
  running.set(name, performance.now());
  timer ??= setInterval(terminal ? draw : remind, terminal ? 200 : 20_000);
  draw();
  try {
    return await work();
  } finally {
    running.delete(name);
    if (running.size === 0) {
      clearInterval(timer);
      timer = undefined;
    }
    draw();
  }
}

/** Runs a step of the setup, and prints its duration if it succeeds. Returns what `work` returns. */
export async function step(name, work) {
  const start = performance.now();
  const result = await withProgress(name, work);
  say(`  ${name.padEnd(32)} ${seconds(start).padStart(8)}`);
  return result;
}

function line() {
  return [...running].map(([name, start]) => `${name} ${seconds(start)}`).join(", ");
}

function draw() {
  clear();
  if (!terminal || running.size === 0) return;
  process.stdout.write(`  … ${line()}`.slice(0, (process.stdout.columns || 80) - 1));
  drawn = true;
}

function clear() {
  if (drawn) process.stdout.write("\r\x1b[2K");
  drawn = false;
}

function remind() {
  console.log(`  still running: ${line()}`);
}
