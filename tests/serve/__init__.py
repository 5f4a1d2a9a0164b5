"""Tests of a running server, from outside."""
