"""Parsers of model output, by themselves."""
