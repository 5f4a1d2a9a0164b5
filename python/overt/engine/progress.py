"""A progress bar on a terminal, a line a stage elsewhere."""

import sys
from types import TracebackType

from tqdm import tqdm


class Progress:
    """Shows how far the loading of a model is, on stderr."""

    def __init__(self, title: str) -> None:
        self._bar: tqdm[None] = tqdm(
            desc=title, unit="tensor", file=sys.stderr, disable=None, leave=False, mininterval=0.1
        )
        self._title = title

    def update(self, done: int, total: int, what: str) -> None:
        """`done` of `total` tensors are loaded; `what` is the one being loaded."""
        self._bar.total = total
        self._bar.set_postfix_str(what, refresh=False)
        self._bar.update(done - self._bar.n)

    def __enter__(self) -> "Progress":
        if not sys.stderr.isatty():
            print(self._title, file=sys.stderr, flush=True)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.close()
