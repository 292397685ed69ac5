// `npm run lock`: pins the Python packages in requirements/ after a change in pyproject.toml. With `-- --upgrade`, pins
// the newest versions that pyproject.toml allows.
//
// The files hold versions and hashes for all supported systems and Pythons. pip installs from them.

import path from "node:path";
import { isWindows, run } from "./process.mjs";
import { step } from "./progress.mjs";
import { SetupError } from "./python.mjs";
import { ensureNode, ensurePython, main, waitForAll } from "./setup.mjs";
import { ensureWheels, wheelsDir } from "./wheels.mjs";

await main(async () => {
  await waitForAll(ensurePython(), ensureNode());
  await ensureWheels("lock");
  await step("pin Python packages", async () => {
    await pin("dev", ["pyproject.toml", "--extra=dev", "--group=build"], process.argv.slice(2));
    const likeDev = ["--constraints=requirements/dev.txt"];
    await pin("build", ["--group=build"], likeDev);
    await pin("server", ["pyproject.toml"], likeDev);
    await pin("bedrock", ["pyproject.toml", "--extra=bedrock"], likeDev);
    await pin("vertex", ["pyproject.toml", "--extra=vertex"], likeDev);
    await pin("openai", ["pyproject.toml", "--extra=openai"], likeDev);
    await pin("mcp", ["pyproject.toml", "--extra=mcp"], likeDev);
    // installed as the other programs of scripts/wheels.mjs are, by version
    await pin("litellm", ["--group=litellm"], ["--no-generate-hashes", "--no-annotate"]);
  });
  return 0;
});

/** Writes requirements/NAME.txt: these packages and what they need. */
async function pin(name, packages, options) {
  const uv = path.join(wheelsDir("lock"), "bin", isWindows ? "uv.exe" : "uv");
  const format = [
    "--universal",
    "--generate-hashes",
    "--python-version=3.11",
    `--output-file=requirements/${name}.txt`,
  ];
  const env = { ...process.env, UV_CUSTOM_COMPILE_COMMAND: "npm run lock" };
  const { code, output } = await run(uv, ["pip", "compile", "--quiet", ...packages, ...format, ...options], { env });
  if (code !== 0) throw new SetupError(`requirements/${name}.txt could not be written:\n\n${output}`);
}
