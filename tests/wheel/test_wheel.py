"""The built wheel holds what it must and nothing that shadows others."""

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel of the development profile, whose objects the tests have compiled already."""
    if shutil.which("cargo") is None:
        pytest.skip("cargo is not installed")
    out = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "maturin", "build", "--profile", "dev", "--out", str(out)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, timeout=900)
    (built,) = out.glob("*.whl")
    return built


def test_contents(wheel: Path) -> None:
    assert "-cp311-abi3-" in wheel.name
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0] for name in names} == {
        "overt",
        f"{'-'.join(wheel.name.split('-')[:2])}.dist-info",
    }
    for needed in ("overt/py.typed", "overt/_core.pyi", "overt/_core.abi3.so", "overt/kernels/__init__.py"):
        assert needed in names
    sources = {path.name for path in (ROOT / "cuda").iterdir() if path.suffix in (".py", ".cu")}
    assert sources
    packed = {name.removeprefix("overt/kernels/") for name in names if name.startswith("overt/kernels/")}
    assert sources <= packed, "every kernel is packed as a file, not as a link"
    assert not [name for name in names if name.endswith((".pyc", ".rs"))]


def test_installs_and_has_its_scripts(wheel: Path, tmp_path: Path) -> None:
    target = tmp_path / "site"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(target)
    scripts = next(target.glob("*.dist-info")) / "entry_points.txt"
    text = scripts.read_text()
    assert "serve=overt.cli:serve" in text.replace(" ", "")
    assert "overt=overt.cli:main" in text.replace(" ", "")
    code = "import overt, overt._core, overt.kernels; print(overt.__file__)"
    run = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={"PYTHONPATH": str(target)},
    )
    assert run.returncode == 0, run.stderr
    assert Path(run.stdout.strip()).is_relative_to(target)


def test_locks_name_versions_not_hosts() -> None:
    allowed = 'source = "registry+https://github.com/rust-lang/crates.io-index"'
    for line in (ROOT / "Cargo.lock").read_text().splitlines():
        assert "://" not in line or line == allowed
    assert "://" not in (ROOT / "constraints.txt").read_text()
    for line in (ROOT / "tests/node/package-lock.json").read_text().splitlines():
        assert "resolved" not in line
