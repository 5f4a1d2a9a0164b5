"""The API process: HTTP in, bytes out. Imports neither torch nor transformers."""
