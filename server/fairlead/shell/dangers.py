"""Arguments with which harmless-looking programs run other programs or write files. A rule's `*` does not cover them.

The table does not say that a command is harmful, only that a user who allowed `find *` did not think of `find -delete`.
A rule that names the argument itself allows it (docs/commands.md).
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from fairlead.shell.words import Word

RUNS, WRITES, STATE = "runs other programs", "writes or deletes files", "changes what later commands do"


@dataclass(frozen=True, slots=True)
class Danger:
    """A dangerous word of a command."""

    index: int
    """Its index in the command's words."""
    effect: str
    """What it does, as a predicate: "runs other programs"."""


@dataclass(frozen=True, slots=True)
class Row:
    """Dangerous arguments of some programs. Fields with several names are separated by blanks."""

    programs: str
    effect: str
    long: str = ""
    """Long options; abbreviations match too."""
    short: str = ""
    """Letters of short options, which also match in clusters (`-xvF`)."""
    words: str = ""
    """A regular expression for whole words."""
    subcommands: str = ""
    """The row applies only to these subcommands."""
    every: bool = False
    """Every argument is dangerous."""


TABLE = (
    Row("find", RUNS, words="-(exec|execdir|ok|okdir)"),
    Row("find", WRITES, words="-(delete|fls|fprint.*)"),
    Row("fd fdfind", RUNS, long="--exec --exec-batch", short="xX"),
    Row("rg", RUNS, long="--pre --hostname-bin"),
    Row("sort", RUNS, long="--compress-program"),
    Row("sort shuf", WRITES, long="--output", short="o"),
    Row("tree", WRITES, short="o"),
    Row("split", RUNS, long="--filter"),
    Row("tar", RUNS, long="--to-command --checkpoint-action --use-compress-program --rsh-command --rmt-command"),
    Row("tar", RUNS, long="--info-script --new-volume-script", short="IF", words="[A-Za-z]*[IF][A-Za-z]*"),
    Row("zip", RUNS, long="--unzip-command", short="T"),
    Row("rsync", RUNS, long="--rsh --rsync-path", short="e"),
    Row("scp sftp", RUNS, short="oSDF"),
    Row("curl", WRITES, long="--output --remote-name --config --dump-header --cookie-jar --trace", short="oOKDc"),
    Row("wget", RUNS, long="--use-askpass --execute --config", short="e"),
    Row("wget", WRITES, long="--output-document --output-file --directory-prefix", short="OoP"),
    Row("man", RUNS, long="--pager --html", short="PH"),
    Row("fzf", RUNS, long="--preview --bind --become --execute"),
    Row("vi vim nvim view ex", RUNS, short="cS", long="--cmd", words=r"\+.*"),
    Row("emacs", RUNS, long="--eval --execute --load --script --funcall", words="-(eval|l|f|load|script|funcall)"),
    Row("gdb lldb", RUNS, long="--eval-command --command --init-eval-command", words="-(ex|x|iex|ix|o|O|s)"),
    Row("python python3 pypy pypy3", RUNS, short="c", words="-"),
    Row("node deno bun", RUNS, long="--eval --print --require --import --loader", short="epr", words="-|eval"),
    Row("perl ruby", RUNS, short="eEirIM", words="-"),
    Row("php", RUNS, short="rBRFa", long="--run"),
    Row("lua", RUNS, short="eli"),
    Row("sh bash zsh dash ksh fish", RUNS, long="--command --rcfile --init-file", short="csiC", words="-"),
    Row("make gmake", RUNS, long="--eval --file --makefile --directory", short="EfC", words=".*=.*"),
    Row("npm pnpm yarn npx", RUNS, long="--script-shell --node-options --prefix --call", short="c"),
    Row("go", RUNS, long="--exec --toolexec", words="-(exec|toolexec|vettool|o)(=.*)?"),
    Row("cargo", RUNS, long="--config"),
    Row("git", RUNS, long="--ext-diff --textconv --open-files-in-pager --upload-pack --receive-pack --exec --extcmd"),
    Row("git", WRITES, long="--output"),
    Row("git", RUNS, subcommands="grep", short="O"),
    Row("git", RUNS, subcommands="rebase", short="xi"),
    Row("git", RUNS, subcommands="clone", long="--config --template", short="uc"),
    Row(
        "git", RUNS, subcommands="config bisect submodule filter-branch difftool mergetool hook maintenance", every=True
    ),
    Row("xargs parallel", RUNS, every=True),
    Row("eval source . trap", RUNS, every=True),
    Row("set shopt alias unalias enable hash read readarray mapfile getopts let test [ bind", STATE, every=True),
    Row("complete compgen compopt fc history wait unset export declare typeset local readonly", STATE, every=True),
    Row("printf", STATE, short="v"),
    Row("tee truncate", WRITES, every=True),
    Row("dd", WRITES, words="of=.*"),
)
# programs that run the command in their arguments
WRAPPERS = {
    "env", "sudo", "doas", "su", "runuser", "timeout", "nice", "ionice", "chrt", "taskset", "nohup", "time", "command",
    "builtin", "exec", "setsid", "stdbuf", "unbuffer", "strace", "ltrace", "unshare", "nsenter", "chroot", "flock",
    "watch", "entr", "script", "busybox", "xargs", "parallel", "ssh", "find", "fd", "fdfind",
}  # fmt: skip
_GIT_HARMLESS = {"--no-pager", "-P", "--version", "--help", "--no-optional-locks", "--literal-pathspecs"}
_SED_OPTIONS = re.compile(r"-[nErsuz]*e?|--(quiet|silent|regexp-extended|expression(=.*)?|null-data)", re.S)
_SED_ADDRESS = r"(?:\d+|\$|/[^/\\\n]*/)"
_SED_SUBSTITUTION = r"s([/|,#:@])(?:(?!\1)[^\\\n]|\\.)*\1(?:(?!\1)[^\\\n]|\\.)*\1[gpI\d]*"
_SED_SCRIPT = re.compile(rf"(?:{_SED_ADDRESS}(?:,{_SED_ADDRESS})?)?!?(?:[pdq=]|{_SED_SUBSTITUTION})")
_AWK_OPTIONS = re.compile(r"-[Fv].*|--(field-separator|assign)(=.*)?", re.S)
_AWK_PROGRAM = re.compile(r"system|getline|[|>@]")


def dangers(words: Sequence[Word]) -> Iterator[Danger]:
    """The words of a command that a `*` does not cover, including each word that may turn out to be such an option."""
    name = program(words)
    if name in ("sed", "gsed"):
        yield from _sed(words)
    elif name in ("awk", "gawk", "mawk", "nawk"):
        yield from _awk(words)
    elif name == "git":
        yield from _git(words)
    else:
        yield from _listed(words, [row for row in TABLE if name in row.programs.split()], 1)
        if name in WRAPPERS - {"find", "fd", "fdfind", "xargs", "parallel"}:
            yield from _wrapped(words)


def program(words: Sequence[Word]) -> str:
    """The name of the program without its folder. Empty if unknown."""
    return (words[0].value or "").rpartition("/")[2] if words else ""


def _listed(words: Sequence[Word], rows: Sequence[Row], first: int) -> Iterator[Danger]:
    for index, word in enumerate(words[first:], first):
        for row in rows:
            if row.every or _matches(row, word):
                yield Danger(index, row.effect)
                break


def _matches(row: Row, word: Word) -> bool:
    if word.value is None:  # it may be an option, or match a pattern that does not begin with `-`
        return not word.prefix or word.prefix.startswith("-") or (row.words != "" and not row.words.startswith("-"))
    if row.words and re.fullmatch(row.words, word.value, re.S):
        return True
    if word.value.startswith("--"):
        name = word.value.partition("=")[0]
        return len(name) > 2 and any(option.startswith(name) for option in row.long.split())
    return bool(row.short) and re.match(rf"-[A-Za-z0-9]*[{row.short}]", word.value) is not None


def _wrapped(words: Sequence[Word]) -> Iterator[Danger]:
    """All words before the wrapped command, then the dangers of that command."""
    for index, word in enumerate(words[1:], 1):
        yield Danger(index, RUNS)
        if word.value is None or not re.match(r"-|[\d.]+[a-z]?$|\w+=", word.value):
            yield from (Danger(index + inner.index, inner.effect) for inner in dangers(words[index:]))
            return


def _git(words: Sequence[Word]) -> Iterator[Danger]:
    for index, word in enumerate(words[1:], 1):
        if word.value in _GIT_HARMLESS:
            continue
        if word.value is None or word.value.startswith("-"):
            yield Danger(index, "can make git run other programs")
            continue
        rows = [row for row in TABLE if row.programs == "git" and word.value in (row.subcommands or word.value).split()]
        yield from _listed(words, rows, index + 1)
        return


def _sed(words: Sequence[Word]) -> Iterator[Danger]:
    """All scripts except a few plain ones, because sed's language can write files and run commands."""
    script_next = seen = False
    for index, word in enumerate(words[1:], 1):
        value = word.value
        if value is None:
            if script_next or not seen or word.prefix[:1] in ("", "-"):
                yield Danger(index, RUNS)
            script_next = False
        elif script_next or not (seen or value.startswith("-")):
            script_next, seen = False, True
            if not _SED_SCRIPT.fullmatch(value):
                yield Danger(index, "may write files or run other programs")
        elif value.startswith("-"):
            script = value.partition("=")[2]
            if not _SED_OPTIONS.fullmatch(value) or (script and not _SED_SCRIPT.fullmatch(script)):
                yield Danger(index, WRITES)
            seen = seen or bool(script)
            script_next = not script and (value == "--expression" or (value[1] != "-" and value.endswith("e")))


def _awk(words: Sequence[Word]) -> Iterator[Danger]:
    value_next = seen = False
    for index, word in enumerate(words[1:], 1):
        value = word.value
        if value_next:
            value_next = False
        elif value is None:
            if not seen or word.prefix[:1] in ("", "-"):
                yield Danger(index, RUNS)
        elif value.startswith("-") and not seen:
            value_next = value in ("-F", "-v", "--field-separator", "--assign")
            if not _AWK_OPTIONS.fullmatch(value):
                yield Danger(index, RUNS)
        elif not seen:
            seen = True
            if _AWK_PROGRAM.search(value):
                yield Danger(index, RUNS)
