"""What the `*` of a rule covers outside of the sandbox: only words that no program takes for an option or an address.

Names that look like secrets are not covered either.

The sandbox confines a command whatever its arguments are. Outside of it, a program may write any file or run any other
program, if an argument says so. A list of such arguments is never complete, so a rule has to name every word that is
more than a plain name (docs/commands.md).
"""

import re
from collections.abc import Sequence

from fairlead.shell.command_line.words import Word, program
from fairlead.shell.command_line.wrappers import SHELLS
from fairlead.workspace.secret_names import looks_secret

# a relative path without hidden parts: no option, assignment, address, expansion or path outside of the folder
_PLAIN = re.compile(r"\.|(?:\./)?\w[\w.,%-]*(?:/\w[\w.,%-]*)*/?")

# options whose value is text for people; after any other, a word may be an operand, because many options have no value
_TEXT_OPTIONS = {"-m", "--message", "--title", "--body"}

COMMAND_RUNNERS = {
    "env", "sudo", "doas", "su", "runuser", "timeout", "nice", "ionice", "chrt", "taskset", "nohup", "time", "command",
    "builtin", "exec", "setsid", "stdbuf", "unbuffer", "xvfb-run", "strace", "ltrace", "unshare", "nsenter", "chroot",
    "flock", "watch", "entr", "script", "busybox", "xargs", "parallel", "ssh", "find", "fd", "fdfind",
    "toybox", "systemd-run", "run0", "pkexec", "sg", "runcon", "setpriv", "capsh", "prlimit", "cgexec", "numactl",
    "setarch", "linux32", "linux64", "chpst", "setuidgid", "s6-setuidgid", "gosu", "su-exec", "tini", "dumb-init",
    "bwrap", "firejail", "proot", "fakeroot", "fakechroot", "faketime", "eatmydata", "cpulimit", "catchsegv",
    "valgrind", "perf", "hyperfine", "rlwrap", "chronic", "ifne", "setlock", "softlimit", "daemonize",
    "start-stop-daemon", "dbus-run-session", "dbus-launch", "caffeinate", "tmux", "screen", "direnv", "op",
    "doppler", "cross-env", "dotenv", "concurrently", "nodemon", "watchexec", "nix-shell", "guix", "devbox", "gdb",
    "lldb",
}  # fmt: skip
"""Programs that run the command in their arguments, except package runners.

`wrappers.WRAPPERS` serves another purpose: it lists only programs with known options that exit with the code of the
other program.
"""
_SHELL_WORDS = {
    "eval", "source", ".", "trap", "set", "shopt", "alias", "unalias", "enable", "hash", "read", "readarray", "mapfile",
    "getopts", "let", "test", "[", "bind", "complete", "compgen", "compopt", "fc", "history", "wait", "unset", "export",
    "declare", "typeset", "local", "readonly", "printf",
}  # fmt: skip
# programs that run plain words as programs or scripts, or overwrite files whose names are plain words
_OBEYED = {
    "sed", "gsed", "awk", "gawk", "mawk", "nawk", "ed", "ex", "m4", "tar", "bsdtar", "gtar", "cpio", "pax", "dd", "tee",
    "truncate", "uniq", "xxd", "ptx", "ldd", "sqlite3", "at", "batch", "crontab", "expect",
}  # fmt: skip
OTHER_SHELLS = {
    "fish", "csh", "tcsh", "ash", "rbash", "rksh", "mksh", "pdksh", "yash", "nu", "elvish", "xonsh", "pwsh",
}  # fmt: skip
WHOLE_LINES = SHELLS | OTHER_SHELLS | _SHELL_WORDS | _OBEYED | (COMMAND_RUNNERS - {"find", "fd", "fdfind"})
"""Programs for which a `*` covers nothing."""
GIT_RUNNERS = {"config", "submodule", "bisect", "rebase", "filter-branch", "difftool", "mergetool"}
"""Git's subcommands that run a command in their arguments, or name programs that Git runs later."""
SUBCOMMANDS = {
    "git", "hg", "svn", "jj", "npm", "pnpm", "yarn", "bun", "deno", "pip", "pip3", "uv", "poetry", "pdm",
    "pipenv", "hatch", "rye", "conda", "mamba", "cargo", "go", "rustup", "gem", "bundle", "composer", "dotnet",
    "mix", "swift", "docker", "podman", "kubectl", "helm", "terraform", "tofu", "pulumi", "ansible", "gh", "glab",
    "aws", "gcloud", "az", "brew", "apt", "dnf", "systemctl", "openssl", "mise", "asdf", "nvm", "volta",
}  # fmt: skip
"""Programs whose first word chooses what they do, so that a `*` does not cover it."""


def is_covered(rule: Sequence[Word], words: Sequence[Word], index: int) -> bool:
    """Whether a `*` of a rule covers a word of a command outside of the sandbox.

    Args:
        rule: the words of the rule, which the command's `words` match.
        index: of the word.
    """
    name, text = program(words), words[index].value
    if name in WHOLE_LINES or text is None:
        return False
    if name in SUBCOMMANDS and (len(rule) < 3 or (rule[1].value or "-").startswith("-")):
        return False
    if name == "git" and rule[1].value in GIT_RUNNERS:
        return False
    before = rule[index - 1].value if index < len(rule) else None
    if before in _TEXT_OPTIONS and not text.startswith("-"):
        return True
    prefix = rule[index].prefix if index < len(rule) and rule[index].text != "*" else ""
    return _PLAIN.fullmatch(text.removeprefix(prefix)) is not None and not looks_secret(text)
