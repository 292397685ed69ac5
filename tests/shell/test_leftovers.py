"""Which ignored files in a layer are not trusted (`leftovers.py`, docs/plan.md P16)."""

import os
import py_compile
import sys
from pathlib import Path

import pytest

from fairlead.shell.layer import Entry
from fairlead.shell.sandbox.layer.leftovers import MAX_FOUND, find_leftovers
from fairlead.shell.sandbox.layer.upper_layer import UpperLayer, owner_of

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has the sandbox")

TRUSTED = {
    "a.o": b"text",
    "prog": b"\x7fELF\0",
    "prog.exe": b"MZ\0",
    ".coverage": b"SQLite format 3\0",
    ".mypy_cache/3.12/a.json": b"{}",
    "node_modules/.cache/babel.json": b"{}",
    "target/.rustc_info.json": b"{}",
    "target/debug/build/out/made.rs": b"fn main() {}",
}
NOT_TRUSTED = {
    "sitecustomize.py": b"import os",
    "__init__.py": b"",
    "fast.so": b"\x7fELF\0",
    "lib/fast.so.1": b"\x7fELF\0",
    "Main.class": b"\xca\xfe\0",
    "dist/index.js": b"text",
    "target/notes.txt": b"text",
    "db.sqlite3": b"SQLite format 3\0",
    "model.pickle": b"\x80\4\0",
    ".env": b"A=1",
}


def layer(folder: Path, files: dict[str, bytes]) -> UpperLayer:
    """A layer that retains these files. The user has the source `own.py`."""
    root, upper = folder / "root", folder / "upper"
    root.mkdir()
    upper.mkdir()
    (root / "own.py").write_text("1")
    for name, data in files.items():
        (upper / name).parent.mkdir(parents=True, exist_ok=True)
        (upper / name).write_bytes(data)
    found = UpperLayer(root, upper, owner_of(root))
    found.retained = dict.fromkeys(name.partition("/")[0] for name in files)
    return found


def test_outputs_and_caches_are_trusted(tmp_path: Path) -> None:
    """Everything else is named."""
    upper = layer(tmp_path, {**TRUSTED, **{f"more-{name}": data for name, data in NOT_TRUSTED.items()}})
    assert find_leftovers(upper, {}) == sorted(f"more-{name}" for name in NOT_TRUSTED)


def test_packages_and_environments_are_named_once(tmp_path: Path) -> None:
    """Their files are not named, as there may be thousands. Of many files, only some are."""
    upper = layer(tmp_path, {"node_modules/a/index.js": b"", "env/pyvenv.cfg": b"", "env/lib/a.py": b""})
    assert find_leftovers(upper, {}) == ["env", "node_modules"]
    for number in range(MAX_FOUND + 1):
        (upper.folder / "env" / "pyvenv.cfg").unlink(missing_ok=True)
        (upper.folder / "env" / f"{number}.py").touch()
    assert len(find_leftovers(upper, {})) == MAX_FOUND


def test_a_link_is_not_trusted(tmp_path: Path) -> None:
    """It is not followed either."""
    upper = layer(tmp_path, {"a.o": b""})
    os.symlink("/etc", upper.folder / "link")
    upper.retained["link"] = None
    assert find_leftovers(upper, {}) == ["link"]


@pytest.mark.parametrize(
    ("mode", "module", "is_trusted"),
    [
        (py_compile.PycInvalidationMode.TIMESTAMP, "own", True),
        (py_compile.PycInvalidationMode.CHECKED_HASH, "own", True),
        (py_compile.PycInvalidationMode.UNCHECKED_HASH, "own", False),
        (py_compile.PycInvalidationMode.TIMESTAMP, "without_source", False),
        (py_compile.PycInvalidationMode.TIMESTAMP, "proposed", True),
        (py_compile.PycInvalidationMode.TIMESTAMP, "deleted", False),
    ],
)
@pytest.mark.parametrize("place", ["__pycache__/{}.cpython-313.pyc", "{}.pyc"])
def test_a_compiled_module_is_trusted_if_python_compares_it_with_its_source(
    tmp_path: Path, mode: py_compile.PycInvalidationMode, module: str, is_trusted: bool, place: str
) -> None:
    """PEP 552: Python uses a `.pyc` with an unchecked hash as it is, and one without a source in place of a module."""
    (tmp_path / "made.py").write_text("1")
    py_compile.compile(str(tmp_path / "made.py"), str(tmp_path / "made.pyc"), invalidation_mode=mode)
    name = place.format(module)
    upper = layer(tmp_path, {name: (tmp_path / "made.pyc").read_bytes()})
    (upper.root / "deleted.py").write_text("1")
    proposed = {"proposed.py": Entry(b"1"), "deleted.py": None}
    assert find_leftovers(upper, proposed) == ([] if is_trusted else [name])
