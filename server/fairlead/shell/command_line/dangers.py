"""Arguments with which harmless-looking programs run other programs or write files. A rule's `*` does not cover them.

The table does not say that a command is harmful, only that a user who allowed `find *` did not think of `find -delete`.
A rule that names the argument itself allows it (docs/commands.md).
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from fairlead.shell.command_line.words import Word, program_name

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
    """Dangerous arguments of some programs. Names in a field are separated by spaces."""

    programs: str
    effect: str
    long: str = ""
    """Long options; abbreviations match too."""
    short: str = ""
    """Letters of short options, which also match in clusters (`-xvF`)."""
    words: str = ""
    """A regular expression for whole words."""
    subcommands: str = ""
    """The row applies only to these subcommands. Has an effect only in rows for git."""
    operand: int = 0
    """The operand with this number and the following ones are dangerous: `uniq INPUT OUTPUT`. 0: none is."""
    values: str = ""
    """Options that take the next word as their value. Only rows with `operand` need them."""
    every: bool = False
    """Every argument is dangerous."""


TABLE = (
    Row("find", RUNS, words="-(exec|execdir|ok|okdir)"),
    Row("find", WRITES, words="-(delete|fls|fprint.*)"),
    Row("fd fdfind", RUNS, long="--exec --exec-batch", short="xX"),
    Row("rg", RUNS, long="--pre --hostname-bin"),
    Row("sort", RUNS, long="--compress-program"),
    Row("sort shuf", WRITES, long="--output", short="o"),
    Row("tree", WRITES, short="oR"),
    Row("uniq", WRITES, operand=2, values="-f -s -w --skip-fields --skip-chars --check-chars"),
    Row("xxd", WRITES, operand=2, values="-c -cols -g -groupsize -l -len -n -name -o -s -seek -R"),
    Row("ptx", WRITES, long="--traditional", short="G"),
    Row("sdiff iconv info base64", WRITES, long="--output --dribble", short="o"),
    Row("sdiff diff3", RUNS, long="--diff-program"),
    Row("less more", RUNS, long="--lesskey-file --lesskey-src --lesskey-content", short="k", words=r"\+.*"),
    Row("less", WRITES, long="--log-file --LOG-FILE", short="oO"),
    Row("bat batcat delta ag ack ugrep ug", RUNS, long="--pager --view --filter --ackrc --output --config-file"),
    Row("file", WRITES, long="--compile", short="C"),
    Row("nm ar ranlib strip objdump size", RUNS, long="--plugin", words="-plugin.*"),
    Row("ldd", RUNS, every=True),
    Row("dc", RUNS, long="--expression --file", short="ef"),
    Row("jobs", RUNS, short="x"),
    Row("yq", WRITES, long="--inplace --in-place --split-exp --split-exp-file", short="is"),
    Row("xmllint xsltproc", WRITES, long="--output --writesubtree", words="-o.*"),
    Row(
        "sqlite3", RUNS, words=r"--?(cmd|init|interactive)|(.*\n)?\s*\..*|(?i:.*(load_extension|writefile|edit)\s*\(.*)"
    ),
    Row("psql mysql mariadb", RUNS, words=r".*\\.*|(?i:.*\b(program|system)\b.*)", long="--pager --file", short="f"),
    Row("psql mysql mariadb", WRITES, long="--output --log-file --tee", short="oL"),
    Row("openssl", RUNS, words="-(engine|provider|provider-path|config)"),
    Row("openssl", WRITES, words="-(out|keyout|writerand|CAserial|CAcreateserial|cafile|sess_out|keylogfile|msgfile)"),
    Row(
        "gpg gpg2", WRITES, long="--output --logger-file --status-file --attribute-file --homedir --options", short="o"
    ),
    Row("pandoc", RUNS, long="--filter --lua-filter --pdf-engine --defaults --data-dir", short="FLd"),
    Row("pandoc", WRITES, long="--output --extract-media --log", short="o"),
    Row("dot neato fdp sfdp circo twopi", WRITES, short="oO"),
    Row("exiftool", RUNS, words="-(if|config|api|userParam|@|execute)[0-9]*"),
    Row("exiftool", WRITES, words="-.*=.*|-([woW]|(overwrite|delete|tagsFromFile|textOut).*)[!+]*"),
    Row("journalctl dmesg", WRITES, long="--vacuum-size --vacuum-time --vacuum-files --rotate --flush --cursor-file"),
    Row("dmesg", WRITES, long="--clear --read-clear --console-off --console-on --console-level", short="cCDEn"),
    Row("tcpdump tshark", RUNS, long="--postrotate-command", short="zX"),
    Row("tcpdump tshark", WRITES, short="w"),
    Row("nc ncat netcat", RUNS, long="--exec --sh-exec --lua-exec", short="ec"),
    Row("nc ncat netcat", WRITES, long="--output --hex-dump --append-output", short="ox"),
    Row("nmap", RUNS, long="--script --datadir"),
    Row("nmap", WRITES, words="-o.*"),
    Row("split", RUNS, long="--filter"),
    Row("tar", RUNS, long="--to-command --checkpoint-action --use-compress-program --rsh-command --rmt-command"),
    Row("tar", RUNS, long="--info-script --new-volume-script", short="IF", words="[A-Za-z]*[IF][A-Za-z]*"),
    Row("zip", RUNS, long="--unzip-command", short="T"),
    Row("rsync", RUNS, long="--rsh --rsync-path --remote-option", short="eM"),
    Row(
        "rsync",
        WRITES,
        long="--log-file --write-batch --only-write-batch --backup-dir --partial-dir --temp-dir",
        short="T",
    ),
    Row("rsync", WRITES, words="--del.*|--remove-source-files"),
    Row("scp sftp", RUNS, short="oSDF"),
    Row("curl", WRITES, long="--output --output-dir --remote-name --remote-name-all --remote-header-name", short="oOJ"),
    Row("curl", WRITES, long="--dump-header --cookie-jar --etag-save --hsts --alt-svc --ssl-sessions", short="Dc"),
    Row("curl", WRITES, long="--trace --trace-ascii --stderr --libcurl --config", short="K"),
    Row("curl", RUNS, long="--engine"),
    Row("wget", RUNS, long="--use-askpass --execute --config", short="e"),
    Row("wget", WRITES, long="--output-document --output-file --append-output --directory-prefix", short="OoPa"),
    Row("wget", WRITES, long="--save-cookies --hsts-file --rejected-log --warc-file --warc-tempdir --warc-dedup"),
    Row("man", RUNS, long="--pager --html --config-file --preprocessor", short="PHCp"),
    Row("fzf", RUNS, long="--preview --bind --become --execute"),
    Row("vi vim nvim view ex vimdiff", RUNS, short="cSuUsl", long="--cmd", words=r"\+.*"),
    Row("vi vim nvim view ex vimdiff", WRITES, short="wWVi", long="--startuptime"),
    Row("emacs", RUNS, long="--eval --execute --load --script --funcall", words="-(eval|l|f|load|script|funcall)"),
    Row("gdb lldb", RUNS, long="--eval-command --command --init-eval-command", words="-(ex|x|iex|ix|o|O|s)"),
    Row("python python3 pypy pypy3", RUNS, short="c", words="-"),
    Row("node deno bun", RUNS, long="--eval --print --require --import --loader", short="epr", words="-|eval"),
    Row("node", RUNS, long="--experimental-loader --env-file --env-file-if-exists --run --build-snapshot --conditions"),
    Row("node", WRITES, long="--cpu-prof --heap-prof --prof --redirect-warnings --trace-event-file-pattern"),
    Row("deno", RUNS, long="--allow-all --allow-run --allow-ffi --allow-write --allow-net --allow-env", short="A"),
    Row("perl ruby", RUNS, short="eEirIMmdSxC", words="-"),
    Row("php", RUNS, short="rBRFaEdzcS", long="--run --define --php-ini"),
    Row("lua", RUNS, short="eli"),
    Row("sh bash zsh dash ksh fish", RUNS, long="--command --rcfile --init-file", short="csiC", words="-"),
    Row("make gmake", RUNS, long="--eval --file --makefile --directory", short="EfC", words=".*=.*"),
    Row("npm pnpm yarn npx", RUNS, long="--script-shell --node-options --prefix --call", short="c"),
    Row("go", RUNS, words="--?(exec|toolexec|vettool|o|overlay|modfile|C)(=.*)?"),
    Row("go gofmt goimports", WRITES, words="--?([wu]|outputdir|trace|(cover|cpu|mem|block|mutex)profile)(=.*)?"),
    Row("cargo", RUNS, long="--config --manifest-path", short="C"),
    Row("cargo", WRITES, long="--fix --target-dir --out-dir --artifact-dir --lockfile-path"),
    Row(
        "gcc g++ cc c++ clang clang++",
        RUNS,
        words="-(wrapper|f(pass-)?plugin|fuse-ld|-?specs|-plugin|-?ld-path|B).*|@.*",
    ),
    Row("cmake", RUNS, words="-[EPC].*"),
    Row("ctest", RUNS, words="-(S|SP)|--(script|script-new-process|build-and-test)(=.*)?"),
    Row("ctest", WRITES, words="-O|--output-(log|junit)(=.*)?"),
    Row(
        "mvn mvnw", RUNS, words=r"-([fst]|gs|gt)|--(file|settings|global-settings|toolchains).*|-D(exec|maven\.ext)\b.*"
    ),
    Row("gradle gradlew", RUNS, long="--init-script --build-file --settings-file --project-dir", short="Ibcpg"),
    Row("gradle gradlew", RUNS, long="--include-build --gradle-user-home"),
    Row("pip pip3", RUNS, long="--python"),
    Row("pip pip3", WRITES, long="--log --report --target --root --prefix --dest --wheel-dir", short="td"),
    Row("pytest py.test", WRITES, long="--basetemp --junitxml --junit-xml --log-file --report-log --debug"),
    Row("mypy", RUNS, long="--python-executable --config-file --install-types"),
    Row("mypy", WRITES, long="--cache-dir --junit-xml", words="--.*-report(=.*)?"),
    Row("pylint flake8", RUNS, long="--init-hook --load-plugins --rcfile --config --append-config"),
    Row("pylint flake8 bandit", WRITES, long="--output --output-file", short="o"),
    Row("pyright basedpyright", RUNS, long="--pythonpath --createstub"),
    Row("ruff", WRITES, long="--fix --fix-only --add-noqa --output-file --cache-dir", short="o"),
    Row("eslint stylelint", RUNS, long="--rulesdir --plugin --parser --config --format --formatter", short="cf"),
    Row("eslint stylelint", RUNS, long="--resolve-plugins-relative-to --custom-syntax --custom-formatter"),
    Row("eslint stylelint", WRITES, long="--fix --output-file --cache-location --cache-file --init", short="o"),
    Row("eslint stylelint", WRITES, long="--suppress-all --suppress-rule --prune-suppressions --suppressions-location"),
    Row("prettier", RUNS, long="--plugin --config"),
    Row("prettier", WRITES, long="--write --cache-location", short="w"),
    Row("terraform tofu", RUNS, words="--?chdir(=.*)?"),
    Row("terraform tofu", WRITES, words="--?(out|state-out|backup|generate-config-out)(=.*)?"),
    Row("git", RUNS, long="--ext-diff --textconv --open-files-in-pager --upload-pack --receive-pack --exec --extcmd"),
    Row("git", WRITES, long="--output"),
    Row("git", RUNS, subcommands="grep", short="O"),
    Row("git", RUNS, subcommands="rebase", short="xi"),
    Row("git", WRITES, subcommands="format-patch archive", short="o", long="--output-directory"),
    Row("git", WRITES, subcommands="fast-export", long="--export-marks"),
    Row("git", RUNS, subcommands="for-each-repo send-email instaweb fast-import", every=True),
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
# programs that run the command in their arguments, except package runners: a user who allows `uv run *` means the
# command after it. `wrappers.WRAPPERS` serves another purpose: it lists only programs with known options that exit with
# the code of the other program.
COMMAND_RUNNERS = {
    "env", "sudo", "doas", "su", "runuser", "timeout", "nice", "ionice", "chrt", "taskset", "nohup", "time", "command",
    "builtin", "exec", "setsid", "stdbuf", "unbuffer", "xvfb-run", "strace", "ltrace", "unshare", "nsenter", "chroot",
    "flock", "watch", "entr", "script", "busybox", "xargs", "parallel", "ssh", "find", "fd", "fdfind",
}  # fmt: skip
_GIT_HARMLESS = {"--no-pager", "-P", "--version", "--help", "--no-optional-locks", "--literal-pathspecs"}
_GIT_VALUES = {
    "-C", "-c", "--git-dir", "--work-tree", "--namespace", "--super-prefix", "--config-env", "--attr-source",
}  # fmt: skip
_SED_OPTIONS = re.compile(r"-[nErsuz]*e?|--(quiet|silent|regexp-extended|expression(=.*)?|null-data)", re.S)
_SED_ADDRESS = r"(?:\d+|\$|/[^/\\\n]*/)"
_SED_SUBSTITUTION = r"s([/|,#:@])(?:(?!\1)[^\\\n]|\\.)*\1(?:(?!\1)[^\\\n]|\\.)*\1[gpI\d]*"
_SED_SCRIPT = re.compile(rf"(?:{_SED_ADDRESS}(?:,{_SED_ADDRESS})?)?!?(?:[pdq=]|{_SED_SUBSTITUTION})")
_AWK_OPTIONS = re.compile(r"-[Fv].*|--(field-separator|assign)(=.*)?", re.S)
_AWK_PROGRAM = re.compile(r"system|getline|[|>@]")


def dangers(words: Sequence[Word]) -> Iterator[Danger]:
    """The words of a command that a `*` does not cover, including those that bash may expand to dangerous ones."""
    name = program(words)
    if name in ("sed", "gsed"):
        yield from _sed(words)
    elif name in ("awk", "gawk", "mawk", "nawk"):
        yield from _awk(words)
    elif name == "git":
        yield from _git(words)
    else:
        yield from _listed(words, [row for row in TABLE if name in row.programs.split()], 1)
        if name in COMMAND_RUNNERS - {"find", "fd", "fdfind", "xargs", "parallel"}:
            yield from _wrapped(words)


def program(words: Sequence[Word]) -> str:
    """The name of the program without its folder. Empty if unknown."""
    return program_name(words[0].value or "") if words else ""


def _listed(words: Sequence[Word], rows: Sequence[Row], first: int) -> Iterator[Danger]:
    operands = {row: set(_operands(words, row, first)) for row in rows if row.operand}
    for index, word in enumerate(words[first:], first):
        for row in rows:
            if row.every or index in operands.get(row, ()) or _matches(row, word):
                yield Danger(index, row.effect)
                break


def _operands(words: Sequence[Word], row: Row, first: int) -> Iterator[int]:
    """The indexes of dangerous operands. A word that may become several, such as `*`, counts as dangerous."""
    count, options_end, is_value = 0, False, False
    for index, word in enumerate(words[first:], first):
        text = word.value or word.prefix
        if is_value and word.value is not None:
            is_value = False
        elif options_end or not text.startswith("-") or text == "-":
            is_value = False
            count += 1 if word.value is not None else row.operand
            if count >= row.operand:
                yield index
        else:
            options_end = text == "--"
            is_value = text in row.values.split()


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
    """All words up to and including the name of the wrapped program, then the dangers of that program."""
    for index, word in enumerate(words[1:], 1):
        yield Danger(index, RUNS)
        if word.value is None or not re.match(r"-|[\d.]+[a-z]?$|\w+=", word.value):
            yield from (Danger(index + inner.index, inner.effect) for inner in dangers(words[index:]))
            return


def _git(words: Sequence[Word]) -> Iterator[Danger]:
    is_value = False
    for index, word in enumerate(words[1:], 1):
        if is_value and word.value is not None:
            is_value = False
        elif word.value is None or word.value.startswith("-"):
            if word.value not in _GIT_HARMLESS:
                yield Danger(index, "can make git run other programs")
            is_value = word.value in _GIT_VALUES
        else:
            rows = [
                row for row in TABLE if row.programs == "git" and word.value in (row.subcommands or word.value).split()
            ]
            yield from _listed(words, rows, index + 1)
            return


def _sed(words: Sequence[Word]) -> Iterator[Danger]:
    """All scripts and options except a few plain ones, because sed's language can write files and run commands."""
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
            script_next = not script and (value == "--expression" or (value[1:2] != "-" and value.endswith("e")))


# a word that stays one word because its expansions are in double quotes; with `@`, as in "$@", it may become several
_QUOTED = re.compile(r'[\w=,.:/-]*"[^"@]*"', re.S)


def _awk(words: Sequence[Word]) -> Iterator[Danger]:
    value_next = seen = False
    for index, word in enumerate(words[1:], 1):
        value = word.value
        if value_next and (value is not None or _QUOTED.fullmatch(word.text)):
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
