"""Opens a record in any of its forms: alone, in a signed envelope (DSSE), or in a keyless bundle (Sigstore)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fairlead.json_values import fields_of
from fairlead.session.record.digest import record_digest
from fairlead.session.record.document import SessionRecord
from fairlead.session.record.envelope import Envelope, envelope_of
from fairlead.session.record.keyless import Identity, is_bundle, verify_bundle
from fairlead.session.record.keys import BadKey, NoLibrary, PublicKey
from fairlead.session.record.shape import BadRecord, json_object, record_of
from fairlead.session.record.statement import read_statement

_ENVELOPE_FIELDS = frozenset(("payload", "payloadType", "signatures"))
NOT_SIGNED = "It is not signed, and you named who must have signed it."
NOT_NAMED = "made by a key that you did not name, so nobody vouches for the record. Name the public key with --key."
NO_IDENTITY_NAMED = (
    "made without a key, by someone whom you did not name. Name who must have signed with --identity and --issuer."
)
CHANGED = "The signature is wrong: the statement or the signature was changed after it was signed."
ANOTHER_KEY = "It was signed by another key than you named."


class RefusedRecord(ValueError):
    """A record must not be used; the message tells the user why."""


@dataclass(frozen=True, slots=True)
class NamedKey:
    """A public key, with the name of its file."""

    name: str
    key: PublicKey


@dataclass(frozen=True, slots=True)
class Trust:
    """Who must have signed: one of the keys, or the identity. Nobody: the user named neither."""

    keys: Sequence[NamedKey] = ()
    identity: Identity | None = None

    @property
    def is_given(self) -> bool:
        """Whether the user named anybody."""
        return bool(self.keys) or self.identity is not None


@dataclass(frozen=True, slots=True)
class OpenedRecord:
    """A record, and who vouches for it."""

    record: SessionRecord
    record_json: dict[str, Any]
    """With the fields that Fairlead does not know."""
    digest: str
    """As `record_digest` returns it."""
    commit: str | None = None
    """The full id of the commit that the signed statement names; None: it names none, or the record is not signed."""
    signer: str = ""
    """Who signed it, in words; empty if nobody did, or nobody whom the user named."""
    unproven: str = ""
    """Why a signature proves nothing; empty if there is none, or `signer` made it."""


def open_record(data: bytes, trust: Trust | None = None) -> OpenedRecord:
    """Reads the content of a file, and verifies its signature if the user named who must have made it.

    Raises:
        BadRecord: it is a record in none of the forms.
        RefusedRecord: the signature is missing, wrong, or by someone else than the user named.
        NoLibrary: the package that verifies the signature is not installed.
    """
    values, trust = json_object(data), trust or Trust()
    if is_bundle(values):
        return _open_bundle(values, trust)
    if _ENVELOPE_FIELDS.intersection(values):
        return _open_envelope(envelope_of(values), trust)
    if trust.is_given:
        raise RefusedRecord(NOT_SIGNED)
    return OpenedRecord(record_of(values), values, _digest(values))


def _open_envelope(envelope: Envelope, trust: Trust) -> OpenedRecord:
    if not trust.is_given:
        return _stated(envelope.payload, unproven=NOT_NAMED)
    signer = next((each for each in trust.keys if each.key.signed(envelope)), None)
    if signer is None:
        claimed = {each.key_id for each in envelope.signatures}
        is_named = any(each.key.id in claimed for each in trust.keys)
        raise RefusedRecord(CHANGED if is_named else ANOTHER_KEY)
    return _stated(envelope.payload, signer=f"by the key {signer.name} (SHA-256 {signer.key.id})")


def _open_bundle(values: dict[str, Any], trust: Trust) -> OpenedRecord:
    if trust.identity is None:
        if trust.is_given:
            raise RefusedRecord(ANOTHER_KEY)
        envelope = envelope_of(fields_of(values.get("dsseEnvelope")))
        return _stated(envelope.payload, unproven=NO_IDENTITY_NAMED)
    try:
        payload = verify_bundle(values, trust.identity)
    except NoLibrary:
        raise
    except BadKey as error:
        raise RefusedRecord(f"Its keyless signature was refused: {error}") from error
    return _stated(payload, signer=f"by {trust.identity.name} ({trust.identity.issuer})")


def _stated(payload: bytes, signer: str = "", unproven: str = "") -> OpenedRecord:
    statement = read_statement(payload)
    digest = _digest(statement.record_json)
    return OpenedRecord(statement.record, statement.record_json, digest, statement.commit, signer, unproven)


def _digest(record_json: dict[str, Any]) -> str:
    try:
        return record_digest(record_json)
    except ValueError as error:
        raise BadRecord(f"It has no digest: {error}.") from error
