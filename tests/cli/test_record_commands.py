"""`fairlead record`, and `fairlead verify` of signed records and of commits (docs/record.md)."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
)

from cli.command import Ended, in_terminal
from cli.signing import Json, Signing
from cli.test_verify import content
from fairlead.session.record.digest import record_digest
from support.git_folder import GitFolder
from support.sandbox import needs_sandbox

NO_JOB = {"GITHUB_ACTIONS": "", "GITLAB_CI": ""}


@pytest.fixture
def sandbox() -> None:
    needs_sandbox()


@pytest.fixture
def signing(tmp_path: Path) -> Signing:
    return Signing(tmp_path)


@pytest.mark.usefixtures("sandbox")
def test_a_signed_record_is_found_at_its_commit_and_holds(signing: Signing) -> None:
    """The files are those of the commit, whatever is in the work tree, and nothing of it changes."""
    attached = signing.run("record", "attach", signing.signed)
    assert attached.code == 0, attached.out
    assert attached.out == (
        f"Saved the record in the note of {signing.commit}. To share it: git push origin refs/notes/fairlead\n"
    )
    (signing.repository.path / "a.py").write_text("a = 3\n")
    before = signing.repository.git("status", "--porcelain")
    ended = signing.verify("--commit", "HEAD")
    assert (ended.code, ended.err) == (0, ""), ended.out
    digest = record_digest(json.loads(signing.record.read_text()))
    key = re.search(r"SHA-256 [0-9a-f]{64}", ended.out)
    assert key is not None
    assert re.sub(r"passes \(.*\)", "passes", ended.out).partition("\n")[2] == (
        f"{digest}\n"
        "\nOrigin\n"
        f"  ✓ signature  valid, by the key {signing.public} ({key[0]})\n"
        f"  ✓ commit  {signing.commit} names this record\n"
        "\nFiles\n"
        "  ✓ a.py  unchanged\n"
        "\nChecks\n"
        "  ✓ grep -q 'a = 2' a.py  passes\n"
        "\n✓ The record holds.\n"
    )
    assert signing.repository.git("status", "--porcelain") == before
    assert signing.verify(signing.signed).code == 1  # in the work tree


def test_the_message_of_a_commit_names_the_record(signing: Signing) -> None:
    digest = record_digest(json.loads(signing.record.read_text()))
    trailers = signing.repository.git("log", "-1", "--format=%(trailers)")
    assert trailers == f"Assisted-by: Fairlead:claude-sonnet-5-5\nFairlead-Record: {digest}"
    assert signing.run("record", "message", signing.signed).out == signing.run("record", "message", signing.record).out
    rejected = signing.write("rejected.json", signing.new_record(changes=[]))
    ended = signing.run("record", "message", rejected)
    assert (ended.code, ended.out) == (1, "The record has no accepted change, so there is nothing to commit.\n")


def refused(ended: Ended, *reasons: str) -> None:
    """Asserts that a record was refused with these reasons, and that no check has run."""
    assert ended.code == 1, ended.out
    assert "\nChecks\n" not in ended.out
    for reason in reasons:
        assert f"✗ The record is refused. {reason}" in ended.out, ended.out


def test_fault_317_a_record_of_another_commit_is_refused(signing: Signing) -> None:
    """A valid record is refused at every other commit: a later one, one that names another record, one of another
    repository with the same files."""
    no_run = ("--no-run",)
    holds = signing.verify(signing.signed, "--commit", signing.commit, *no_run)
    assert holds.code == 0, holds.out
    later = signing.repository.commit("Nothing")
    wrong = f"It was signed for the commit {signing.commit}, not for {later}."
    refused(signing.verify(signing.signed, "--commit", "HEAD", *no_run), wrong)

    unnamed = signing.sign(signing.record)  # its statement names no commit
    nothing = "Nothing says that it belongs to this commit: the commit has no line “Fairlead-Record: sha256:"
    refused(signing.verify(unnamed, "--commit", "HEAD", *no_run), nothing)
    refused(signing.run("verify", signing.record, "--commit", "HEAD", *no_run), nothing)
    assert signing.verify(unnamed, "--commit", signing.commit, *no_run).code == 0
    assert signing.run("verify", signing.record, "--commit", signing.commit, *no_run).code == 0

    other = signing.write("other.json", signing.new_record(title="Another"))
    mixed = signing.sign(other, "--commit", signing.commit)
    refused(signing.verify(mixed, "--commit", signing.commit, *no_run), "The commit names another record (sha256:")

    copy = GitFolder(signing.folder / "copy")
    (copy.path / "a.py").write_text("a = 2\n")
    message = signing.repository.git("log", "-1", "--format=%B", signing.commit)
    elsewhere = copy.commit(message)
    in_copy = ("--commit", "HEAD", "--workspace", copy.path, *no_run)
    wrong = f"It was signed for the commit {signing.commit}, not for {elsewhere}."
    refused(signing.verify(signing.signed, *in_copy), wrong)


def test_fault_317_a_record_of_another_state_does_not_hold(signing: Signing) -> None:
    """The commit names the record, but contains other files: each difference is shown."""
    record = signing.write("later.json", signing.new_record(b"a = 3\n"))
    commit = signing.repository.commit(signing.run("record", "message", record).out)
    ended = signing.verify(signing.sign(record, "--commit", commit), "--commit", commit, "--no-run")
    assert ended.code == 1
    assert "  ✓ commit  " in ended.out
    assert "  ✗ a.py  has different content\n" in ended.out
    assert ended.out.endswith("✗ The record does not hold: 1 of 3 failed.\n")


TAMPERED: dict[str, tuple[Callable[[bytes], bytes], int, str]] = {
    "a changed signature": (
        lambda data: data.replace(b'"sig": "', b'"sig": "AAAA', 1),
        1,
        "The signature is wrong: the statement or the signature was changed after it was signed.",
    ),
    "a cut file": (lambda data: data[:-40], 2, "It is not valid JSON: "),
    "an empty file": (lambda _: b"", 2, "It is not valid JSON: "),
    "no envelope": (lambda _: b"[]", 2, "It is not a record: it has no “format”."),
    "half an envelope": (lambda data: data[: data.index(b', "payloadType"')] + b"}", 2, "no in-toto statement"),
}


@pytest.mark.parametrize(("edit", "code", "reason"), TAMPERED.values(), ids=TAMPERED.keys())
def test_fault_314_the_reason_is_shown(
    signing: Signing, edit: Callable[[bytes], bytes], code: int, reason: str
) -> None:
    """A signed record that was changed or cut off is refused, with the reason; no file is compared."""
    signing.signed.write_bytes(edit(signing.signed.read_bytes()))
    ended = signing.verify(signing.signed)
    assert ended.code == code
    assert "Files" not in ended.out
    assert reason in (ended.out if code == 1 else ended.err)


def test_fault_314_a_note_that_was_changed_is_refused(signing: Signing) -> None:
    """Who can push notes can put anything in the place of a record, which is then refused."""
    notes = ("notes", "--ref=refs/notes/fairlead", "add", "-f", "-m")
    signing.repository.git(*notes, "no record")
    ended = signing.verify("--commit", "HEAD")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith("fairlead verify: The note of HEAD cannot be verified. It is not valid JSON: ")
    other = signing.sign(signing.record, "--commit", "HEAD", key=signing.new_key("stranger")[0])
    signing.repository.git(*notes, other.read_text())
    refused(signing.verify("--commit", "HEAD"), "It was signed by another key than you named.")
    signing.repository.git(*notes, signing.record.read_text())
    refused(signing.verify("--commit", "HEAD"), "It is not signed, and you named who must have signed it.")
    signing.repository.git("notes", "--ref=refs/notes/fairlead", "remove")
    refused(signing.verify("--commit", "HEAD"), "It has no record: there is no note in refs/notes/fairlead.")


def test_a_signature_needs_a_named_key(signing: Signing) -> None:
    """Without --key, a signed record does not hold, because anybody could have signed it. An unsigned one does."""
    ended = signing.run("verify", signing.signed, "--no-run")
    assert ended.code == 1
    assert "  ✗ signature  made by a key that you did not name, so nobody vouches for the record." in ended.out
    unsigned = signing.run("verify", signing.record, "--no-run")
    assert unsigned.code == 0
    assert "  · not signed, so only its content is verified, not who made it\n" in unsigned.out
    named = signing.verify(signing.signed, "--no-run")
    assert named.code == 0
    assert f"  · its statement names the commit {signing.commit}; --commit verifies the files" in named.out


@pytest.mark.usefixtures("sandbox")
def test_the_commit_of_a_folder_in_the_repository(signing: Signing) -> None:
    """With --workspace, the paths of the record are relative to that folder, and the checks run in it."""
    inner = signing.repository.path / "inner"
    inner.mkdir()
    (inner / "a.py").write_text("a = 2\n")
    commit = signing.repository.commit(signing.run("record", "message", signing.record).out)
    ended = signing.run("verify", signing.record, "--commit", commit, "--workspace", inner)
    assert ended.code == 0, ended.out
    elsewhere = GitFolder(signing.folder / "elsewhere").path
    two = ("--workspace", signing.repository.path, "--workspace", elsewhere)
    refused(signing.run("verify", signing.record, "--commit", commit, *two), "The folders of --workspace are not all")
    gone = signing.repository.path / "gone"
    gone.mkdir()
    ended = signing.run("verify", signing.record, "--commit", commit, "--workspace", gone)
    refused(ended, "The commit has no folder gone.")


def test_what_a_commit_never_has_is_not_compared(signing: Signing) -> None:
    """A file that Git ignores and the session only read is named; one that it changed does not hold."""
    (signing.repository.path / ".gitignore").write_text("*.log\n")
    same, new = content(b"x"), content(b"y")
    files: list[Json] = [
        {"path": "read.log", "before": same, "after": same},
        {"path": "written.log", "before": same, "after": new},
        {"path": "deleted.py", "before": same, "after": same},
    ]
    record = signing.write("ignored.json", signing.new_record(files=files))
    commit = signing.repository.commit(signing.run("record", "message", record).out)
    ended = signing.run("verify", record, "--commit", commit, "--no-run")
    assert ended.code == 1
    assert "  · read.log  not compared: Git ignores it, and the session did not change it\n" in ended.out
    assert "  ✗ written.log  no longer exists\n  ✗ deleted.py  no longer exists\n" in ended.out


def test_what_else_a_commit_changes_is_named(signing: Signing) -> None:
    """docs/faults.md 319: a change that the record does not know is not covered by a record that holds."""
    verify = ("verify", signing.record, "--no-run", "--commit")
    assert "does not know" not in signing.run(*verify, signing.commit).out
    message = signing.repository.git("log", "-1", "--format=%B")
    (signing.repository.path / "b.py").write_text("evil\n")
    (signing.repository.path / "a.py").chmod(0o644)
    commit = signing.repository.commit(message)
    ended = signing.run(*verify, commit)
    assert ended.code == 0
    assert "  · the commit also changes what the record does not know: b.py\n" in ended.out
    shallow = signing.folder / "shallow"
    signing.repository.git("clone", "-q", "--depth=1", f"file://{signing.repository.path}", str(shallow))
    ended = signing.run(*verify, commit, "--workspace", shallow)
    assert (ended.code, "  · its parent is not in the repository, so what else" in ended.out) == (0, True)


def test_what_a_checkout_lacks_is_named(signing: Signing) -> None:
    """Contents in Git LFS are compared by their digests, which the commit has."""
    big, other = content(b"big"), content(b"other")
    pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{big['sha256']}\nsize 3\n"
    (signing.repository.path / ".gitattributes").write_text("*.bin filter=lfs\n")
    for name in ("big.bin", "changed.bin"):
        (signing.repository.path / name).write_text(pointer)
    pairs = (("big.bin", big), ("changed.bin", other))
    files: list[Json] = [{"path": name, "before": None, "after": after} for name, after in pairs]
    signing.write("record.json", signing.new_record(files=files))
    signing.repository.git("update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},lib")
    (signing.repository.path / "lib").mkdir()
    GitFolder(signing.repository.path / "lib").commit()
    commit = signing.repository.commit(signing.run("record", "message", signing.record).out)
    ended = signing.run("verify", signing.record, "--commit", commit, "--no-run")
    assert ended.code == 1, ended.out
    assert "  · without the files of submodules: lib\n" in ended.out
    assert "  · with Git LFS's pointers in place of the contents: big.bin, changed.bin\n" in ended.out
    assert "  ✓ big.bin  unchanged, by its Git LFS pointer\n  ✗ changed.bin  has different content\n" in ended.out


def test_a_record_is_attached_only_to_its_commit(signing: Signing) -> None:
    assert signing.run("record", "attach", signing.signed).code == 0
    assert signing.run("record", "attach", signing.record).code == 0  # the same record, not signed
    other = signing.write("other.json", signing.new_record(title="Another"))
    ended = signing.run("record", "attach", other)
    assert ended.code == 1
    assert f"The commit {signing.commit} does not name the record, and no signature names the commit" in ended.out
    ended = signing.run("record", "attach", signing.sign(other, "--commit", "HEAD"))
    assert ended.code == 1
    assert f"Remove it first: git notes --ref=refs/notes/fairlead remove {signing.commit}\n" in ended.out


def test_an_encrypted_key_is_asked_for_its_password(signing: Signing) -> None:
    made = ec.generate_private_key(ec.SECP256R1())
    key = signing.folder / "encrypted.pem"
    protection = BestAvailableEncryption(b"secret")
    key.write_bytes(made.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, protection))
    sign = ("record", "sign", signing.record, "--key", key, "--output", signing.folder / "out.json")
    ended = signing.run(*sign)
    assert ended.code == 1
    assert f"The key {key} cannot be used. It is encrypted. Run the command in a terminal" in ended.out
    with in_terminal(*sign, columns=300, spawned=True) as terminal:
        terminal.answer("Password of the key:", "secret\r")
        assert terminal.end() == 0
        assert "secret" not in terminal.screen.text
    assert (signing.folder / "out.json").exists()


USAGE: dict[str, tuple[list[str], str]] = {
    "no command": (["record"], "the following arguments are required: COMMAND, FILE"),
    "no key": (["record", "sign", "{record}", "--output", "o"], "sign needs --key FILE or --keyless"),
    "no output": (["record", "sign", "{record}", "--key", "{key}"], "sign needs --output FILE"),
    "a signed one": (["record", "sign", "{signed}", "--key", "{key}", "--output", "o"], "is signed already"),
    "no record": (["record", "sign", "{key}", "--key", "{key}", "--output", "o"], "cannot be used. It is not valid JS"),
    "a key to attach": (["record", "attach", "{record}", "--key", "{key}"], "belong to `fairlead record sign`"),
    "a commit to come": (["record", "message", "{record}", "--commit", "HEAD"], "which is for a commit to come"),
    "a keyless commit": (
        ["record", "sign", "{record}", "--keyless", "--commit", "HEAD", "--output", "o"],
        "--keyless signs no name of a commit",
    ),
    "an output that is not a record": (
        ["record", "sign", "{record}", "--key", "{key}", "--output", "{public}"],
        "the file exists and is not a signed record, so it is not overwritten",
    ),
    "a private key": (["verify", "{signed}", "--key", "{key}"], "It is a private key. Name the public one."),
    "a missing key": (["verify", "{signed}", "--key", "nowhere"], "the key nowhere cannot be used. There is no such"),
    "half an identity": (["verify", "{signed}", "--identity", "a"], "--identity and --issuer need each other"),
    "a key and an identity": (
        ["verify", "{signed}", "--identity", "a", "--issuer", "b", "--key", "{public}"],
        "--key and --identity cannot be used together",
    ),
}


def test_wrong_usage(signing: Signing) -> None:
    """Each exits with 2 and says why, and nothing is written."""
    names = {name: str(getattr(signing, name)) for name in ("record", "key", "signed", "public")}
    for arguments, reason in USAGE.values():
        ended = signing.run(*(each.format(**names) for each in arguments))
        assert (ended.code, ended.out) == (2, ""), arguments
        assert reason in ended.err
    assert not (signing.repository.path / "o").exists()


def test_a_missing_package_is_named(signing: Signing) -> None:
    """The packages of signatures are optional: without one, the command says what to install."""
    for name in ("cryptography", "sigstore"):
        (signing.folder / f"{name}.py").write_text("raise ImportError\n")
    env = {"PYTHONPATH": str(signing.folder), "GITHUB_ACTIONS": "true"}
    sign = ("record", "sign", signing.record, "--output", signing.folder / "out.json")
    bundle = {"mediaType": "application/vnd.dev.sigstore.bundle.v0.3+json"}
    (signing.folder / "bundle.json").write_text(json.dumps(bundle))
    by_somebody = ("verify", signing.folder / "bundle.json", "--identity", "a", "--issuer", "https://b.example.com")
    with_key = signing.run(*sign, "--key", signing.key, env=env, spawned=True)
    assert with_key.code == 1
    assert "not installed, which signatures need. Install it: pip install 'fairlead[sign]'\n" in with_key.out
    for arguments in ((*sign, "--keyless"), by_somebody):
        keyless = signing.run(*arguments, env=env, spawned=True)
        assert keyless.code == 1
        assert "which keyless signatures need. Install it: pip install 'fairlead[keyless]'\n" in keyless.out
    assert signing.run("verify", signing.record, "--no-run", env=env, spawned=True).code == 0


def test_keyless_needs_a_ci_job(signing: Signing) -> None:
    """Outside of a CI job with an identity, nothing is sent or written."""
    output = signing.folder / "out.json"
    ended = signing.run("record", "sign", signing.record, "--keyless", "--output", output, env=NO_JOB)
    assert ended.code == 1
    assert ended.out.startswith("This is no CI job with an identity. On GitHub, the job needs `permissions: id-token")
    assert not output.exists()
