"""The id that a response carries back."""

import os
import re
from collections.abc import Iterable

_USABLE = re.compile(rb"[\x21-\x7e]{1,128}")


def request_id(headers: Iterable[tuple[bytes, bytes]]) -> str:
    """A usable `X-Request-Id` of a request's headers (names in lower case), or a new one."""
    for name, value in headers:
        if name == b"x-request-id" and _USABLE.fullmatch(value):
            return value.decode("ascii")
    return os.urandom(16).hex()
