"""The field table: every request field that this server knows, and what it does with it."""

import difflib
from functools import cache, lru_cache

from overt.contract.field import Field, Route
from overt.contract.honoured import HONOURED
from overt.contract.limits import DEFAULTS, Limits
from overt.contract.refused import REFUSED

FIELDS: tuple[Field, ...] = HONOURED + REFUSED


@cache
def by_name(route: Route, limits: Limits = DEFAULTS) -> dict[str, Field]:
    """The body fields of a route by their (dotted) names, as `limits` bound them."""
    return {field.name: field.under(limits) for field in FIELDS if route in field.routes and field.location == "body"}


@lru_cache(maxsize=1024)
def nearest(route: Route, name: str) -> str | None:
    """The honoured field that an unknown name was probably meant to be."""
    parent = name.rpartition(".")[0]
    honoured = [
        field.name
        for field in by_name(route).values()
        if field.effect == "honoured" and field.name.rpartition(".")[0] == parent
    ]
    return next(iter(difflib.get_close_matches(name[:64], honoured, n=1, cutoff=0.75)), None)
