"""`fairlead verify`: compares a record with the files of a workspace or a commit, and runs the record's checks."""

import contextlib
import os
import sys
import tempfile
from collections.abc import Callable, Generator, Mapping, Sequence, Set
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from types import MappingProxyType

from rich.text import Text

from fairlead.app.settings import ignored_values
from fairlead.app.state_folder import state_folder
from fairlead.cli.arguments import WRONG_USAGE
from fairlead.cli.options import VerifyOptions
from fairlead.cli.records.comment import NotPosted, post_comment, target_of
from fairlead.cli.records.reports.junit import junit_text
from fairlead.cli.records.reports.markdown import markdown_text
from fairlead.cli.records.reports.sarif import sarif_text
from fairlead.cli.records.stored import read_stored
from fairlead.cli.view.terminal import Terminal
from fairlead.cli.view.text import clean, escape_hidden
from fairlead.display import escape_to_one_line
from fairlead.session.record.digest import TRAILER
from fairlead.session.record.document import SessionRecord
from fairlead.session.record.keys import NoLibrary
from fairlead.session.record.repository import NOTES, Export, GitFailed, Repository
from fairlead.session.record.result import VerifyResult
from fairlead.session.record.shape import BadRecord
from fairlead.session.record.signed import OpenedRecord, RefusedRecord, open_record
from fairlead.session.record.verify import Finding, compare_files, run_check
from fairlead.shell.sandbox.probe import probe
from fairlead.workspace.errors import WorkspaceError
from fairlead.workspace.paths import Roots, real_path
from fairlead.workspace.replace_file import replace_file

HOLDS, DOES_NOT_HOLD = 0, 1
NO_NOTE = (
    "It has no record: there is no note in {notes}. Get the notes with `git fetch origin {notes}:{notes}`, or name the "
    "file of the record."
)
UNBOUND = (
    "Nothing says that it belongs to this commit: the commit has no line “{trailer}: {digest}”, and no signature that "
    "was verified names the commit. To compare the files of a folder, leave out --commit."
)
OTHER_COMMIT = "It was signed for the commit {signed}, not for {commit}."
OTHER_RECORD = "The commit names another record ({named}) than this one ({digest})."


async def run_verify(options: VerifyOptions, terminal: Terminal) -> int:
    """Verifies a record. Returns the exit code.

    0: everything that was checked holds. 1: the record is refused, something does not hold or could not be checked, or
    there was nothing to check. Checks that did not pass in the session, and all checks with `--no-run`, do not count.
    2: the file is not a record.

    Also writes the reports that the options name. If one cannot be written, the code is not 0.
    """
    result = VerifyResult()
    verification = _Verification(options, terminal, result)
    try:
        await verification.execute()
    except BadRecord as error:
        result.refusal = f"{options.file or f'The note of {options.commit}'} cannot be verified. {error}"
        print(f"fairlead verify: {escape_hidden(result.refusal)}", file=sys.stderr)
        await verification.report()
        return WRONG_USAGE
    except (GitFailed, RefusedRecord, NoLibrary) as error:
        result.refusal = str(error)
    verification.conclude()
    is_reported = await verification.report()
    return HOLDS if result.holds and is_reported else DOES_NOT_HOLD


class _Verification:
    """Verifies one record and reports line by line."""

    def __init__(self, options: VerifyOptions, terminal: Terminal, result: VerifyResult) -> None:
        self._options, self._terminal, self._marks = options, terminal, terminal.marks
        self._result = result

    async def execute(self) -> None:
        """Raises BadRecord, RefusedRecord, NoLibrary or GitFailed."""
        if self._options.problems:
            self._terminal.print(escape_to_one_line(ignored_values(self._options.problems)), "yellow")
        if self._options.commit is None:
            assert self._options.file is not None  # the arguments were checked
            opened = self._open(read_stored(self._options.file))
            await self._compare(opened.record, self._options.workspace)
        else:
            await self._execute_on_commit(self._options.commit)

    def conclude(self) -> None:
        """Shows the result."""
        mark, style = (self._marks.done, "green") if self._result.holds else (self._marks.failed, "red")
        space = "\n" if self._result.opened is not None else ""
        self._terminal.print(f"{space}{mark} {escape_hidden(self._result.verdict)}", f"bold {style}")

    async def report(self) -> bool:
        """Writes the result in other forms, and posts it. Returns whether all files could be written.

        A comment that could not be posted is only shown: a job for a stranger's pull request may not post one.
        """
        options, written = self._options, True
        forms = ((options.junit, junit_text), (options.sarif, sarif_text), (options.markdown, markdown_text))
        for path, text in forms:
            try:
                if path is not None:
                    replace_file(path, text(self._result))
            except OSError as error:
                written = False
                self._terminal.print(escape_hidden(f"{path} was not written: {error.strerror or error}"), "red")
        if options.comment:
            try:
                await post_comment(target_of(os.environ), markdown_text(self._result))
                self._terminal.print("Posted the result as a comment.", "dim")
            except NotPosted as error:
                self._terminal.print(escape_hidden(f"The result was not posted as a comment. {error}"), "yellow")
        return written

    async def _execute_on_commit(self, revision: str) -> None:
        folders = [root.real for root in self._options.workspace.folders]
        repository = Repository(folders[0])
        commit = self._result.commit = repository.commit_id(revision)
        data = read_stored(self._options.file) if self._options.file is not None else repository.note(commit)
        if data is None:
            raise RefusedRecord(NO_NOTE.format(notes=NOTES))
        opened = self._open(data)
        self._report(self._result.origin, _bound(opened, commit, repository.named_records(commit)))
        with _checkout(repository, commit) as (tree, export):
            self._note_missing(export)
            top = real_path(repository.top)
            if not all(folder.is_relative_to(top) for folder in folders):
                raise GitFailed(f"The folders of --workspace are not all in the repository {repository.top}.")
            inside = [tree / folder.relative_to(top) for folder in folders]
            if absent := [folder for folder in inside if not folder.is_dir()]:
                raise GitFailed(f"The commit has no folder {absent[0].relative_to(tree)}.")
            roots = Roots.of(*inside)
            if inside[0] != tree and len(inside) == 1:
                self._result.folder = f"{inside[0].relative_to(tree).as_posix()}/"
            self._note_unknown(repository.changed_files(commit), _paths_in(tree, opened.record, roots))

            def ignored(names: Sequence[str]) -> frozenset[str]:
                paths = {os.fspath(roots.resolve(name).relative_to(tree)): name for name in names}
                return frozenset(paths[path] for path in repository.ignored([*paths], tree))

            pointers = {tree / path: digest for path, digest in export.pointers.items()}
            await self._compare(opened.record, roots, ignored, pointers)

    def _open(self, data: bytes) -> OpenedRecord:
        """Opens the record and shows who vouches for it. Raises BadRecord, RefusedRecord or NoLibrary."""
        opened = self._result.opened = open_record(data, self._options.trust)
        record = opened.record
        title = escape_to_one_line(record.title)
        self._terminal.print(f"Record of “{title}”, created by Fairlead {escape_to_one_line(record.fairlead)}", "bold")
        self._terminal.print(opened.digest, "dim")
        self._terminal.print("\nOrigin")
        if opened.signer or opened.unproven:
            finding = Finding("signature", not opened.unproven, opened.unproven or f"valid, {opened.signer}")
            self._report(self._result.origin, finding)
        else:
            self._note("not signed, so only its content is verified, not who made it")
        if opened.commit is not None and self._options.commit is None:
            self._note(f"its statement names the commit {opened.commit}; --commit verifies the files of that commit")
        return opened

    def _note_missing(self, export: Export) -> None:
        """Notes what the checkout of a commit lacks."""
        if export.submodules:
            self._note(f"without the files of submodules: {_listed(export.submodules)}")
        if export.pointers:
            self._note(f"with Git LFS's pointers in place of the contents: {_listed([*export.pointers])}")

    def _note_unknown(self, changed: Sequence[str] | None, known: Set[str]) -> None:
        """Notes what else a commit changes, as a record says nothing about it.

        Args:
            changed: the paths of the files that the commit changes; None: not known.
            known: those of the files that the record knows.
        """
        if changed is None:
            self._note("its parent is not in the repository, so what else the commit changes is not known")
        elif others := [path for path in changed if path not in known]:
            self._note(f"the commit also changes what the record does not know: {_listed(others)}")

    async def _compare(
        self,
        record: SessionRecord,
        roots: Roots,
        ignored: Callable[[Sequence[str]], frozenset[str]] = lambda _: frozenset(),
        elsewhere: Mapping[Path, str] = MappingProxyType({}),
    ) -> None:
        """Compares the files of the record with those in folders, and runs its checks there.

        Args:
            ignored: returns those of some files that the folders lack because a commit never has them.
            elsewhere: as for `compare_files`.
        """
        if record.files:
            self._terminal.print("\nFiles")
        findings = list(compare_files(record, roots, elsewhere))
        unchanged = {file.path for file in record.files if file.before == file.after}
        outside = ignored([each.subject for each in findings if not each.holds and each.subject in unchanged])
        for finding in findings:
            if finding.subject in outside and not finding.holds:
                name = escape_to_one_line(finding.subject)
                self._note(f"{name}  not compared: Git ignores it, and the session did not change it")
            else:
                self._report(self._result.files, finding)
        await self._run_checks(record, roots)

    async def _run_checks(self, record: SessionRecord, roots: Roots) -> None:
        if record.verifications:
            self._terminal.print("\nChecks")
        for verification in record.verifications:
            if not verification.passed:
                self._note(f"{escape_to_one_line(verification.command)}  not run: it did not pass in the session")
        commands = [verification.command for verification in record.verifications if verification.passed]
        if commands and not self._options.run:
            self._note("not run (--no-run)")
        elif commands:
            await self._run(commands, roots)

    async def _run(self, commands: Sequence[str], roots: Roots) -> None:
        # the sessions of `fairlead run` are saved in this folder, so commands must not read it
        state = state_folder()
        sandbox = await probe(roots, state / "layers")
        if sandbox.layers_folder is None:
            self._result.unrun = f"the commands of a record run only in a sandbox. {sandbox.reason}"
            hint = "Use --no-run to compare only the files."
            self._terminal.print(f"  {self._marks.failed} not run: {self._result.unrun} {hint}", "red")
            return
        for command in commands:
            with self._running(command):
                options = self._options
                finding = await run_check(
                    *(command, roots, sandbox, [state], options.timeout),
                    *(options.pass_variables, options.opened_secrets),
                )
            self._report(self._result.checks, finding)

    def _running(self, command: str) -> AbstractContextManager[object]:
        """Shows which command is running, if the terminal can draw it."""
        if not self._terminal.can_draw:
            return nullcontext()
        return self._terminal.console.status(Text(f"running {escape_to_one_line(command)}"))

    def _report(self, findings: list[Finding], finding: Finding) -> None:
        findings.append(finding)
        mark, style = (self._marks.done, "green") if finding.holds else (self._marks.failed, "red")
        self._terminal.print(f"  {mark} {escape_to_one_line(finding.subject)}  {escape_hidden(finding.text)}", style)
        for row in clean(finding.output).splitlines():
            self._terminal.print(f"      {row}", "dim")

    def _note(self, text: str) -> None:
        self._result.notes.append(text)
        self._terminal.print(f"  {self._marks.note} {text}", "yellow")


def _bound(opened: OpenedRecord, commit: str, named: Sequence[str]) -> Finding:
    """What binds a record to a commit.

    Args:
        named: the digests of records that the commit's message names.

    Raises:
        RefusedRecord: nothing does, or one of the two names another one.
    """
    if opened.commit not in (None, commit):
        raise RefusedRecord(OTHER_COMMIT.format(signed=opened.commit, commit=commit))
    if named and opened.digest not in named:
        raise RefusedRecord(OTHER_RECORD.format(named=", ".join(named), digest=opened.digest))
    if named:
        return Finding("commit", True, f"{commit} names this record")
    if opened.commit == commit and opened.signer:
        return Finding("commit", True, f"{commit} is the commit that was signed")
    raise RefusedRecord(UNBOUND.format(trailer=TRAILER, digest=opened.digest))


@contextlib.contextmanager
def _checkout(repository: Repository, commit: str) -> Generator[tuple[Path, Export]]:
    """The files of a commit in a temporary folder that has the name of the repository's. Raises GitFailed."""
    with tempfile.TemporaryDirectory(prefix="fairlead-commit-") as folder:
        tree = real_path(folder) / (repository.top.name or "repository")
        tree.mkdir()
        try:
            export = repository.export(commit, tree)
        except OSError as error:
            raise GitFailed(f"The files of the commit could not be written: {error.strerror or error}.") from error
        yield tree, export


def _paths_in(tree: Path, record: SessionRecord, roots: Roots) -> Set[str]:
    """The paths of a record's files in a folder around the workspace, without those that lead out of the workspace."""
    found = set[str]()
    for file in record.files:
        with contextlib.suppress(WorkspaceError):
            found.add(roots.resolve(file.path).relative_to(tree).as_posix())
    return found


def _listed(paths: Sequence[str]) -> str:
    shown = ", ".join(map(escape_to_one_line, paths[:5]))
    return shown if len(paths) <= 5 else f"{shown} and {len(paths) - 5} more"
