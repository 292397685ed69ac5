// A lock between windows. It is held by a Python process, because Node has no file lock that is released when its
// holder dies.

import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

// prints "waiting" if another process has the lock, then "held"; holds it until standard input closes, at the latest
// when VS Code ends
const LOCK_SCRIPT = `
import errno, sys
# what a lock that another process holds raises: flock, then msvcrt.locking without and with its own wait of 10 s
HELD = {errno.EAGAIN, errno.EACCES, getattr(errno, "EDEADLOCK", None)}
try:
    file = open(sys.argv[1], "a")
except OSError as error:
    sys.exit(str(error))
if sys.platform == "win32":
    import msvcrt
    def take(wait):
        msvcrt.locking(file.fileno(), msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)
else:
    import fcntl
    def take(wait):
        fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
wait = False
while True:
    try:
        take(wait)
        break
    except OSError as error:
        if error.errno not in HELD:  # the file system has no locks, for example
            sys.exit(str(error))
        if not wait:
            print("waiting", flush=True)
        wait = True
print("held", flush=True)
sys.stdin.read()
`;

/**
 * Returns the result of `work`, which runs while this window holds the lock on `file`. The file is created if necessary
 * and never removed. Calls `onWait` if another process holds the lock. `python` is the executable for the lock script.
 *
 * Aborting `signal` releases the lock at once, so `work` must stop then too. Throws if the lock cannot be acquired.
 */
export async function exclusively<T>(
  file: string,
  python: string,
  onWait: () => void,
  signal: AbortSignal,
  work: () => Promise<T>,
): Promise<T> {
  const holder = spawn(python, ["-I", "-c", LOCK_SCRIPT, file], { signal, windowsHide: true });
  let problem = "";
  holder.stderr.on("data", (data: Buffer) => {
    problem += data.toString();
  });
  const ended = new Promise<Error>((resolve) => {
    holder.on("error", resolve);
    holder.on("close", () => {
      resolve(new Error(`${file} cannot be locked: ${problem.trim()}`));
    });
  });
  const failure = await (async () => {
    for await (const line of createInterface({ input: holder.stdout })) {
      if (line === "held") return undefined;
      onWait();
    }
    return ended;
  })();
  if (failure !== undefined) throw failure;
  try {
    return await work();
  } finally {
    holder.stdin.end();
    await ended;
  }
}
