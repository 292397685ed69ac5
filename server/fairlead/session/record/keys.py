"""The keys that sign records: Ed25519 and ECDSA on P-256, in files of OpenSSL, cosign and OpenSSH.

The library is an extra of the package (`fairlead[sign]`), so it is imported when it is used.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from fairlead.session.record.envelope import Envelope, Signature

NO_LIBRARY = (
    "The package “cryptography” is not installed, which signatures need. Install it: pip install 'fairlead[sign]'"
)
_KINDS = "Fairlead uses keys of the kinds Ed25519 and ECDSA P-256"
_COSIGN = (b"ENCRYPTED COSIGN PRIVATE KEY", b"ENCRYPTED SIGSTORE PRIVATE KEY")


class BadKey(ValueError):
    """A key cannot be used; the message tells the user why, and what to do."""


class NoLibrary(BadKey):
    """The library of signatures is not installed."""


@dataclass(frozen=True, slots=True)
class PublicKey:
    """A key that verifies signatures."""

    key: Any
    id: str
    """The SHA-256 of the key in DER form (SubjectPublicKeyInfo), in lower-case hexadecimal digits."""

    def signed(self, envelope: Envelope) -> bool:
        """Whether one of the signatures of an envelope was made with this key."""
        return any(self._made(each, envelope.signed_bytes) for each in envelope.signatures)

    def _made(self, signature: Signature, data: bytes) -> bool:
        from cryptography.exceptions import InvalidSignature  # noqa: PLC0415

        try:
            self.key.verify(signature.value, data, *_algorithm(self.key))
        except InvalidSignature:
            return False
        return True


@dataclass(frozen=True, slots=True)
class PrivateKey:
    """A key that makes signatures."""

    key: Any
    public: PublicKey

    def sign(self, payload: bytes) -> Envelope:
        """An envelope with a statement and a signature of this key."""
        unsigned = Envelope(payload, ())
        value = self.key.sign(unsigned.signed_bytes, *_algorithm(self.key))
        return Envelope(payload, (Signature(self.public.id, value),))


def read_public_key(data: bytes) -> PublicKey:
    """The public key in a file: in PEM form, or a line as in `id_ed25519.pub`.

    Raises:
        BadKey: there is no such key in it, or the library is not installed.
    """
    _check_library()
    from cryptography.exceptions import UnsupportedAlgorithm  # noqa: PLC0415
    from cryptography.hazmat.primitives.serialization import (  # noqa: PLC0415
        load_pem_public_key,
        load_ssh_public_key,
    )

    if b"PRIVATE KEY-----" in data:
        raise BadKey("It is a private key. Name the public one.")
    try:
        key = load_ssh_public_key(data) if data.startswith((b"ssh-", b"ecdsa-")) else load_pem_public_key(data)
    except (ValueError, UnsupportedAlgorithm) as error:
        raise BadKey(f"It is not a public key in the form of PEM or OpenSSH. {_KINDS}.") from error
    return _public(key)


def read_private_key(data: bytes, ask_password: Callable[[], str] | None = None) -> PrivateKey:
    """The private key in a file of OpenSSL (PEM) or OpenSSH.

    Args:
        ask_password: asks the user for the password of an encrypted key; None: nobody can be asked.

    Raises:
        BadKey: there is no such key in it, the password is wrong or missing, or the library is not installed.
    """
    _check_library()
    if any(each in data for each in _COSIGN):
        raise BadKey("It is a private key in cosign's own form. Use a key of OpenSSL or OpenSSH.")
    key = _private(data, None)
    if key is None:
        if ask_password is None:
            raise BadKey("It is encrypted. Run the command in a terminal, to enter the password.")
        key = _private(data, ask_password().encode())
    if key is None:
        raise BadKey("It is encrypted, and no password was given.")
    return PrivateKey(key, _public(key.public_key()))


def _private(data: bytes, password: bytes | None) -> Any:
    """The key in a file; None: it is encrypted, and `password` is empty or None."""
    from cryptography.exceptions import UnsupportedAlgorithm  # noqa: PLC0415
    from cryptography.hazmat.primitives.serialization import (  # noqa: PLC0415
        load_pem_private_key,
        load_ssh_private_key,
    )

    load = load_ssh_private_key if b"OPENSSH PRIVATE KEY" in data else load_pem_private_key
    try:
        return load(data, password or None)
    except TypeError:  # a password is needed
        return None
    except (ValueError, UnsupportedAlgorithm) as error:
        if password:
            raise BadKey("The password is wrong, or it is not a private key.") from error
        raise BadKey(f"It is not a private key in the form of PEM or OpenSSH. {_KINDS}.") from error


def _public(key: Any) -> PublicKey:
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat  # noqa: PLC0415

    _algorithm(key)
    der = key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return PublicKey(key, hashlib.sha256(der).hexdigest())


def _algorithm(key: Any) -> tuple[Any, ...]:
    """The last arguments of `sign` and `verify` of a key. Raises BadKey if it is of another kind."""
    from cryptography.hazmat.primitives import hashes  # noqa: PLC0415
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519  # noqa: PLC0415

    if isinstance(key, ed25519.Ed25519PublicKey | ed25519.Ed25519PrivateKey):
        return ()
    is_elliptic = isinstance(key, ec.EllipticCurvePublicKey | ec.EllipticCurvePrivateKey)
    if is_elliptic and isinstance(key.curve, ec.SECP256R1):
        return (ec.ECDSA(hashes.SHA256()),)
    raise BadKey(f"It is a key of another kind. {_KINDS}.")


def _check_library() -> None:
    try:
        import cryptography  # noqa: F401, PLC0415  # pyright: ignore[reportUnusedImport]
    except ImportError as error:
        raise NoLibrary(NO_LIBRARY) from error
