"""`list_files`: lists the names of files, including new ones that are only proposed."""

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Any

from fairlead.agent.model import ToolSpec
from fairlead.agent.tool import Location, RunningCall, ToolKind
from fairlead.display import count_of
from fairlead.sentences import Sentence
from fairlead.tools.globs import glob_filter
from fairlead.tools.search_scope import IGNORED_SECONDS, SearchTarget, ignored_files, left_out, search_scope
from fairlead.tools.secret_files import omitted_secrets
from fairlead.workspace.files import Files

MAX_FILES = 500
MAX_COLLECTED = 1_000_000

SPEC = ToolSpec(
    "list_files",
    f"List the workspace's files (ignored ones left out), at most {MAX_FILES}.",
    {
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "Folder or file, default all"},
            "glob": {"type": "string", "description": "Such as *.py or src/**, from path or the workspace"},
        },
    },
)


class ListFiles:
    """Implements `Tool`."""

    spec = SPEC
    kind: ToolKind = "search"
    read_only = True

    def __init__(self, files: Files) -> None:
        self._files = files

    def describe(self, input: dict[str, Any]) -> tuple[str, tuple[Location, ...]]:
        return Sentence("List {0}", input["path"]) if input.get("path") else Sentence("List files"), ()

    async def run(self, input: dict[str, Any], call: RunningCall) -> str:
        roots = self._files.roots
        targets, texts = search_scope(self._files, input.get("path"))
        matches = glob_filter(input.get("glob"), roots, [target.path for target in targets])
        not_deleted = [path for path, text in texts.items() if text is not None]
        names = {name for target in targets for name in await target.names(MAX_COLLECTED)}
        at_least = "at least " if len(names) >= MAX_COLLECTED else ""
        # leaves out open documents whose files exist but were not listed: a rule ignores them
        names |= {roots.relative(path) for path in not_deleted if self._files.is_proposed(path) or not path.exists()}
        deleted = {roots.relative(path) for path, text in texts.items() if text is None}
        matching, is_secret = set(filter(matches, names - deleted)), self._files.secret_filter()
        secrets = set(filter(is_secret, matching))
        ordered = sorted(matching - secrets)
        if not ordered:
            ignored = [
                _ignored(target, lambda name: matches(name) and name not in deleted and not is_secret(name))
                for target in targets
            ]
            note, found = await ignored_files(ignored, targets, is_secret, MAX_COLLECTED, IGNORED_SECONDS)
            secrets |= set(filter(matches, found - deleted))
            return "No files." + note + left_out(targets) + omitted_secrets(len(secrets))
        left = len(ordered) - MAX_FILES
        more = f"\n({at_least}{count_of(left, 'more file')}; narrow it with path or glob.)" if left > 0 else ""
        return "\n".join(ordered[:MAX_FILES]) + more + left_out(targets) + omitted_secrets(len(secrets))


async def _ignored(target: SearchTarget, is_wanted: Callable[[str], bool]) -> AsyncGenerator[str, None]:
    async with aclosing(target.ignored_names()) as names:
        async for name in names:
            if is_wanted(name):
                yield name
