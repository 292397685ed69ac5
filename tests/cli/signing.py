"""A repository with a committed change, its record, and keys, as a user has them."""

import json
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from cryptography.hazmat.primitives.asymmetric import ed25519
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from cli.command import Ended, run_plain
from cli.test_verify import check, content
from fairlead.json_reader import to_json
from fairlead.session.record.document import Change
from protocol.examples import a_session_record
from support.git_folder import GitFolder

Json = dict[str, Any]


class Signing:
    """The repository, in a folder with the other files, and the commands that are run in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.repository = GitFolder(folder / "repository")
        self.repository.git("config", "user.name", "a")
        self.repository.git("config", "user.email", "a@example.com")
        self.key, self.public = self.new_key("release")
        (self.repository.path / "a.py").write_text("a = 1\n")
        self.repository.commit("Before")
        (self.repository.path / "a.py").write_text("a = 2\n")
        self.record = self.write("record.json", self.new_record())
        self.commit = self.repository.commit(self.run("record", "message", self.record).out)
        self.signed = self.sign(self.record, "--commit", "HEAD")

    def new_key(self, name: str) -> tuple[Path, Path]:
        made = ed25519.Ed25519PrivateKey.generate()
        private, public = self.folder / f"{name}.pem", self.folder / f"{name}.pub"
        private.write_bytes(made.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
        public.write_bytes(made.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
        return private, public

    def new_record(self, after: bytes = b"a = 2\n", **more: Any) -> Json:
        known = {"path": "a.py", "before": content(b"a = 1\n"), "after": content(after)}
        checks = [check("grep -q 'a = 2' a.py")]
        change = to_json(Change("a.py", None, "1", "accepted", None))
        record: Json = to_json(a_session_record())
        return {**record, "files": [known], "verifications": checks, "changes": [change], **more}

    def write(self, name: str, record: Json) -> Path:
        path = self.folder / name
        path.write_text(json.dumps(record))
        return path

    def sign(self, record: Path, *options: object, key: Path | None = None) -> Path:
        output = self.folder / f"signed-{len(list(self.folder.iterdir()))}.json"
        ended = self.run("record", "sign", record, "--key", key or self.key, "--output", output, *options)
        assert (ended.code, ended.err) == (0, ""), ended.out
        return output

    def run(self, *arguments: object, env: Mapping[str, str] = MappingProxyType({}), spawned: bool = False) -> Ended:
        return run_plain(*arguments, cwd=self.repository.path, spawned=spawned, **env)

    def verify(self, *arguments: object) -> Ended:
        return self.run("verify", *arguments, "--key", self.public)
