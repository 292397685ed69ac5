// Finds and starts a browser for VS Code: an installed one, or else one from npm.
import { spawn, spawnSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import zlib from "node:zlib";
import { pipeline } from "node:stream/promises";
import { stripVTControlCharacters } from "node:util";
import { endsOnSignal, registerStop } from "./ending.mjs";
import { ensureHost } from "./install.mjs";
import { cacheDir, fetchPackage, installOnce, untar } from "./packages.mjs";

const PACKAGED = {
  name: "@sparticuz/chromium",
  version: "153.0.0",
  integrity: "sha512-jiGWqSvPMdu4+P9TilYqAR7yEGPEHINx+lCvE/NqNO/EHYzF/x1hUiI5T6ioVIt7dEy7n88byyT0vk+dnsgQwA==",
};

const PLACES = {
  linux: {
    Chrome: ["google-chrome", "google-chrome-stable", "/opt/google/chrome/chrome"],
    Chromium: ["chromium", "chromium-browser", "/snap/bin/chromium"],
    Edge: ["microsoft-edge", "microsoft-edge-stable", "/opt/microsoft/msedge/msedge"],
  },
  darwin: {
    Chrome: ["/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"],
    Chromium: ["/Applications/Chromium.app/Contents/MacOS/Chromium"],
    Edge: ["/Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge"],
  },
  win32: {
    Chrome: ["Google/Chrome/Application/chrome.exe"],
    Chromium: ["Chromium/Application/chrome.exe"],
    Edge: ["Microsoft/Edge/Application/msedge.exe"],
  },
};

// The package's own configuration names folders that exist only on AWS Lambda, for which the package was made.
const FONTS = `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig><dir prefix="relative">fonts</dir><cachedir prefix="xdg">fontconfig</cachedir></fontconfig>
`;

// The browser can reach no other machine, not even through a proxy (`withoutProxies`). Checking each request instead
// would take a sixth of the time that a window needs to open.
const ONLY_HERE = ["--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost", "--no-proxy-server"];

/**
 * Starts a headless browser and returns `{ name, browser, stop() }`. Tries one candidate after the other, because an
 * installed browser may not start (a sandboxed package, a missing library). If FAIRLEAD_BROWSER is set, tries only that
 * program.
 */
export async function startBrowser({ log = (line) => process.stderr.write(`${line}\n`) } = {}) {
  const { playwright } = await ensureHost({ log });
  const failures = [];
  for await (const { name, executable, env } of candidates(log)) {
    try {
      const closesOnSignal = !endsOnSignal();
      const browser = await playwright.chromium.launch({
        handleSIGINT: closesOnSignal,
        handleSIGTERM: closesOnSignal,
        handleSIGHUP: closesOnSignal,
        executablePath: executable,
        env: { ...withoutProxies(process.env), ...env },
        args: ["--disable-gpu", "--disable-quic", "--font-render-hinting=none", ...ONLY_HERE],
      });
      const unregister = registerStop(() => browser.close());
      browser.on("disconnected", unregister);
      return { name, browser, stop: () => browser.close() };
    } catch (error) {
      failures.push(`${name} (${executable}) did not start:`, ...reasons(error));
    }
  }
  throw new Error(
    [
      "No browser could be started for VS Code. Install Google Chrome, Chromium or Microsoft Edge,",
      "or name such a program in the environment variable FAIRLEAD_BROWSER.",
      ...failures,
    ].join("\n"),
  );
}

// The browser from npm does not support --no-proxy-server and would use the proxies from the environment.
function withoutProxies(env) {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !/_proxy$/i.test(name)));
}

// Matches a line of Playwright's report that quotes the browser's own output or says how the browser ended.
const OWN_LINE = /\[pid=\d+\](?:\[err\]|\[out\]| (?=<process did exit))(.*)/;

// Returns the first line of Playwright's report, and the last 8 different lines in it that match OWN_LINE.
function reasons({ message }) {
  const [first, ...lines] = stripVTControlCharacters(message).split("\n");
  const own = lines.map((line) => OWN_LINE.exec(line)?.[1].trim()).filter(Boolean);
  return [first, ...[...new Set(own)].slice(-8)].map((line) => `  ${line}`);
}

async function* candidates(log) {
  const chosen = process.env.FAIRLEAD_BROWSER;
  if (chosen) {
    if (!fs.existsSync(chosen)) throw new Error(`FAIRLEAD_BROWSER names ${chosen}, which does not exist.`);
    yield { name: "FAIRLEAD_BROWSER", executable: chosen };
    return;
  }
  for (const [name, places] of Object.entries(PLACES[process.platform] ?? {})) {
    const executable = places.flatMap(fullPaths).find((file) => fs.existsSync(file));
    if (executable) yield { name, executable };
  }
  if (process.platform === "linux" && process.arch === "x64") yield await packaged(log);
}

/** The full paths at which a program of `PLACES` may be installed. */
function fullPaths(place) {
  if (path.isAbsolute(place)) return process.platform === "darwin" ? [place, path.join(os.homedir(), place)] : [place];
  const roots =
    process.platform === "win32"
      ? ["PROGRAMFILES", "PROGRAMFILES(X86)", "LOCALAPPDATA"].map((name) => process.env[name])
      : (process.env.PATH ?? "").split(path.delimiter);
  return roots.filter(Boolean).map((root) => path.join(root, place));
}

async function packaged(log) {
  const dir = path.join(cacheDir(), `chromium-${PACKAGED.version}`);
  await installOnce(
    dir,
    `${PACKAGED.name}@${PACKAGED.version}`,
    async (staging) => {
      log(`installing ${PACKAGED.name} ${PACKAGED.version} once into ${dir}, because no installed browser starts`);
      const fetched = path.join(staging, "package");
      await fetchPackage(PACKAGED, fetched);
      const unpacked = async (file, mode) => {
        const target = path.join(staging, path.basename(file, ".br"));
        await pipeline(
          fs.createReadStream(path.join(fetched, "bin", file)),
          zlib.createBrotliDecompress(),
          fs.createWriteStream(target, { mode }),
        );
        return target;
      };
      await unpacked("chromium.br", 0o755);
      for (const file of ["al2023.tar.br", "fonts.tar.br"]) {
        const archive = await unpacked(file);
        await untar(archive, staging);
        fs.rmSync(archive);
      }
      fs.writeFileSync(path.join(staging, "fonts.conf"), FONTS);
      fs.rmSync(fetched, { recursive: true });
    },
    log,
  );
  const executable = path.join(dir, "chromium");
  const env = {};
  const libraries = spawnSync("ldd", [executable], { encoding: "utf8" });
  if (libraries.error || libraries.stdout.includes("not found")) {
    env.LD_LIBRARY_PATH = [path.join(dir, "lib"), process.env.LD_LIBRARY_PATH].filter(Boolean).join(":");
  }
  if (!fs.existsSync("/etc/fonts/fonts.conf")) env.FONTCONFIG_PATH = dir;
  return { name: `${PACKAGED.name} ${PACKAGED.version}`, executable, env };
}

/**
 * Opens an address in the user's own browser. Returns false if there is no display, or if the program that opens the
 * browser cannot be started.
 */
export async function showToUser(url) {
  const openers = { darwin: ["open"], win32: ["rundll32", "url.dll,FileProtocolHandler"] };
  const [command, ...args] = openers[process.platform] ?? ["xdg-open"];
  if (command === "xdg-open" && !process.env.DISPLAY && !process.env.WAYLAND_DISPLAY) return false;
  return new Promise((resolve) => {
    const child = spawn(command, [...args, url], { stdio: "ignore", detached: true });
    child.on("error", () => resolve(false));
    child.on("spawn", () => {
      child.unref();
      resolve(true);
    });
  });
}
