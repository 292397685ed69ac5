"""What the user is asked about tool servers."""

import difflib
import json
from collections.abc import Iterator, Sequence

from fairlead.display import escape_invisible
from fairlead.sentences import Sentence
from fairlead.tool_servers.connection import ListedTool
from fairlead.tool_servers.definition import Definition
from fairlead.tool_servers.known import tool_digest
from fairlead.tool_servers.variables import names_in

STAYS_ALLOWED = Sentence("If you allow it, it may start again until its definition changes.")
NO_SANDBOX = Sentence("There is no sandbox, so it runs with your permissions.")
INSTALLS = Sentence("It installs the package of a tool server, once, with the versions that are the newest now.")
NO_SCRIPTS = Sentence("No script of the package runs during the installation.")
OUTSIDE = Sentence("It runs outside the sandbox, with your permissions.")


def about(definition: Definition, *, is_outside: bool) -> Iterator[str]:
    """What the user must know about a definition, besides its command."""
    if definition.defined_in is not None:
        yield Sentence(
            "The workspace's {0} defines this tool server, {1}.", definition.defined_in.name, definition.name
        )
    if is_outside:
        yield NO_SANDBOX if definition.is_boxed else OUTSIDE
    variables, _ = names_in(definition)
    names = [*variables, *(name for name, _ in definition.variables)]
    if names:
        yield Sentence("It gets these environment variables: {0}.", ", ".join(dict.fromkeys(names)))
    if definition.hosts and not is_outside:
        yield Sentence("It reaches {0}.", ", ".join(map(str, definition.hosts)))
    if definition.folders and not is_outside:
        names = [f"{folder.path}{' (writable)' if folder.is_writable else ''}" for folder in definition.folders]
        yield Sentence("It sees these folders: {0}.", ", ".join(names))


def changed_tools(before: Sequence[ListedTool], now: Sequence[ListedTool]) -> str:
    """What is new in a list of tools, as a difference of texts; empty if nothing was added or changed."""
    known = {tool.name: tool for tool in before}
    new = [tool for tool in now if known.get(tool.name) != tool]
    lines: list[str] = []
    for tool in new:
        old = known.get(tool.name)
        difference = difflib.ndiff(_text(old).splitlines() if old is not None else [], _text(tool).splitlines())
        lines += (line for line in difference if not line.startswith("?"))
    return escape_invisible("\n".join(lines))


def _text(tool: ListedTool) -> str:
    schema = json.dumps(tool.schema, ensure_ascii=False, indent=1, sort_keys=True)
    claims = "It says that it only reads.\n" if tool.reads_only else ""
    claims += "It says that it may destroy something.\n" if tool.is_destructive else ""
    return f"{tool.name}\n{tool.title}\n{tool.description}\n{claims}{schema}"


def digest_of(definition: Definition, tools: Sequence[ListedTool]) -> str:
    """Identifies a server together with its tools."""
    return " ".join((definition.digest, *map(tool_digest, tools)))
