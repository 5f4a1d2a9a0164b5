"""The field table: every request field and header that this server knows, and what it does with it."""

import difflib
from functools import cache, lru_cache

from overt.contract.field import Field, Route
from overt.contract.headers import HEADERS
from overt.contract.honoured import HONOURED
from overt.contract.limits import DEFAULTS, Limits
from overt.contract.profiles import OVERT, PROFILES, Profile
from overt.contract.refused import REFUSED

FIELDS: tuple[Field, ...] = HONOURED + REFUSED + HEADERS


def by_name(route: Route, limits: Limits = DEFAULTS, profile: Profile = OVERT) -> dict[str, Field]:
    """The body fields of a route by their (dotted) names, as the limits and the profile bound them."""
    return _by_name(route, limits, profile.name)


@cache
def _by_name(route: Route, limits: Limits, profile: str) -> dict[str, Field]:
    rows = (field for field in FIELDS if route in field.routes and field.location == "body")
    return {field.name: field.under(limits, PROFILES[profile]) for field in rows}


@lru_cache(maxsize=1024)
def nearest(route: Route, name: str) -> str | None:
    """The field that an unknown name was probably meant to be: one that is read."""
    parent = name.rpartition(".")[0]
    read = [
        field.name
        for field in by_name(route).values()
        if field.effect != "refused" and field.name.rpartition(".")[0] == parent
    ]
    return next(iter(difflib.get_close_matches(name[:64], read, n=1, cutoff=0.75)), None)
