"""Greedy text equals transformers' generate(), token for token, in every mode."""
