"""Compares the settings and the commands of tests: CI, scripts, coverage, type checkers, linters."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath

from fairlead.sentences import Sentence
from fairlead.text_lines import split_lines
from fairlead.weakened_tests.commands import Command, options_change, softened
from fairlead.weakened_tests.values import Keys, Scalar, Value, read_values
from fairlead.weakened_tests.weakening import Place, Weakening, line

_FILES = re.compile(
    r"package\.json|tsconfig.*\.json|jsconfig\.json|\.eslintrc(\.json|\.ya?ml)?|\.nycrc(\.json)?|\.c8rc\.json"
    r"|jest\.config\.json|vitest\..*json|\.mocharc(\.json|\.jsonc|\.ya?ml)?|pyrightconfig\.json|biome\.jsonc?"
    r"|pyproject\.toml|\.?ruff\.toml|\.?pytest\.(toml|ini)|cargo\.toml|clippy\.toml|deny\.toml|tarpaulin\.toml"
    r"|nextest\.toml|tox\.ini|setup\.cfg|\.coveragerc|\.?mypy\.ini|\.flake8|\.?pylintrc|\.?codecov\.ya?ml"
    r"|\.golangci\.ya?ml|\.pre-commit-config\.ya?ml|\.gitlab-ci\.ya?ml|\.travis\.ya?ml|azure-pipelines.*\.ya?ml"
    r"|\.drone\.ya?ml|appveyor\.ya?ml|\.appveyor\.ya?ml|bitbucket-pipelines\.ya?ml|\.cirrus\.ya?ml|taskfile\.ya?ml"
    r"|cloudbuild\.ya?ml|buildspec\.ya?ml|lefthook\.ya?ml|deno\.jsonc?"
)
_CI_FOLDERS = re.compile(
    r"(.*/)?(\.github/(workflows|actions)|\.circleci|\.gitlab|\.buildkite|\.woodpecker|\.gitea)/.+\.ya?ml"
)
_SCRIPTS = re.compile(r"(gnu)?makefile|.*\.mk|justfile|.*\.(sh|bash)|jenkinsfile|dockerfile|\.?envrc", re.I)

# settings by the end of their keys, joined with `.`; `*` is any key
_MINIMUMS = re.compile(
    r"(.*\.)?(fail[_-]under|(coverageThreshold|thresholds?|threshold)\..*(branches|functions|lines|statements)"
    r"|check-coverage\..*|(nyc|c8)\.(branches|functions|lines|statements)|(branches|functions|lines|statements)"
    r"|coverage\.status\..*\.target|min-?coverage)"
)
_MAXIMUMS = re.compile(
    r"(.*\.)?(testTimeout|retries|retryTimes|reruns|flaky_reruns|max-warnings|maxWarnings|retry(\.max)?)"
)
_TOLERANT = re.compile(
    r"(.*\.)?(continue-on-error|continueOnError|allow_failure|soft_fail|ignore_errors|ignore_missing_imports"
    r"|passWithNoTests|skipLibCheck|suppress\w+|ignore_failure|ignoreFailures|testFailureIgnore|allow_failures"
    r"|ignore_outcome|skip_covered|informational|disableTypeChecks|allowUnreachableCode|ignore-errors|skip)"
)
_STRICT = re.compile(
    r"(.*\.)?(strict\w*|no(Implicit|Unused|Unchecked|Fallthrough)\w+|disallow_\w+|warn_\w+|check_untyped_defs"
    r"|no_implicit_\w+|extra_checks|xfail_strict|exactOptionalPropertyTypes|alwaysStrict|useUnknownInCatchVariables"
    r"|fail_ci_if_error|forbidOnly|forbid-only|check-coverage|checkCoverage|branch|errorOnDeprecated"
    r"|strict_optional|checkJs|noEmitOnError)"
)
_LEVELS = re.compile(r"(.*\.)?(rules\..+|report\w+|typeCheckingMode|lints\..+)")
_STEPS: Mapping[str, int] = {
    "off": 0,
    "0": 0,
    "none": 0,
    "false": 0,
    "allow": 0,
    "information": 1,
    "warn": 1,
    "1": 1,
    "warning": 1,
    "basic": 1,
    "standard": 2,
    "error": 3,
    "2": 3,
    "deny": 3,
    "true": 3,
    "strict": 3,
    "recommended": 2,
    "forbid": 4,
}
_EXCLUSIONS = re.compile(
    r"(.*\.)?(ignore|extend-ignore|per-file-ignores(\..*)?|omit|exclude_lines|exclude_also|testPathIgnorePatterns"
    r"|norecursedirs|coveragePathIgnorePatterns|modulePathIgnorePatterns|collect_ignore|disable|ignorePatterns"
    r"|lint\.ignore|lint\.extend-ignore|pytest.*\.filterwarnings|excludePaths|exclude-rules|coverage\..*exclude)"
)
_SELECTIONS = re.compile(
    r"(.*\.)?(testpaths|select|extend-select|lint\.select|testMatch|testRegex|enable|python_files)"
)
_OPTIONS = re.compile(r"(.*\.)?(addopts|pytest_args|PYTEST_ADDOPTS|RUSTFLAGS|args)")
_COMMANDS = re.compile(
    r"scripts\.[^.]+|(.*\.)?(run|script|scripts|before_script|after_script|commands?|bash|test_script|build_script|cmds?"
    r"|steps|inline|entry)"
)
_NEVER_VALUES = ("false", "never", "manual", "${{ false }}", "${{false}}")
_NEVER = re.compile(r"(.*\.)?(if|when|condition|enabled)")


def is_settings(path: str) -> bool:
    """Whether a file may have settings or commands of tests."""
    name = PurePosixPath(path).name.lower()
    return bool(_FILES.fullmatch(name) or _CI_FOLDERS.fullmatch(path) or _SCRIPTS.fullmatch(name))


def compare_settings(path: str, old: str, new: str | None) -> list[Weakening]:
    """What a change of such a file makes less strict. A deleted file has no commands anymore."""
    if _SCRIPTS.fullmatch(PurePosixPath(path).name.lower()):
        return _of_commands(_script_commands(old), _script_commands(new or ""))
    before, after = read_values(path, old), read_values(path, new or "")
    if not before or (new is not None and not after and new.strip()):
        return []  # it cannot be read, so whatever reads it fails
    found = _of_commands(_commands(before), _commands(after))
    if new is not None:
        found += _of_values(before, after, is_yaml=path.lower().endswith((".yml", ".yaml")))
    return list(dict.fromkeys(found))


def _of_commands(old: Sequence[Command], new: Sequence[Command]) -> list[Weakening]:
    found: list[Weakening] = []
    for each in softened(old, new):
        places = [line("new", each.new_line)] if each.new_line is not None else []
        found.append(Weakening(each.reason, (*places, line("old", each.old_line))))
    return found


def _script_commands(text: str) -> list[Command]:
    """The lines of a script or a makefile, joined where a backslash continues them."""
    lines, found, number = split_lines(text), list[Command](), 0
    while number < len(lines):
        start, command = number, lines[number].rstrip("\r\n")
        while command.endswith("\\") and number + 1 < len(lines):
            number += 1
            command = command[:-1] + lines[number].rstrip("\r\n")
        number += 1
        plain = command.strip().lstrip("@")
        # make goes on after the failure of a command with `-`
        plain = f"{plain[1:]} || true" if plain.startswith("-") and command[:1] == "\t" else plain
        plain = re.sub(r"^(sh|bat)\s+['\"](.*)['\"]$", r"\2", plain)
        if plain and not plain.startswith("#"):
            found.append(Command(plain, start))
    return found


def _commands(values: Sequence[Value]) -> list[Command]:
    found: list[Command] = []
    for each in values:
        key = _key(each.keys)
        if isinstance(each.value, str) and _COMMANDS.fullmatch(key):
            found.append(Command(each.value.strip(), each.line))
    return found


def _key(keys: Keys) -> str:
    """The keys as one text, without the names of the entries of lists at its end."""
    while keys and keys[-1].startswith("["):
        keys = keys[:-1]
    return ".".join(keys)


def _of_values(old: Sequence[Value], new: Sequence[Value], *, is_yaml: bool) -> Iterator[Weakening]:
    before, after = ({each.keys: each for each in values} for values in (old, new))
    parents = {each.keys[:depth] for each in old for depth in range(len(each.keys))}
    for keys, now in after.items():
        was = before.get(keys)
        if was is not None and was.value == now.value and type(was.value) is type(now.value):
            continue
        if was is None and keys[:-1] not in parents:
            continue  # a new step or table
        yield from _of_value(_key(keys), was, now)
        if is_yaml:
            yield from _of_condition(_key(keys), now)
    for keys, was in before.items():
        key = _key(keys)
        if keys not in after and (_is_strict(key, was.value) or _has_minimum(key, was.value)):
            yield Weakening(Sentence("The setting {0} is removed.", _shown(key)), (line("old", was.line),))
    yield from _of_lists(old, new)


def _of_value(key: str, was: Value | None, now: Value) -> Iterator[Weakening]:
    old, new = (was.value if was is not None else None), now.value
    places = (line("new", now.line), *([line("old", was.line)] if was is not None else []))
    shown = _shown(key)
    looser = Sentence("The setting {0} is less strict: {1} instead of {2}.", shown, _text(new), _text(old))
    if _has_minimum(key, new) and _has_minimum(key, old) and _number(new) < _number(old):
        yield Weakening(looser, places)
    elif _MAXIMUMS.fullmatch(key) and _is_number(new) and _number(new) > (_number(old) if _is_number(old) else 0):
        if old is not None or "imeout" not in key:
            yield Weakening(looser, places)
    elif _TOLERANT.fullmatch(key) and new is True:
        yield Weakening(Sentence("The setting {0} lets failures pass.", shown), places)
    elif (_is_strict(key, old) and new in (False, "off", "false")) or (
        _LEVELS.fullmatch(key) and was is not None and _step(new) < _step(old)
    ):
        yield Weakening(looser, places)
    elif _OPTIONS.fullmatch(key) and isinstance(new, str):
        change = options_change(old if isinstance(old, str) else "", new)
        if change:
            yield Weakening(Sentence("The options of the tests are looser: {0}", change), places)


def _of_condition(key: str, now: Value) -> Iterator[Weakening]:
    """A condition of a workflow that is never true."""
    value = now.value
    if _NEVER.fullmatch(key) and (value is False or value in _NEVER_VALUES):
        words = Sentence("The setting {0} keeps a step from running: {1}", _shown(key), _text(value))
        yield Weakening(words, (line("new", now.line),))


def _of_lists(old: Sequence[Value], new: Sequence[Value]) -> Iterator[Weakening]:
    """Lists of exclusions that got longer, lists of selections that got shorter, and options in lists."""
    before, after = _lists(old), _lists(new)
    for key in {**before, **after}:
        was, now = before.get(key, {}), after.get(key, {})
        added = [text for text in now if text not in was]
        removed = [text for text in was if text not in now]
        if _EXCLUSIONS.fullmatch(key) and added and not (key.endswith("filterwarnings") and "error" in added[0]):
            places = (line("new", now[added[0]]),)
            yield Weakening(Sentence("The setting {0} excludes more: {1}", _shown(key), ", ".join(added)), places)
        elif _SELECTIONS.fullmatch(key) and removed and now:
            at = Place("old", was[removed[0]], was[removed[0]] + 1), line("new", next(iter(now.values())))
            yield Weakening(Sentence("The setting {0} selects less: without {1}", _shown(key), ", ".join(removed)), at)
        elif _OPTIONS.fullmatch(key) and (change := options_change(" ".join(was), " ".join(now))) and was:
            at = next(iter(now.values()), 0)
            words = Sentence("The options of the tests are looser: {0}", change)
            places = (line("new", now[added[0]] if added else at), *(line("old", was[text]) for text in removed[:1]))
            yield Weakening(words, places)


def _lists(values: Sequence[Value]) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for each in values:
        key = _key(each.keys)
        is_entry = bool(each.keys) and each.keys[-1].startswith("[")
        relevant = _EXCLUSIONS.fullmatch(key) or _SELECTIONS.fullmatch(key)
        if is_entry and (relevant or _OPTIONS.fullmatch(key)):
            found.setdefault(key, {})[str(each.value)] = each.line
        elif relevant and isinstance(each.value, str):
            for part in filter(None, re.split(r"[,\s]+", each.value)):
                found.setdefault(key, {})[part] = each.line
    return found


def _has_minimum(key: str, value: Scalar) -> bool:
    return bool(_MINIMUMS.fullmatch(key)) and _is_number(value)


def _is_strict(key: str, value: Scalar) -> bool:
    return bool(_STRICT.fullmatch(key)) and value in (True, "true", "on")


def _is_number(value: Scalar) -> bool:
    if isinstance(value, bool):
        return False
    return isinstance(value, int | float) or (isinstance(value, str) and bool(re.fullmatch(r"\d+(\.\d+)?%?", value)))


def _number(value: Scalar) -> float:
    return float(str(value).rstrip("%"))


def _step(value: Scalar) -> int:
    text = str(value).lower()
    return _STEPS.get(text, 3) if not _is_number(value) else _STEPS.get(f"{_number(value):g}", 3)


def _text(value: Scalar) -> str:
    return "nothing" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def _shown(key: str) -> str:
    return key.rpartition(".")[2] if len(key) > 40 else key
