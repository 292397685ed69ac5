// The texts of the help pages for what the server's set-up needs: a suitable Python, and its packages. Pure.

import { fenced } from "../ui/markdown";
import type { NotInstalled } from "./environment";
import { NEWEST, OLDEST, type Attempt } from "./python";

/** How many lines of what the installers said are on the page. The log has all. */
const SAID_LINES = 30;

export function pythonHelp(attempts: readonly Attempt[]): string {
  const versions = `${OLDEST.join(".")} to ${NEWEST.join(".")}`;
  const tried = attempts.map(({ command, problem }) => `${command}: ${problem}`).join("\n") || "nothing";
  return `# Fairlead needs Python ${versions}

The agent runs in a small Python program on this machine. No Python that can run it was found.

## How to get one

- **Debian, Ubuntu**: \`sudo apt install python3 python3-venv\` (check with \`python3 --version\` that it is ${versions})
- **Fedora**: \`sudo dnf install python${NEWEST.join(".")}\`
- **macOS**: \`brew install python@${NEWEST.join(".")}\`, or the installer from python.org
- **Windows**: \`winget install Python.Python.3.13\`, or the installer from python.org
- **A Python in another location**: set \`fairlead.python\` to its path

Then run **Agent: Stop and Restart Server** from the command palette.

## What was tried

${fenced(tried)}
`;
}

/** `requirements` is the path of the file that lists the packages. */
export function packagesHelp({ message, output }: NotInstalled, requirements: string): string {
  const said = output.split("\n").slice(-SAID_LINES).join("\n");
  return `# ${message.replace(/\.$/, "")}

The agent runs in a small Python program on this machine. Its packages are downloaded once, before the first task.

## What helps

- **A network**: connect, and choose **Try Again**.
- **A proxy**: set \`http.proxy\` in VS Code's settings. If it signs connections with your company's certificate, set \`PIP_CERT\` to the
  certificate's file in the environment of VS Code.
- **Without a network**: install the extension from the package for your platform, such as \`fairlead-linux-x64-VERSION.vsix\`, which contains
  the packages. Or run the command below on a machine with the same system and Python, copy the folder \`wheels\`, and choose it with
  **Choose Wheels...** (setting \`fairlead.wheels\`).

${fenced(`pip download --only-binary=:all: -r "${requirements}" -d wheels`, "sh")}

## What the installer said

${fenced(said)}
`;
}
