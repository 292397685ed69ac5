"""Which files contain tests, snapshots, or the settings and commands of tests, by their names."""

import re
from pathlib import PurePosixPath

_LANGUAGES = {
    ".py": "python",
    ".js": "javascript",
    ".jsx": "javascript",
    ".mjs": "javascript",
    ".cjs": "javascript",
    ".ts": "typescript",
    ".mts": "typescript",
    ".cts": "typescript",
    ".tsx": "tsx",
    ".go": "go",
    ".rs": "rust",
    ".java": "java",
}
_FOLDERS = {"test", "tests", "__tests__", "spec", "specs", "e2e", "integration", "testing", "cypress"}
_NAME = re.compile(
    r"(test_.*|.*_test|tests?|conftest)\.py|.*_test\.go|.*[._-](test|spec|cy|e2e)\.[cm]?[jt]sx?"
    r"|.*(Test|Tests|TestCase|IT|Spec)\.(java|kt|groovy|scala|cs|php|swift)|Test.*\.java"
    r"|.*_(test|spec)\.(rb|exs|dart|clj|cc|cpp|lua)|test_.*\.(rb|cc|cpp|lua|sh)|.*\.(bats|feature|t)"
)
_SNAPSHOT = re.compile(
    r"(.*/)?(__snapshots__|__image_snapshots__|goldens?|approvals|(tests?|spec|e2e)/(.*/)?snapshots)/.+"
    r"|.*(\.snap|\.ambr|\.golden|\.snap\.new|\.approved|\.verified|\.approved\.\w+|\.verified\.\w+|\.expected|-snap\.\w+)"
)


def language_of(path: str) -> str | None:
    """The language of a file whose tests can be read; None if they cannot."""
    return _LANGUAGES.get(PurePosixPath(path).suffix.lower())


def is_test_name(path: str) -> bool:
    """Whether a file has tests, by its name or its folder."""
    pure = PurePosixPath(path)
    return bool(_NAME.fullmatch(pure.name)) or (
        language_of(path) is not None and not _FOLDERS.isdisjoint(map(str.lower, pure.parts[:-1]))
    )


def has_test_name(path: str) -> bool:
    """Whether the name of a file alone, without its folder, is one of a file with tests."""
    return bool(_NAME.fullmatch(PurePosixPath(path).name))


def belongs_to_tests(path: str) -> bool:
    """Whether only tests use a file: it has tests, or is a snapshot, or a helper or data in a folder of tests."""
    is_in_folder = not _FOLDERS.isdisjoint(map(str.lower, PurePosixPath(path).parts[:-1]))
    return is_in_folder or is_test_name(path) or is_snapshot(path)


def is_snapshot(path: str) -> bool:
    """Whether tests compare their output with the file."""
    return bool(_SNAPSHOT.fullmatch(path))
