"""What becomes of fields whose effect depends on the model, its template, its tokenizer and the flags."""

from typing import TYPE_CHECKING

from overt.contract.field import HONOURED, Standing
from overt.contract.profiles import Profile
from overt.contract.template import NO_TEMPLATE

if TYPE_CHECKING:
    from overt.contract.deployment import Deployment

THINKING = ("enable_thinking", "thinking")
"""Variables by which templates turn reasoning on and off."""

_GIVE_TEMPLATE = "start the server with --chat-template, or use /v1/completions"


def messages(deployment: "Deployment", _: Profile) -> Standing:
    """Conversations need a template."""
    if deployment.template is not None or deployment.template_for(True) is not None:
        return HONOURED
    writer = deployment.model.get("prompt_format")
    if writer is None:
        return Standing("refused", NO_TEMPLATE, _GIVE_TEMPLATE)
    return Standing(
        "refused", f"conversations are written by {writer}, which this server does not have", _GIVE_TEMPLATE
    )


def _read(name: str, deployment: "Deployment", *, tools: bool = False) -> Standing:
    template = deployment.template_for(tools)
    if template is None:
        return Standing("inert", NO_TEMPLATE, _GIVE_TEMPLATE)
    if not template.reads(name):
        return Standing("inert", f"the chat template does not read `{name}`", "choose a template that does")
    return HONOURED


def tools(deployment: "Deployment", _: Profile) -> Standing:
    """The template shows them, a parser reads the calls."""
    standing = _read("tools", deployment, tools=True)
    if standing is not HONOURED and deployment.parser is not None and deployment.template_for(True):
        return Standing(
            "adapted",
            "the chat template does not show them to the model, but its calls are read, and can be forced",
            "choose a template that reads `tools`",
        )
    if standing is HONOURED and deployment.parser is None:
        return Standing(
            "adapted",
            "the model sees the tools, but no parser reads its calls: they stay text",
            "start the server with --tool-call-parser",
        )
    return standing


def calls(deployment: "Deployment", _: Profile) -> Standing:
    """Only where calls are read."""
    if deployment.parser is None:
        return Standing("inert", "no parser reads this model's calls", "start the server with --tool-call-parser")
    return HONOURED


def constraint(deployment: "Deployment", _: Profile) -> Standing:
    """Unless the operator turned grammars off."""
    if not deployment.constrains:
        return Standing("refused", "the server was started with --grammar-backend none", "leave it out")
    return HONOURED


def reasoning(deployment: "Deployment", _: Profile) -> Standing:
    """Only where reasoning is told apart."""
    if deployment.reasoning_parser is None:
        return Standing(
            "inert",
            "this model's reasoning is not told apart from its answers",
            "start the server with --reasoning-parser",
        )
    return HONOURED


def thinking_budget(deployment: "Deployment", profile: Profile) -> Standing:
    """Some formats have no one end of thinking."""
    standing = reasoning(deployment, profile)
    if standing is HONOURED and not deployment.bounds_thinking:
        return Standing("refused", "thinking in this model's format has no one end", "leave it out")
    return standing


def enable_thinking(deployment: "Deployment", _: Profile) -> Standing:
    """A switch of some templates."""
    template = deployment.template
    if template is None:
        return Standing("inert", NO_TEMPLATE, _GIVE_TEMPLATE)
    if not any(template.reads(name) for name in THINKING):
        return Standing("inert", "the chat template reads no variable for it", "choose a template that does")
    return HONOURED


def shown_tools(deployment: "Deployment", _: Profile) -> Standing:
    """Where nothing is generated, there are no calls to read."""
    return _read("tools", deployment, tools=True)


def add_generation_prompt(deployment: "Deployment", _: Profile) -> Standing:
    """Only for templates that read it."""
    return _read("add_generation_prompt", deployment)


def documents(deployment: "Deployment", _: Profile) -> Standing:
    """Only some templates know them."""
    return _read("documents", deployment)


def chat_template_kwargs(deployment: "Deployment", _: Profile) -> Standing:
    """Each by itself; at rest those that the template reads."""
    return Standing("inert", NO_TEMPLATE, _GIVE_TEMPLATE) if deployment.template is None else HONOURED


def reasoning_effort(deployment: "Deployment", _: Profile) -> Standing:
    """A variable of its own in some templates, a switch in others."""
    template = deployment.template
    if template is None:
        return Standing("inert", NO_TEMPLATE, _GIVE_TEMPLATE)
    if template.reads("reasoning_effort"):
        return HONOURED
    switches = [name for name in THINKING if template.reads(name)]
    if switches:
        names = " and ".join(f"`{name}`" for name in switches)
        return Standing("adapted", f"the chat template knows no efforts, but {names}: false for `none`, else true")
    return Standing("inert", "the chat template reads no variable for it", "choose a template that does")


def suffix(deployment: "Deployment", profile: Profile) -> Standing:
    """Fill-in-the-middle needs tokens for it."""
    if profile.suffix == "inert":
        return Standing("inert", f"the profile {profile.name} ignores it", "choose another profile")
    if not deployment.fills_gaps:
        return Standing(
            "refused",
            "it needs a model that was trained to fill gaps, and this one's vocabulary has no tokens for it",
            "leave it out",
        )
    return HONOURED


def prompt_logprobs(deployment: "Deployment", _: Profile) -> Standing:
    """Not all modelling code gives the prompt's logits."""
    if not deployment.tells_prompt_logprobs:
        return Standing("refused", "this model's code does not give the logits of prompt tokens", "leave it out")
    return HONOURED


def prefix_cache(deployment: "Deployment", _: Profile) -> Standing:
    """Partitions of a cache that may be off."""
    if not deployment.prefix_caching:
        return Standing("inert", "prefix caching is off", "start the server with --enable-prefix-caching")
    return HONOURED


def priority(deployment: "Deployment", _: Profile) -> Standing:
    """Capped by the operator."""
    cap = deployment.max_client_priority
    return Standing(
        "honoured", f"values below {cap} are raised to it", "the operator allows lower ones with --max-client-priority"
    )


def service_tier(deployment: "Deployment", _: Profile) -> Standing:
    """A sooner tier only where clients may run sooner than others."""
    if deployment.max_client_priority >= 0:
        return Standing(
            "adapted",
            "`priority` is served as `default`: clients may not run sooner here",
            "the operator allows it with --max-client-priority",
        )
    return HONOURED


def obfuscation(_: "Deployment", profile: Profile) -> Standing:
    """Some servers never pad."""
    if profile.obfuscation == "never":
        return Standing("inert", f"the profile {profile.name} never pads chunks", "choose another profile")
    return HONOURED


def authorization(deployment: "Deployment", _: Profile) -> Standing:
    """Read where the operator gave keys."""
    if not deployment.guarded:
        return Standing("honoured", "this server has no keys: every request is let in", "--api-key guards it")
    return HONOURED
