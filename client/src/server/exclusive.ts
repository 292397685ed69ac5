// A lock between windows. It is held by a Python process, because Node has no file lock that is released when its
// holder dies.

import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

// prints "waiting" if another process has the lock, then "held"; holds it until standard input closes, at the latest
// when VS Code ends
const LOCK_SCRIPT = `
import errno, os, sys
# the errors if another process holds the lock, in this order: from flock, from LK_NBLCK, and from LK_LOCK after 10 s
HELD = {errno.EAGAIN, errno.EACCES, getattr(errno, "EDEADLOCK", None)}
if sys.platform == "win32":
    import msvcrt
    def take(file, wait):
        msvcrt.locking(file.fileno(), msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)
else:
    import fcntl
    def take(file, wait):
        fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
def acquire(file):
    wait = False
    while True:
        try:
            return take(file, wait)
        except OSError as error:
            if error.errno not in HELD:
                raise
            if not wait:
                print("waiting", flush=True)
            wait = True
def substitute():
    import hashlib, tempfile
    name = hashlib.sha256(os.fsencode(os.path.realpath(sys.argv[1]))).hexdigest()
    path = os.path.join(tempfile.gettempdir(), "fairlead-" + name + ".lock")
    # other users may write in that folder
    return open(path, "a", opener=lambda path, flags: os.open(path, flags | getattr(os, "O_NOFOLLOW", 0), 0o600))
try:
    file = open(sys.argv[1], "a")
    try:
        acquire(file)
    except OSError:  # the file system has no locks, as in some network homes
        file = substitute()
        acquire(file)
except OSError as error:
    sys.exit(str(error))
print("held", flush=True)
sys.stdin.read()
`;

/**
 * Returns the result of `work`, which runs while this window holds the lock on `file`. The file is created if necessary
 * and never removed. Calls `onWait` if another process holds the lock. `python` is the executable for the lock script.
 *
 * If the file system has no locks, a file in this machine's temporary folder is locked instead, so that at least the
 * windows on this machine take turns.
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
