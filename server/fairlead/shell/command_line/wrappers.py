"""Programs that run the program in their arguments and exit with its code: wrappers, package runners, interpreters.

An option that is not listed may change or prevent what runs (`command -v pytest`, `npx --help jest`). So if there is
one, the program counts as unknown.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from fairlead.shell.command_line.words import program_name

MAX_NESTING = 4  # of wrappers that `unwrap` removes, and of shells in shells
SHELLS = {"sh", "bash", "zsh", "dash", "ksh"}
"""Programs that run the command line after `-c`."""


@dataclass(frozen=True, slots=True)
class Wrapper:
    """Programs that run another one and take the same options. Names in a field are separated by spaces."""

    programs: str
    subcommands: str = ""
    """The first argument must be one of these. Empty: the program needs no subcommand."""
    flags: str = ""
    """Options without a value that do not prevent the other program from running."""
    values: str = ""
    """The same, for options with a value."""
    durations: int = 0
    """The number of durations before the other program."""
    assignments: bool = False
    """Whether `NAME=value` may come before the other program."""


WRAPPERS = (
    Wrapper("env", flags="-i --ignore-environment -v --debug", values="-u --unset", assignments=True),
    Wrapper("timeout", flags="-f --foreground -v --verbose", values="-k --kill-after -s --signal", durations=1),
    Wrapper("nice", values="-n --adjustment"),
    Wrapper("ionice", flags="-t", values="-c --class -n --classdata"),
    Wrapper("time", flags="-p -v --verbose", values="-f --format -o --output", assignments=True),
    Wrapper("command", flags="-p"),
    Wrapper("nohup"),
    Wrapper("stdbuf", values="-i --input -o --output -e --error"),
    Wrapper("unbuffer"),
    Wrapper(
        "xvfb-run", flags="-a --auto-servernum", values="-n --server-num -s --server-args -e --error-file -w --wait"
    ),
    Wrapper("sudo", flags="-E --preserve-env -H -n -S", values="-u --user -g --group", assignments=True),
    Wrapper("npx", flags="-y --yes --no --no-install -q --quiet --offline --prefer-offline", values="-p --package"),
    Wrapper("bunx", flags="--bun --silent --verbose --no-install", values="-p --package"),
    Wrapper("pnpx", flags="-s --silent", values="--package"),
    Wrapper("pnpm", "exec dlx", flags="-s --silent", values="--package"),
    Wrapper("yarn", "exec dlx", flags="-q --quiet", values="-p --package"),
    Wrapper("npm", "exec x", flags="-y --yes --no -s --silent", values="-p --package -w --workspace"),
    Wrapper(
        "uv",
        "run",
        flags=(
            "--frozen --locked --no-sync --isolated --active --exact --offline --no-project --no-env-file --no-config "
            "--all-extras --all-groups --all-packages --dev --no-dev --only-dev --no-default-groups -q --quiet -v "
            "--verbose --no-progress -n --no-cache --native-tls"
        ),
        values=(
            "--with --with-editable --with-requirements -p --python --extra --no-extra --group --no-group "
            "--only-group --package --project --env-file --index --index-url --default-index --cache-dir --color"
        ),
    ),
    Wrapper("uvx", flags="--isolated --offline -q --quiet -v --verbose", values="--from --with -p --python"),
    Wrapper("poetry", "run", flags="-q --quiet -v -vv -vvv -n --no-interaction --ansi --no-ansi"),
    Wrapper("pipenv", "run", flags="-q --quiet -v --verbose"),
    Wrapper("pdm", "run", flags="-q --quiet -v --verbose -s --site-packages", values="--venv"),
    Wrapper("hatch rye", "run"),
    Wrapper("bundle", "exec"),
    Wrapper(
        "conda mamba micromamba",
        "run",
        flags="--no-capture-output --live-stream -v --verbose",
        values="-n --name -p --prefix",
    ),
)
SCRIPT_RUNNERS = {"npm", "pnpm", "yarn", "bun", "deno"}
"""Programs for which `run NAME` counts as `NAME`. For deno, only `task NAME` does, because `deno run` runs a file."""
_NOT_SCRIPTS = {"npm ci", "pnpm ci", "yarn ci", "bun ci", "yarn check", "deno types"}
"""Built-in commands of SCRIPT_RUNNERS, which do not run the script of the same name."""
_SHELL_OPTIONS = {"pipefail", "errexit", "nounset", "xtrace", "verbose"}
_NODE_VALUES = {
    "--import", "--require", "-r", "--loader", "--conditions", "-C", "--env-file", "--test-reporter",
    "--test-reporter-destination", "--test-name-pattern", "--test-skip-pattern", "--test-concurrency", "--test-timeout",
}  # fmt: skip
_PYTHON = re.compile(r"(python|pypy)[\d.]*")
_PYTHON_OPTION = re.compile(
    r"-[bBdEIPqRsSuv]*(?:([mWX])(.*))?", re.S
)  # without -O, which skips assertions, and -i, which loses the exit code
_TEST_FILE = re.compile(r"(test_.*|.*_test|tests|runtests|run_tests)\.py")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_DURATION = re.compile(r"[\d.]+[smhd]?")


def unwrap(words: Sequence[str]) -> Sequence[str]:
    """The words of the program that a command finally runs: `pytest` for `env A=1 uv run python -m pytest`.

    `npm run test` becomes `npm test`. Empty if the program is unknown. Removes at most MAX_NESTING wrappers, so the
    result may begin with another one.
    """
    for _ in range(MAX_NESTING):
        name, rest = program_name(words[0]) if words else "", words[1:]
        wrapper = _find_wrapper(name, rest)
        if name in SCRIPT_RUNNERS and rest[:1] and rest[0] in ("run", "run-script", "task"):
            if name == "deno" and rest[0] == "run":  # runs a file
                return ()
            script = [f"run {word}" if f"{name} {word}" in _NOT_SCRIPTS else word for word in rest[1:2]]
            return [name, *script, *rest[2:]]
        if name == "yarn" and rest[:1] == ["workspace"] and rest[2:3] == ["run"]:
            rest = [*rest[:2], *rest[3:]]
        if name == "yarn" and rest[:1] == ["workspace"]:
            return [name, *rest[2:], "--workspace", *rest[1:2]]
        if name == "php" and rest[:2] == ["artisan", "test"]:
            return rest
        if f"{name} {' '.join(rest[:1])}" in _NOT_SCRIPTS:
            return ()
        if wrapper is not None:
            words = _after_options(wrapper, rest[1:] if wrapper.subcommands else rest)
        elif _PYTHON.fullmatch(name):
            words = _python(rest)
        elif name == "node":
            return _node(rest)
        else:
            break
    return words


def shell_line(words: Sequence[str]) -> str | None:
    """The command line that a shell gets with `-c`. None if there is none, or if it may not run (`bash -nc`)."""
    rest, has_line = list(words[1:]), False
    while rest and len(rest[0]) > 1 and rest[0][0] == "-":
        option = rest.pop(0)
        if option == "--":
            break
        if option in ("--login", "--norc", "--noprofile", "--posix"):
            continue
        names, rest = rest[: option.count("o")], rest[option.count("o") :]
        if not re.fullmatch(r"-[celuxvfo]+", option) or not set(names) <= _SHELL_OPTIONS:
            return None
        has_line = has_line or "c" in option
    return rest[0] if has_line and rest else None


def is_wrapper(name: str, arguments: Sequence[str]) -> bool:
    """Whether a program with these arguments may run another one, whatever its options."""
    wrappers = (wrapper for wrapper in WRAPPERS if name in wrapper.programs.split())
    return any(not each.subcommands or {*each.subcommands.split()} & {*arguments} for each in wrappers)


def _find_wrapper(name: str, rest: Sequence[str]) -> Wrapper | None:
    for wrapper in WRAPPERS:
        subcommands = wrapper.subcommands.split()
        if name in wrapper.programs.split() and (not subcommands or (rest[:1] and rest[0] in subcommands)):
            return wrapper
    return None


def _after_options(wrapper: Wrapper, words: Sequence[str]) -> Sequence[str]:
    """The words after those of the wrapper. Empty if the wrapper has an unknown option."""
    rest, flags, values = list(words), wrapper.flags.split(), wrapper.values.split()
    durations = wrapper.durations
    while rest:
        word = rest[0]
        name, equals, _ = word.partition("=")
        is_option = word[:1] == "-"
        if is_option and word == "--":
            rest = rest[1:]
            break
        if not is_option:
            if not durations and not (wrapper.assignments and _ASSIGNMENT.match(word)):
                break
            if durations and not _DURATION.fullmatch(word):
                return ()
            durations = max(0, durations - 1)
            rest = rest[1:]
        elif word in values:
            rest = rest[2:]
        elif word in flags or (equals and name in values) or _is_attached(word, values) or _is_group(word, flags):
            rest = rest[1:]
        else:
            return ()
    return rest


def _is_attached(word: str, values: Sequence[str]) -> bool:
    """Whether a short option is followed by its value: `-n10`."""
    return word[1:2] != "-" and word[:2] in values


def _is_group(word: str, flags: Sequence[str]) -> bool:
    """Whether the word is a group of one-letter options: `-qv`."""
    return word[1:2] not in ("", "-") and all(f"-{letter}" in flags for letter in word[1:])


def _python(arguments: Sequence[str]) -> Sequence[str]:
    """The module or test file that Python runs, as a command; empty if it runs anything else.

    A test file becomes `python-tests FILE`, and `manage.py test` becomes `django` (names in `verifiers.TABLE`).
    """
    rest = list(arguments)
    while rest and rest[0][:1] == "-" and rest[0] != "-":
        option = _PYTHON_OPTION.fullmatch(rest.pop(0))
        if option is None:
            return ()
        if option[1] == "m":
            return [option[2], *rest] if option[2] else rest
        if option[1] and not option[2]:
            rest = rest[1:]
    file, *others = rest or [""]
    name = file.rpartition("/")[2]
    if name == "manage.py" and others[:1] == ["test"]:
        return ["django", *others[1:]]
    return ["python-tests", file, *others] if _TEST_FILE.fullmatch(name) else ()


def _node(arguments: Sequence[str]) -> Sequence[str]:
    """Node's own test runner as a command (`node-test` in `verifiers.TABLE`); empty without `--test`."""
    at = 0
    while at < len(arguments) and arguments[at][:1] == "-":
        if arguments[at] == "--test":
            return ["node-test", *arguments[:at], *arguments[at + 1 :]]
        at += 2 if arguments[at] in _NODE_VALUES else 1
    return ()
