"""Files in PEM form: certificates and private keys."""

from __future__ import annotations

import ssl
from pathlib import Path

from arena.errors import BadInput


def read_pem(path: Path, kind: str) -> bytes:
    """Return the content of a file that has a `kind` in it, CERTIFICATE or PRIVATE KEY; raise BadInput where it hasn't."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise BadInput(f"{path}: this can't be read: {error.strerror}") from None
    if f"{kind}-----".encode() not in content or b"-----BEGIN" not in content:
        raise BadInput(f"{path}: this is no {kind.lower()} in PEM form, which begins with -----BEGIN {kind}-----")
    return content


def check_pair(certificate: Path, key: Path) -> None:
    """Raise BadInput where a private key is not that of a certificate, or either is damaged."""
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key, password="")
    except (ssl.SSLError, ValueError) as error:
        raise BadInput(
            f"{key} is not the key of {certificate}, or one of them is damaged: name the pair ({error})"
        ) from None
