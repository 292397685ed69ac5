// The server's packages as wheels for one platform, for a .vsix that needs no network.

import path from "node:path";
import { root, venvProgram } from "./process.mjs";
import { PYTHONS } from "./python.mjs";
import { runOrThrow } from "./setup.mjs";

/**
 * VS Code's platforms, each with pip's tags for the wheels that run on it. Windows on ARM is missing, because PyYAML
 * has no wheel for it.
 */
const TAGS = {
  "linux-x64": ["manylinux_2_28_x86_64", "manylinux_2_17_x86_64", "manylinux2014_x86_64"],
  "linux-arm64": ["manylinux_2_28_aarch64", "manylinux_2_17_aarch64", "manylinux2014_aarch64"],
  "alpine-x64": ["musllinux_1_2_x86_64", "musllinux_1_1_x86_64"],
  "darwin-x64": ["macosx_11_0_x86_64", "macosx_10_13_x86_64", "macosx_10_12_x86_64"],
  "darwin-arm64": ["macosx_11_0_arm64"],
  "win32-x64": ["win_amd64"],
};

export const TARGETS = Object.keys(TAGS);

/**
 * Downloads the wheels of the packages in requirements/LIST.txt into `folder`, for the platform `target` (one of
 * `TARGETS`) and for each Python in `pythons`, by default all that Fairlead supports.
 */
export async function downloadWheels(target, folder, pythons = PYTHONS, list = "server") {
  const platforms = TAGS[target].flatMap((tag) => ["--platform", tag]);
  const download = ["-m", "pip", "download", "--quiet", "--disable-pip-version-check"];
  const what = ["--dest", folder, "-r", path.join(root, "requirements", `${list}.txt`)];
  for (const python of pythons) {
    const options = ["--no-deps", "--only-binary=:all:", "--python-version", python, ...platforms];
    await runOrThrow(venvProgram("python"), [...download, ...options, ...what]);
  }
}
