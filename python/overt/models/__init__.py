"""Models: finding one, reading what it says of itself, and loading its weights."""

from overt.models.files import ChatTemplate, ModelError, ModelFiles
from overt.models.loading import load
from overt.models.prompting import PromptFiles, prompt_files
from overt.models.sources import resolve

__all__ = ["ChatTemplate", "ModelError", "ModelFiles", "PromptFiles", "load", "prompt_files", "resolve"]
