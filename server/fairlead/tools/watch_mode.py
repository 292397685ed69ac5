"""Recognizes commands that reached their time limit because they wait for changed files."""

import re

# the runners of Create React App start Jest in watch mode unless CI is set, also without a terminal
_UNLESS_CI = re.compile(r"\b(?:react-scripts|craco|react-app-rewired)(?:\s+-\S+)*\s+test\b(?!.*--watch(?:All)?=false)")
_OPTION = re.compile(r"\s--watch(?:-?all)?(?!\S)", re.IGNORECASE)
# npm, pnpm and Yarn print the script that they run
_SCRIPT = re.compile(r"^[>$] (.+)$", re.MULTILINE)
_UNTIL_CI = "`{program}` waits for changed files unless CI is set. Run the command again with the variable `CI=true`."
_WATCHES = "With `{option}`, a program waits for changes and does not end. Run the command without this option."


def watch_mode_hint(command: str, output: str) -> str:
    """A sentence for the model if a command that reached its time limit waits for changed files, else empty."""
    lines = [command, *_SCRIPT.findall(output)]
    option = next(filter(None, map(_OPTION.search, lines)), None)
    if option is not None:
        return _WATCHES.format(option=option[0].strip())
    program = next(filter(None, map(_UNLESS_CI.search, lines)), None)
    sets_ci = any("CI=" in line for line in lines)
    return _UNTIL_CI.format(program=program[0]) if program is not None and not sets_ci else ""
