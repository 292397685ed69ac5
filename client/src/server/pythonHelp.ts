// The text of the help page for a machine without a suitable Python. Pure.

import { fenced } from "../ui/markdown";
import { NEWEST, OLDEST, type Attempt } from "./python";

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
