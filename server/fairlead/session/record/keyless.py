"""Keyless signatures (Sigstore): made with the identity of a CI job instead of a key, and logged in public.

The library is an extra of the package (`fairlead[keyless]`), so it is imported when it is used.
"""

import json
import logging
import os
from dataclasses import dataclass
from typing import Any

from fairlead.session.record.envelope import PAYLOAD_TYPE
from fairlead.session.record.keys import BadKey, NoLibrary
from fairlead.session.record.shape import BadRecord

# set by the services that give a job an identity
_JOB_VARIABLES = ("GITHUB_ACTIONS", "GITLAB_CI")
BUNDLE_TYPE = "application/vnd.dev.sigstore.bundle"
NO_LIBRARY = (
    "The package “sigstore” is not installed, which keyless signatures need. Install it: "
    "pip install 'fairlead[keyless]'"
)
NO_IDENTITY = (
    "This is no CI job with an identity. On GitHub, the job needs `permissions: id-token: write`; on GitLab, an "
    "`id_tokens` entry named SIGSTORE_ID_TOKEN. Elsewhere, sign with a key: --key FILE."
)


@dataclass(frozen=True, slots=True)
class Identity:
    """Who must have made a keyless signature."""

    name: str
    """As in the certificate: the address of a user, or the URL of a workflow."""
    issuer: str
    """The URL of the service that vouches for the name."""


def is_bundle(values: dict[str, Any]) -> bool:
    """Whether the JSON of a file is a keyless signature with what it signs."""
    kind = values.get("mediaType")
    return isinstance(kind, str) and kind.startswith(BUNDLE_TYPE)


def sign_keyless(payload: bytes) -> bytes:
    """A bundle with a statement and a signature of this CI job, as the content of a file. Needs the internet.

    Raises:
        BadKey: the library is not installed, this is no CI job with an identity, or a service refused.
    """
    if not any(map(os.environ.get, _JOB_VARIABLES)):
        raise BadKey(NO_IDENTITY)
    try:
        from sigstore.dsse import Statement  # noqa: PLC0415
        from sigstore.errors import Error  # noqa: PLC0415
        from sigstore.models import ClientTrustConfig  # noqa: PLC0415
        from sigstore.oidc import (  # noqa: PLC0415
            ExpiredIdentity,
            IdentityError,
            IdentityToken,
            detect_credential,
        )
        from sigstore.sign import SigningContext  # noqa: PLC0415
    except ImportError as error:
        raise NoLibrary(NO_LIBRARY) from error
    try:
        credential = detect_credential()
        if credential is None:
            raise BadKey(NO_IDENTITY)
        context = SigningContext.from_trust_config(ClientTrustConfig.production())
        with context.signer(IdentityToken(credential)) as signer:
            return f"{signer.sign_dsse(Statement(payload)).to_json()}\n".encode()
    except IdentityError as error:
        raise BadKey(NO_IDENTITY) from error
    except (Error, ExpiredIdentity, OSError) as error:
        raise BadKey(f"Sigstore did not sign: {error or type(error).__name__}") from error


def verify_bundle(values: dict[str, Any], identity: Identity) -> bytes:
    """The statement in a bundle that was signed by an identity. Uses the trusted keys that are part of the library.

    Raises:
        BadKey: the library is not installed, or the signature is wrong or by someone else.
        BadRecord: it is not a bundle that the library can read, or it contains no statement.
    """
    try:
        from sigstore.errors import Error  # noqa: PLC0415
        from sigstore.models import Bundle  # noqa: PLC0415
        from sigstore.verify import Verifier, policy  # noqa: PLC0415
    except ImportError as error:
        raise NoLibrary(NO_LIBRARY) from error
    try:
        bundle = Bundle.from_json(json.dumps(values))
    except (Error, ValueError) as error:
        raise BadRecord(f"It is not a complete Sigstore bundle: {error}.") from error
    # it would print that it asks nobody for newer keys, which is intended
    logging.getLogger("sigstore").addHandler(logging.NullHandler())
    wanted = policy.Identity(identity=identity.name, issuer=identity.issuer)
    try:
        kind, payload = Verifier.production(offline=True).verify_dsse(bundle, wanted)
    except Error as error:
        raise BadKey(f"{error}") from error
    if kind != PAYLOAD_TYPE:
        raise BadRecord(f"Its envelope contains no in-toto statement: “payloadType” is not “{PAYLOAD_TYPE}”.")
    return payload
