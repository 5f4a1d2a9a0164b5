"""Which function proves which field."""

from collections.abc import Callable
from importlib import import_module
from typing import TypeAlias

from contract.proofs import THEMES
from contract.proofs.trial import Trial
from overt.contract.field import Field, Location, Route
from overt.contract.fields import FIELDS

Proof: TypeAlias = Callable[[Trial], None]
Key: TypeAlias = tuple[Route, Location, str]

PROOFS: dict[Key, Proof] = {}


def proof(routes: Route | tuple[Route, ...], *names: str, location: Location = "body") -> Callable[[Proof], Proof]:
    """Registers the proof of honoured fields: it asks for the field with and without, and asserts on the answers."""

    def register(function: Proof) -> Proof:
        for route in (routes,) if isinstance(routes, str) else routes:
            for name in names:
                key = (route, location, name)
                assert key not in PROOFS, f"{key} has two proofs"
                PROOFS[key] = function
        return function

    return register


def header(name: str, routes: tuple[Route, ...]) -> Callable[[Proof], Proof]:
    """The same for a header."""
    return proof(routes, name, location="header")


def declared() -> dict[Key, Field]:
    """Every field of every route, and every header."""
    return {(route, row.location, row.name): row for row in FIELDS for route in row.routes}


for _theme in THEMES:
    import_module(f"contract.proofs.{_theme}")
