"""What of the contract is worked out once, for a route under a profile."""

from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import BaseModel

from overt.contract.field import Field, Route, Standing
from overt.contract.params import GenerationParams
from overt.contract.profiles import Profile


@dataclass(frozen=True, slots=True)
class Plan:
    """A route under a profile, in one deployment."""

    route: Route
    profile: Profile
    max_json_depth: int
    model: type[BaseModel]
    known: Mapping[str, Field]
    """Body rows by name."""
    watched: Mapping[str, Mapping[str, Standing]]
    """Fields of the model that are inert or refused at rest: by the object they stand in ("" or "overt."), by key."""
    watched_with_tools: Mapping[str, Mapping[str, Standing]]
    """The same where the template is given tools, which may be another."""
    params: GenerationParams
    """Of a request that says nothing."""
    prefix: str
    """Of ids."""
    report: str
    """JSON members for bodies that report, beside the effects."""
    report_with_tools: str
    """The same where the template is given tools."""
