// An ordinary user whom root creates for tests.

import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { run } from "../process.mjs";
import { SetupError } from "../python.mjs";

/** Why the tests cannot run as an ordinary user; undefined if they can. */
export async function whyNoUser() {
  if (process.platform === "win32") return "the tests that it runs need another system than Windows";
  if (process.getuid() !== 0) return undefined;
  const { code } = await run("useradd", ["--help"]);
  return code === 0 ? undefined : "root cannot create a user, because there is no useradd";
}

/**
 * Creates a user. Returns `{ folder, env, account, remove }`: the home folder, the environment after a login, the ids to
 * start processes with, and a function that ends the user's processes and removes the user with the folder.
 */
export async function makeUser() {
  const name = `fairlead-${process.pid}`;
  await root("useradd", "--create-home", "--user-group", "--shell", "/bin/bash", name);
  const [, , uid, gid, , folder] = (await root("getent", "passwd", name)).trim().split(":");
  const account = { uid: Number(uid), gid: Number(gid) };
  const temporary = path.join(folder, "tmp");
  fs.mkdirSync(temporary);
  fs.chownSync(temporary, account.uid, account.gid);
  const env = {
    PATH: pathForOthers(process.env.PATH),
    HOME: folder,
    USER: name,
    LOGNAME: name,
    LANG: process.env.LANG ?? "C.UTF-8",
    TMPDIR: temporary,
  };
  const remove = async () => {
    await run("pkill", ["-KILL", "-u", uid]);
    await root("userdel", "--remove", "--force", name);
  };
  return { folder, env, account, remove };
}

// Without the folders below root's home, which other users cannot enter.
function pathForOthers(folders) {
  const isOpen = (folder) => !`${folder}${path.sep}`.startsWith(`${os.homedir()}${path.sep}`);
  return folders.split(path.delimiter).filter(isOpen).join(path.delimiter);
}

async function root(program, ...args) {
  const { code, output } = await run(program, args);
  if (code !== 0) throw new SetupError(`${[program, ...args].join(" ")} failed:\n${output}`);
  return output;
}
