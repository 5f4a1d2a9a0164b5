"""Reads a GGUF file's header: metadata and the list of tensors. Tensor data stays in the mapped file."""

import math
import mmap
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from overt.models.files import ModelError

MAGIC = b"GGUF"
VERSIONS = (2, 3)
STRING, ARRAY = 8, 9
# Value types by their number in the file, as struct formats of one value.
SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
MAX_DIMENSIONS = 4


@dataclass(frozen=True, slots=True)
class TensorInfo:
    """Where a tensor lies."""

    name: str
    shape: tuple[int, ...]
    """Outermost dimension first, as torch has it (the file lists the innermost first)."""
    kind: int
    """Number of the quantisation type, as `gguf.GGMLQuantizationType` counts."""
    offset: int
    """Bytes from the start of the file."""


@dataclass(frozen=True, slots=True)
class GgufFile:
    """A GGUF file's metadata, tensors and bytes."""

    path: Path
    metadata: dict[str, Any]
    tensors: dict[str, TensorInfo]
    data: mmap.mmap

    def get(self, key: str, kind: type, default: Any = None) -> Any:
        """Metadata `key` as a `kind`, or `default` where the file lacks it.

        Raises ModelError where it is of another type, or no finite number.
        """
        value = self.metadata.get(key)
        if value is None:
            return default
        if kind is float and type(value) is int:
            return float(value)
        if type(value) is not kind:
            raise self._wrong(key, f"a {type(value).__name__} where a {kind.__name__}")
        if type(value) is float and not math.isfinite(value):
            raise self._wrong(key, f"{value} where a finite number")
        return value

    def values(self, key: str, kind: type) -> list[Any] | None:
        """Metadata `key` as a list of `kind`, or None where the file lacks it. Raises ModelError as `get` does."""
        found: list[Any] | None = self.get(key, list)
        # An array's values are of one type.
        if found and type(found[0]) is not kind:
            raise self._wrong(key, f"a list of {type(found[0]).__name__} where one of {kind.__name__}")
        if found and kind is float and not all(map(math.isfinite, found)):
            raise self._wrong(key, "a list with an infinity or no number where one of finite numbers")
        return found

    def _wrong(self, key: str, what: str) -> ModelError:
        return ModelError(
            f"{self.path}: metadata {key} is {what} is needed; convert the model again with a current converter"
        )


class _Cursor:
    """A position in the header."""

    def __init__(self, data: mmap.mmap) -> None:
        self.data = data
        self.at = 0

    def scalar(self, form: str) -> Any:
        (value,) = struct.unpack_from("<" + form, self.data, self.at)
        self.at += struct.calcsize("<" + form)
        # 1e-5 is stored as its nearest float32, 9.9999997e-6: the shortest decimal of it is what was meant.
        return _shortest(value) if form == "f" else value

    def string(self) -> str:
        size = self.scalar("Q")
        if size > len(self.data) - self.at:
            raise struct.error("a text reaches beyond the end of the file")
        raw = self.data[self.at : self.at + size]
        self.at += size
        # Byte pieces of some vocabularies are not text: they are told apart by their type, not their name.
        return raw.decode("utf-8", "replace")

    def value(self, kind: int) -> Any:
        if kind == STRING:
            return self.string()
        if kind == ARRAY:
            return self.array()
        if kind not in SCALARS:
            raise struct.error(f"value type {kind} is unknown")
        return self.scalar(SCALARS[kind])

    def array(self) -> list[Any]:
        kind, count = self.scalar("I"), self.scalar("Q")
        if count > len(self.data) - self.at:
            raise struct.error("an array reaches beyond the end of the file")
        if kind in SCALARS:
            form = f"<{count}{SCALARS[kind]}"
            values = list(struct.unpack_from(form, self.data, self.at))
            self.at += struct.calcsize(form)
            return values
        if kind != STRING:
            raise struct.error(f"arrays of value type {kind} are unknown")
        return [self.string() for _ in range(count)]


def _shortest(value: float) -> float:
    """The decimal with the fewest digits that is `value` in float32."""
    for digits in range(1, 9):
        short = float(f"{value:.{digits}g}")
        # The largest float32, rounded up, is none any more.
        if abs(short) < 3.4e38 and struct.unpack("<f", struct.pack("<f", short)) == (value,):
            return short
    return value


def read(path: Path) -> GgufFile:
    """Reads the header of the GGUF file at `path`.

    Raises ModelError where it cannot be read, is no GGUF file, is truncated or of an unknown version.
    """
    try:
        with path.open("rb") as file:
            data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError) as error:
        raise ModelError(f"{path} cannot be read: {error}") from error
    if data[:4] != MAGIC:
        raise ModelError(f"{path} is not a GGUF file: it begins with {data[:4]!r} instead of {MAGIC!r}")
    cursor = _Cursor(data)
    cursor.at = len(MAGIC)
    try:
        version = cursor.scalar("I")
        if version not in VERSIONS:
            known = " and ".join(map(str, VERSIONS))
            raise ModelError(f"{path} is GGUF version {version}; versions {known} (little-endian) are known")
        count, keys = cursor.scalar("Q"), cursor.scalar("Q")
        metadata = {}
        for _ in range(keys):
            key = cursor.string()
            metadata[key] = cursor.value(cursor.scalar("I"))
        tensors = [_tensor(cursor) for _ in range(count)]
    except struct.error as error:
        raise ModelError(
            f"{path} is damaged or truncated at byte {cursor.at} of {len(data)}: {error}; download it again"
        ) from error
    alignment = metadata.get("general.alignment", 32)
    if type(alignment) is not int or alignment < 1:
        raise ModelError(f"{path}: general.alignment is {alignment!r}; it must be a positive integer")
    start = -(-cursor.at // alignment) * alignment
    placed = {name: TensorInfo(name, shape, kind, start + offset) for name, shape, kind, offset in tensors}
    return GgufFile(path, metadata, placed, data)


def _tensor(cursor: _Cursor) -> tuple[str, tuple[int, ...], int, int]:
    name = cursor.string()
    dimensions = cursor.scalar("I")
    if not 0 < dimensions <= MAX_DIMENSIONS:
        raise struct.error(f"tensor {name} has {dimensions} dimensions")
    shape = tuple(cursor.scalar("Q") for _ in range(dimensions))[::-1]
    return name, shape, cursor.scalar("I"), cursor.scalar("Q")
