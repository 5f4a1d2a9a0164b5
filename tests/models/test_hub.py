"""Names that are no files here."""

import os
import subprocess
import sys

import pytest

from overt.models import ModelError, resolve

PROGRAM = """
from overt.models import ModelError, resolve
try:
    resolve("nobody/no-such-model")
except ModelError as error:
    print(error)
"""


def test_offline_says_what_to_do() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env=os.environ | {"HF_HUB_OFFLINE": "1"},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert "nobody/no-such-model is not in the cache" in done.stdout
    assert "HF_HUB_OFFLINE is set" in done.stdout
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("name", ["./nowhere", "a/b/c", "/nowhere", "nowhere.gguf", "", "owner/", "bad name"])
def test_a_path_is_never_asked_for_on_the_hub(name: str) -> None:
    with pytest.raises(ModelError, match="there is no file or folder"):
        resolve(name)
