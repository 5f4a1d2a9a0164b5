"""API keys: which requests bear one that is valid here."""

import hashlib
import hmac
from collections.abc import Iterable, Sequence

from overt.contract.errors import ApiError

OPEN = frozenset({"/health", "/live", "/ping", "/ready", "/version"})
"""Paths, exactly as they stand here, that need no key."""


class Keys:
    """The valid keys, as hashes. Falsy: there are none, and no request needs one."""

    def __init__(self, keys: Sequence[str], *, open_metrics: bool = False) -> None:
        self._hashes = [_hash(key.encode()) for key in keys]
        self._open = OPEN | {"/metrics"} if open_metrics else OPEN

    def __bool__(self) -> bool:
        return bool(self._hashes)

    def guards(self, path: str) -> bool:
        """Whether a request for a path needs a key. Whatever is not named as open does."""
        return path not in self._open

    def share(self, headers: Iterable[tuple[bytes, bytes]]) -> str:
        """Names the key that a request bears: a short hash, the same after a restart.

        Raises ApiError (401) where it bears none that is valid.
        """
        given = [key for name, value in headers if (key := _key(name, value)) is not None]
        matched = b""
        # All are compared, whichever matches: the time must not tell which.
        for key in given:
            told = _hash(key)
            for known in self._hashes:
                if hmac.compare_digest(told, known):
                    matched = known
        if not matched:
            raise _refusal(bool(given))
        return hashlib.blake2b(matched, digest_size=8, person=b"overt.share").hexdigest()


def _hash(key: bytes) -> bytes:
    return hashlib.sha256(key).digest()


def _key(name: bytes, value: bytes) -> bytes | None:
    if name == b"x-api-key":
        return value.strip()
    if name == b"authorization":
        scheme, _, key = value.strip().partition(b" ")
        if scheme.lower() == b"bearer":
            return key.strip()
    return None


def _refusal(given: bool) -> ApiError:
    return ApiError(
        401,
        "The API key is not valid here."
        if given
        else "This server needs an API key: send it as `Authorization: Bearer KEY` or `x-api-key: KEY`.",
        code="invalid_api_key",
        headers={"www-authenticate": "Bearer"},
    )
