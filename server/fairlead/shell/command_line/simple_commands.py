"""The simple commands that a command line consists of."""

from dataclasses import dataclass

from fairlead.shell.command_line.words import Word


@dataclass(frozen=True, slots=True)
class Write:
    """A redirection that writes to a file."""

    operator: str
    """`>`, `>>` or the like."""
    target: Word


@dataclass(frozen=True, slots=True)
class Scope:
    """A part of a command line that may run in another shell than the rest, or may not run at all."""

    start: int
    """The offset at which it begins, in bytes."""
    is_subshell: bool
    """Whether a `cd` in it never has an effect outside of it. If False, it may have one."""


@dataclass(frozen=True, slots=True)
class SimpleCommand:
    """One program with its arguments, assignments and redirections."""

    words: tuple[Word, ...]
    """The program and its arguments. Empty for assignments or writes without a program."""
    assignments: tuple[str, ...] = ()
    """The assignments before the program, as written (`CI=1`)."""
    writes: tuple[Write, ...] = ()
    """Without writes to `/dev/null` and redirections to another descriptor (`2>&1`)."""
    text: str = ""
    """The whole command as written."""
    decides: bool = False
    """Whether exit code 0 of the line means that this command succeeded, if `pipefail` is set."""
    scopes: tuple[Scope, ...] = ()
    """The scopes around it, the innermost last."""


@dataclass(frozen=True, slots=True)
class Parsed:
    """A parsed command line."""

    commands: tuple[SimpleCommand, ...]
    """All simple commands, including nested ones. If something is `unclear`, some may be missing."""
    unclear: tuple[str, ...]
    """What was not understood, as sentences for the user."""
