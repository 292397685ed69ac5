"""Signed records (docs/record.md): in-toto statements in DSSE envelopes, and what is refused."""

import base64
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)
from hypothesis import given
from hypothesis import strategies as st
from securesystemslib.dsse import Envelope as OtherEnvelope
from securesystemslib.signer import SSlibKey  # pyright: ignore[reportPrivateImportUsage]
from sigstore.dsse import Statement as OtherStatement

from fairlead.json_reader import to_json
from fairlead.session.record.digest import record_digest
from fairlead.session.record.envelope import PAYLOAD_TYPE, Envelope, envelope_text
from fairlead.session.record.keyless import Identity
from fairlead.session.record.keys import BadKey, PrivateKey, read_private_key, read_public_key
from fairlead.session.record.shape import BadRecord
from fairlead.session.record.signed import NamedKey, OpenedRecord, RefusedRecord, Trust, open_record
from fairlead.session.record.statement import PREDICATE_TYPE, statement_text
from protocol.examples import a_session_record

Json = dict[str, Any]
RECORD: Json = to_json(a_session_record())
COMMIT = "c" * 40
Made = ed25519.Ed25519PrivateKey | ec.EllipticCurvePrivateKey


def private_file(made: Made, form: PrivateFormat = PrivateFormat.PKCS8, password: bytes = b"") -> bytes:
    protection = BestAvailableEncryption(password) if password else NoEncryption()
    return made.private_bytes(Encoding.PEM, form, protection)


def public_file(made: Made, encoding: Encoding = Encoding.PEM) -> bytes:
    is_ssh = encoding is Encoding.OpenSSH
    form = PublicFormat.OpenSSH if is_ssh else PublicFormat.SubjectPublicKeyInfo
    return made.public_key().public_bytes(encoding, form)


ED25519, ANOTHER, P256 = (
    *(ed25519.Ed25519PrivateKey.from_private_bytes(bytes([n]) * 32) for n in (1, 2)),
    ec.derive_private_key(3, ec.SECP256R1()),
)
KEY = read_private_key(private_file(ED25519))


def trust(*keys: Made) -> Trust:
    return Trust([NamedKey("release.pub", read_public_key(public_file(each))) for each in keys])


def signed(record: Json = RECORD, commit: str | None = COMMIT, key: PrivateKey = KEY) -> bytes:
    return envelope_text(key.sign(statement_text(record, commit)))


FORMS: dict[str, tuple[bytes, bytes]] = {
    "Ed25519 of OpenSSL": (private_file(ED25519), public_file(ED25519)),
    "Ed25519 of OpenSSH": (private_file(ED25519, PrivateFormat.OpenSSH), public_file(ED25519, Encoding.OpenSSH)),
    "P-256 of OpenSSL": (private_file(P256), public_file(P256)),
    "P-256 in the older form": (private_file(P256, PrivateFormat.TraditionalOpenSSL), public_file(P256)),
    "P-256 of OpenSSH": (private_file(P256, PrivateFormat.OpenSSH), public_file(P256, Encoding.OpenSSH)),
}


@pytest.mark.parametrize(("private", "public"), FORMS.values(), ids=FORMS.keys())
def test_a_signed_record_is_opened_with_the_public_key(private: bytes, public: bytes) -> None:
    data = signed(key=read_private_key(private))
    key = read_public_key(public)
    opened = open_record(data, Trust([NamedKey("release.pub", key)]))
    assert opened == OpenedRecord(
        a_session_record(),
        RECORD,
        record_digest(RECORD),
        COMMIT,
        signer=f"by the key release.pub (SHA-256 {key.id})",
    )


@pytest.mark.parametrize("form", [PrivateFormat.PKCS8, PrivateFormat.OpenSSH])
def test_an_encrypted_key_needs_its_password(form: PrivateFormat) -> None:
    data = private_file(ED25519, form, b"secret")
    assert read_private_key(data, lambda: "secret").public.id == KEY.public.id
    for ask, reason in (
        (None, "It is encrypted. Run the command in a terminal"),
        (lambda: "wrong", "The password is wrong"),
        (lambda: "", "no password was given"),
    ):
        with pytest.raises(BadKey, match=reason):
            read_private_key(data, ask)


RSA = rsa.generate_private_key(65537, 2048)
BAD_KEYS: dict[str, tuple[Callable[[bytes], object], bytes, str]] = {
    "no key": (read_public_key, b"hello", "It is not a public key in the form of PEM or OpenSSH."),
    "half a key": (read_public_key, public_file(ED25519)[:60], "It is not a public key"),
    "a private key": (read_public_key, private_file(ED25519), "It is a private key. Name the public one."),
    "a public key": (read_private_key, public_file(ED25519), "It is not a private key"),
    "RSA": (
        read_private_key,
        RSA.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()),
        "It is a key of another kind. Fairlead uses keys of the kinds Ed25519 and ECDSA P-256",
    ),
    "another curve": (
        read_public_key,
        public_file(ec.derive_private_key(3, ec.SECP384R1())),
        "It is a key of another kind.",
    ),
    "cosign's own form": (
        read_private_key,
        b"-----BEGIN ENCRYPTED SIGSTORE PRIVATE KEY-----\nZQ==\n-----END ENCRYPTED SIGSTORE PRIVATE KEY-----\n",
        "It is a private key in cosign's own form.",
    ),
}


@pytest.mark.parametrize(("read", "data", "reason"), BAD_KEYS.values(), ids=BAD_KEYS.keys())
def test_another_key_is_refused(read: Callable[[bytes], object], data: bytes, reason: str) -> None:
    with pytest.raises(BadKey) as error:
        read(data)
    assert str(error.value).startswith(reason)


@pytest.mark.parametrize("made", [ED25519, P256])
def test_other_programs_verify_the_envelope_and_read_the_statement(made: Made) -> None:
    """The envelope is one of DSSE 1.0 and the statement one of in-toto 1, as implementations of others say."""
    key = read_private_key(private_file(made))
    values = json.loads(signed(commit=None, key=key))
    other = SSlibKey.from_crypto(made.public_key(), key.public.id)
    envelope = OtherEnvelope.from_dict(values)
    assert [*envelope.verify([other], 1)] == [key.public.id]
    assert envelope.payload_type == PAYLOAD_TYPE
    OtherStatement(envelope.payload)
    assert json.loads(envelope.payload) == {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": "alt.txt", "digest": {"sha256": "b" * 64}}],
        "predicateType": PREDICATE_TYPE,
        "predicate": RECORD,
    }


def test_a_commit_is_a_subject() -> None:
    subjects = json.loads(statement_text(RECORD, COMMIT))["subject"]
    assert subjects[-1] == {"name": "commit", "digest": {"gitCommit": COMMIT}}


def test_a_record_without_files_and_commit_is_not_signed() -> None:
    record = {**RECORD, "files": []}
    with pytest.raises(BadRecord, match="there is nothing to sign"):
        statement_text(record)
    assert open_record(signed(record), trust(ED25519)).commit == COMMIT


def changed(edit: Callable[[Json], object], data: bytes | None = None) -> bytes:
    """An envelope whose JSON was edited."""
    values = json.loads(data or signed())
    edit(values)
    return json.dumps(values).encode()


def stating(edit: Callable[[Json], object]) -> bytes:
    """A valid envelope about an edited statement."""
    statement = json.loads(statement_text(RECORD, COMMIT))
    edit(statement)
    return envelope_text(KEY.sign(json.dumps(statement).encode()))


def with_payload(edit: Callable[[bytes], bytes]) -> bytes:
    """An envelope whose payload was edited after it was signed."""

    def edit_payload(values: Json) -> None:
        values["payload"] = base64.b64encode(edit(base64.b64decode(values["payload"]))).decode()

    return changed(edit_payload)


WHOLE = signed()
ELSEWHERE = "The subjects of its statement are not the files of its record."
CHANGED = "The signature is wrong: the statement or the signature was changed after it was signed."
ATTACKS: dict[str, tuple[bytes, type[ValueError], str]] = {
    # tampered with
    "another word in the record": (
        with_payload(lambda payload: payload.replace(b"pytest -q", b"true     ")),
        RefusedRecord,
        CHANGED,
    ),
    "another commit in the statement": (
        with_payload(lambda payload: payload.replace(b"c" * 40, b"d" * 40)),
        RefusedRecord,
        CHANGED,
    ),
    "the same statement, written in another way": (
        with_payload(lambda payload: payload.replace(b",", b", ", 1)),
        RefusedRecord,
        CHANGED,
    ),
    "the signature of another statement": (
        changed(lambda values: values.update(signatures=json.loads(signed(commit=None))["signatures"])),
        RefusedRecord,
        CHANGED,
    ),
    "another type of the payload": (
        changed(lambda values: values.update(payloadType="application/json")),
        BadRecord,
        "Its envelope contains no in-toto statement: “payloadType” is not",
    ),
    "no signature": (
        changed(lambda values: values.update(signatures=[])),
        BadRecord,
        "Its envelope has no signature.",
    ),
    "more signatures than anybody makes": (
        changed(lambda values: values.update(signatures=values["signatures"] * 101)),
        BadRecord,
        "Its envelope has more than 100 signatures.",
    ),
    "Base64 with bits that mean nothing": (
        changed(lambda values: values["signatures"][0].update(sig=values["signatures"][0]["sig"][:-3] + "B==")),
        BadRecord,
        "“signatures[0].sig” of its envelope is not Base64 text, or is cut off.",
    ),
    # cut off
    "a cut file": (WHOLE[:-30], BadRecord, "It is not valid JSON: "),
    "a cut payload": (
        changed(lambda values: values.update(payload=values["payload"][:-1])),
        BadRecord,
        "“payload” of its envelope is not Base64 text, or is cut off.",
    ),
    "a cut statement": (with_payload(lambda payload: payload[:-9]), RefusedRecord, CHANGED),
    "a cut signature": (
        changed(lambda values: values["signatures"][0].update(sig="MEUCIQ==")),
        RefusedRecord,
        CHANGED,
    ),
    # signed by the key, but about something else
    "another predicate": (
        stating(lambda statement: statement.update(predicateType="https://slsa.dev/provenance/v1")),
        BadRecord,
        'Its statement is not about a record of Fairlead: “predicateType” is "https://slsa.dev/provenance/v1".',
    ),
    "another type of statement": (
        stating(lambda statement: statement.update(_type="https://in-toto.io/Statement/v0.1")),
        BadRecord,
        "Its envelope contains no in-toto statement: “_type” is not",
    ),
    "subjects that the record does not name": (
        stating(lambda statement: statement["subject"].insert(0, {"name": "a", "digest": {"sha256": "0" * 64}})),
        BadRecord,
        ELSEWHERE,
    ),
    "another digest than the record has": (
        stating(lambda statement: statement["subject"][0]["digest"].update(sha256="0" * 64)),
        BadRecord,
        ELSEWHERE,
    ),
    "no subject": (stating(lambda statement: statement.pop("subject")), BadRecord, ELSEWHERE),
    "a commit that is a branch": (
        stating(lambda statement: statement["subject"][-1]["digest"].update(gitCommit="main")),
        BadRecord,
        'Its statement names a commit that is none: "main".',
    ),
    "a predicate that is no object": (
        stating(lambda statement: statement.update(predicate=[])),
        BadRecord,
        "“predicate” of its statement is not an object.",
    ),
    "a record of a later format": (
        stating(lambda statement: statement["predicate"].update(format=2)),
        BadRecord,
        "Its format is 2",
    ),
    # by others
    "another key": (signed(key=read_private_key(private_file(ANOTHER))), RefusedRecord, "It was signed by another key"),
    "a key of another kind": (
        signed(key=read_private_key(private_file(P256))),
        RefusedRecord,
        "It was signed by another key",
    ),
    "another key that claims to be the one": (
        envelope_text(
            Envelope(
                statement_text(RECORD),
                [
                    replace(
                        read_private_key(private_file(ANOTHER)).sign(statement_text(RECORD)).signatures[0],
                        key_id=KEY.public.id,
                    )
                ],
            )
        ),
        RefusedRecord,
        CHANGED,
    ),
    "nobody": (json.dumps(RECORD).encode(), RefusedRecord, "It is not signed, and you named who must have signed it."),
}


@pytest.mark.parametrize(("data", "kind", "reason"), ATTACKS.values(), ids=ATTACKS.keys())
def test_fault_314_what_was_not_signed_so_is_refused(data: bytes, kind: type[ValueError], reason: str) -> None:
    """A record that was tampered with or cut off, is about something else, or is by somebody else is refused."""
    with pytest.raises(kind) as error:
        open_record(data, trust(ED25519))
    assert str(error.value).startswith(reason)


def test_without_a_named_key_a_signature_proves_nothing() -> None:
    opened = open_record(signed())
    assert (opened.signer, opened.unproven[:40]) == ("", "made by a key that you did not name, so ")
    unsigned = open_record(json.dumps(RECORD).encode())
    assert (unsigned.signer, unsigned.unproven, unsigned.digest) == ("", "", opened.digest)


def test_one_signature_of_several_is_enough() -> None:
    payload = statement_text(RECORD)
    other = read_private_key(private_file(P256)).sign(payload)
    both = Envelope(payload, [*KEY.sign(payload).signatures, *other.signatures])
    for made in (ED25519, P256):
        assert open_record(envelope_text(both), trust(ANOTHER, made)).signer
    with pytest.raises(RefusedRecord):
        open_record(envelope_text(both), trust(ANOTHER))


@given(st.data(), st.sampled_from([ED25519, P256]))
def test_fault_315_no_changed_byte_changes_the_statement(data: st.DataObject, made: Made) -> None:
    """An envelope with one changed, added or missing byte is refused, or is the same statement of the same key."""
    whole = signed(key=read_private_key(private_file(made)))
    at, byte = data.draw(st.integers(0, len(whole) - 1)), bytes([data.draw(st.integers(0, 255))])
    how = data.draw(st.sampled_from(["set", "insert", "remove"]))
    edited = whole[:at] + byte * (how != "remove") + whole[at + (how != "insert") :]
    try:
        opened = open_record(edited, trust(made))
    except (BadRecord, RefusedRecord):
        return
    assert opened == open_record(whole, trust(made))


def test_a_digest_depends_only_on_the_values() -> None:
    """As another JSON library writes the record, such as that of VS Code, it has the same digest."""
    other = json.loads(json.dumps(RECORD, sort_keys=True, indent=4))
    other["seconds"], record = 13, {**RECORD, "seconds": 13.0}
    assert record_digest(other) == record_digest(record) != record_digest(RECORD)
    assert record_digest({**RECORD, "later": 1}) != record_digest(RECORD)
    assert record_digest({**RECORD, "title": "\udc80"}).startswith("sha256:")


def test_a_keyless_bundle_is_refused_without_a_complete_signature() -> None:
    """docs/record.md: a bundle needs a named identity; one that is not complete is no record."""
    bundle = {"mediaType": "application/vnd.dev.sigstore.bundle.v0.3+json", "dsseEnvelope": json.loads(signed())}
    data = json.dumps(bundle).encode()
    assert open_record(data).unproven.startswith("made without a key, by someone whom you did not name.")
    with pytest.raises(RefusedRecord, match="by another key than you named"):
        open_record(data, trust(ED25519))
    with pytest.raises(BadRecord, match="It is not a complete Sigstore bundle: "):
        open_record(data, Trust(identity=Identity("a@example.com", "https://issuer.example.com")))
