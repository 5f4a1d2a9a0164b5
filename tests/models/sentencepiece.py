"""SentencePiece's BPE, as slow as it is plain: the oracle for vocabularies that come with scores."""

import re
from collections.abc import Sequence
from itertools import pairwise


def pieces(text: str, tokens: Sequence[str], scores: Sequence[float], users: Sequence[str]) -> list[int]:
    """Ids of `text`: `users` are matched first, the longest first, and never joined to what is around them."""
    ids: dict[str, int] = {}
    for index, token in enumerate(tokens):
        ids.setdefault(token, index)
    whole = re.compile("|".join(re.escape(user) for user in sorted(users, key=len, reverse=True)) or r"(?!)")
    found: list[int] = []
    at = 0
    for match in whole.finditer(text):
        found += [*_joined(text[at : match.start()], ids, scores), ids[match[0]]]
        at = match.end()
    return found + _joined(text[at:], ids, scores)


def _joined(text: str, ids: dict[str, int], scores: Sequence[float]) -> list[int]:
    """Joins the neighbours whose union scores best, leftmost first, until none is a token."""
    parts = list(text.replace(" ", "▁"))
    while True:
        joins = [
            (-scores[ids[left + right]], at) for at, (left, right) in enumerate(pairwise(parts)) if left + right in ids
        ]
        if not joins:
            break
        _, at = min(joins)
        parts[at : at + 2] = [parts[at] + parts[at + 1]]
    return [
        index
        for part in parts
        for index in ([ids[part]] if part in ids else [ids[f"<0x{byte:02X}>"] for byte in part.encode()])
    ]
