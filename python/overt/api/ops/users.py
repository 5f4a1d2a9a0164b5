"""Requests by user, where the operator wants them counted: under a hash, since /metrics is read by many."""

import hashlib
from collections import Counter

MOST = 10_000
"""Users that are told apart; whoever comes later counts as `_other`."""


class Users:
    """Counts by user. Without a secret nothing is counted."""

    def __init__(self, secret: str | None) -> None:
        self._secret = None if secret is None else hashlib.sha256(secret.encode()).digest()
        self.counts: Counter[tuple[str]] = Counter()

    def add(self, user: str | None) -> None:
        """One more request. The hash of a user is the same as long as the secret is."""
        if self._secret is None or user is None:
            return
        name = hashlib.blake2b(user.encode("utf-8", "replace"), digest_size=8, key=self._secret).hexdigest()
        if (name,) not in self.counts and len(self.counts) >= MOST:
            name = "_other"
        self.counts[name,] += 1
