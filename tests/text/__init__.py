"""Text to ids, against the tokenizers of real models."""
