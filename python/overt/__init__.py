"""Overt: an OpenAI-compatible LLM server in which nothing is silent."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from overt._core import __version__

__all__ = ["__version__"]


def __getattr__(name: str) -> str:
    # Looked up when asked for, so that `import overt` and `--help` load nothing.
    if name == "__version__":
        from overt._core import __version__ as version

        return version
    raise AttributeError(f"module 'overt' has no attribute {name!r}")
