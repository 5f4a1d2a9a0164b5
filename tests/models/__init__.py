"""Tests of finding and loading models, and the tiny models that other tests use."""
