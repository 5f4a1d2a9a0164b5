"""When a request runs among others: priorities and tiers."""

from typing import Any

from overt.contract.asked import Asked
from overt.contract.deployment import Deployment
from overt.contract.effects import Effect


def priority(
    body: dict[str, Any], asked: Asked, deployment: Deployment, effects: list[Effect]
) -> tuple[int, str | None]:
    """The priority (lower runs sooner), and the tier to answer with; none: no tier was asked for."""
    cap = deployment.max_client_priority
    usual = max(0, cap)
    field, wanted = "priority", body["priority"]
    if asked.priority is not None:
        if wanted is not None and wanted != asked.priority:
            reason = "the header `x-vllm-priority` comes first"
            effects.append(Effect("priority", "inert", requested=wanted, reason=reason))
        field, wanted = "x-vllm-priority", asked.priority
    tier: str | None = body["service_tier"]
    if tier == "fast":
        tier = "priority"
    if wanted is None:
        return _of_tier(tier, cap, usual, effects)
    if tier in ("flex", "priority", "scale"):
        effects.append(Effect("service_tier", "inert", requested=tier, reason=f"`{field}` says when the request runs"))
    applied = max(wanted, cap)
    if applied != wanted:
        reason = f"clients may ask for {cap} at the lowest (--max-client-priority)"
        effects.append(Effect(field, "adapted", applied, requested=wanted, reason=reason))
    return applied, None if tier is None else "default"


def _of_tier(tier: str | None, cap: int, usual: int, effects: list[Effect]) -> tuple[int, str | None]:
    match tier:
        case None:
            return usual, None
        case "flex":
            return usual + 1, "flex"
        case "priority" if cap < 0:
            return cap, "priority"
        case "priority":
            reason = f"clients may not run sooner than others (--max-client-priority is {cap})"
            effects.append(Effect("service_tier", "adapted", "default", requested=tier, reason=reason))
        case "scale":
            reason = "there is no scale tier here"
            effects.append(Effect("service_tier", "adapted", "default", requested=tier, reason=reason))
    return usual, "default"
