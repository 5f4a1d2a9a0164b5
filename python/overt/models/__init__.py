"""Models: finding one, reading what it says of itself, and loading its weights."""

from overt.models.files import ModelError, ModelFiles
from overt.models.loading import load
from overt.models.sources import resolve

__all__ = ["ModelError", "ModelFiles", "load", "resolve"]
