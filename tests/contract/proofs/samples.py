"""Values of fields that have no proof of their own, by their kinds."""

from typing import Any

from overt.contract.field import Field

_OF_KIND: dict[str, tuple[Any, ...]] = {
    "boolean": (True, False),
    "integer": (3, 1, 70),
    "number": (0.5, 1.5, 2),
    "string": ("some", "other words", "\u00fc"),
    "strings": ("some", ["some"], ["a", "b"]),
    "texts": (["some"], ["a", "b"], ["\u00fc"]),
    "integers": ([70], [71, 72], [70, 70]),
    "object": ({"some": "value"}, {"a": {"b": [1]}}, {"type": "json_object"}),
    "labels": ({"some": "value"}, {"a": "b"}, {"\u00fc": ""}),
    "objects": ([{"some": "value"}], [{"name": "f"}], [{}, {}]),
    "any": ("some", {"some": "value"}, [1, 2]),
}
_OF_FIELD: dict[str, tuple[Any, ...]] = {
    "tools": tuple([{"type": "function", "function": {"name": name}}] for name in ("f", "g-1", "h_2")),
    "prediction": (
        {"type": "content", "content": "The Rhine."},
        {"type": "content", "content": [{"type": "text", "text": "a"}]},
        {},
    ),
    "traceparent": (
        "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00",
        "none",
    ),
}


def values(row: Field) -> list[Any]:
    """Three values that the field may have, or all where there are fewer; what asks for nothing is among them."""
    if row.location == "header":
        return list(_OF_FIELD.get(row.name, ("some", "other-1", "1")))
    if row.choices:
        return list(row.choices)[:3]
    return list(_OF_FIELD.get(row.name, _OF_KIND[row.kind]))


def wanting(row: Field) -> list[Any]:
    """Those of them that ask for something."""
    return [value for value in values(row) if not asks_nothing(row, value)]


def asks_nothing(row: Field, value: Any) -> bool:
    """Whether the table says that the value asks for nothing: zero is not false."""
    return any(isinstance(value, bool) == isinstance(noop, bool) and value == noop for noop in row.noop)
