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
    """A part of a command line that need not run in the same shell as the rest, or need not run at all."""

    start: int
    """Where it begins."""
    is_subshell: bool
    """Whether its `cd` certainly has no effect outside of it. Otherwise it may have one."""


@dataclass(frozen=True, slots=True)
class SimpleCommand:
    """One program with its arguments, assignments and redirections."""

    words: tuple[Word, ...]
    """The program and its arguments. Empty for assignments or writes without a program."""
    assignments: tuple[str, ...] = ()
    """The assignments before the program, as written (`CI=1`)."""
    writes: tuple[Write, ...] = ()
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
    """All simple commands, including nested ones."""
    unclear: tuple[str, ...]
    """What was not understood, as sentences for the user."""
