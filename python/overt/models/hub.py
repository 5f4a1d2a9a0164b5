"""Fetches a model from the Hugging Face Hub."""

import os
import re
from pathlib import Path

from overt.models.files import ModelError

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*(/[A-Za-z0-9][A-Za-z0-9._-]*)?")
# The encoders are not run: that a model has one says that its prompts are not written by a template.
_TEXTS = ["*.json", "*.jinja", "encoding/encoding_*.py"]


def looks_like_id(model: str) -> bool:
    """Whether `model` is written like a Hub id: a name, or owner/name."""
    return _ID.fullmatch(model) is not None


def snapshot(model: str, *, weights: bool = True) -> Path:
    """The folder that holds the Hub's `model`, downloaded where the cache lacks it.

    Without `weights` only JSON files and templates are fetched. HF_HUB_OFFLINE=1 restricts it to the cache.
    Raises ModelError.
    """
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import GatedRepoError, LocalEntryNotFoundError, RepositoryNotFoundError

    offline = os.environ.get("HF_HUB_OFFLINE", "").upper() in ("1", "ON", "YES", "TRUE")
    try:
        return Path(
            snapshot_download(
                model,
                allow_patterns=[*_TEXTS, "*.safetensors"] if weights else _TEXTS,
                # Copies of the weights in another layout, which some repositories keep beside them.
                ignore_patterns=["original/*", "consolidated*.safetensors", "onnx/*"],
                local_files_only=offline,
            )
        )
    except GatedRepoError as error:
        raise ModelError(
            f"{model} is gated on the Hub: accept its licence there, then set HF_TOKEN to a token of your account"
        ) from error
    except RepositoryNotFoundError as error:
        raise ModelError(
            f"the Hub has no model {model}, or it is private (then set HF_TOKEN), and there is no folder of "
            f"that name here"
        ) from error
    except LocalEntryNotFoundError as error:
        why = "HF_HUB_OFFLINE is set" if offline else "the Hub cannot be reached"
        raise ModelError(
            f"there is no folder {model}, the Hub's {model} is not in the cache, and {why}: give a folder or "
            f".gguf file, or {'unset HF_HUB_OFFLINE' if offline else 'go online'} to download it"
        ) from error
    except Exception as error:
        # The Hub's client raises its own, the HTTP client's and the system's errors.
        raise ModelError(
            f"the model {model} cannot be fetched from the Hub: {error or type(error).__name__}; give a "
            f"folder or .gguf file, or try again"
        ) from error
