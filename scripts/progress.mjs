// What is being done and how long it took: one line per finished step, and on a terminal one moving line below.

const terminal = process.stdout.isTTY === true;
const running = new Map();
let drawn = false;
let timer;

/** Seconds since a `performance.now()`, as shown. */
export function seconds(since) {
  return `${((performance.now() - since) / 1000).toFixed(1)} s`;
}

export function say(text = "") {
  clear();
  console.log(text);
  draw();
}

/** Runs `work` under a name that shows while it runs; the caller says how it ended. */
export async function during(name, work) {
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

/** Runs a step of the set-up, and says what it took. */
export async function step(name, work) {
  const start = performance.now();
  const result = await during(name, work);
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
