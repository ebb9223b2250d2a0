"""Parts of an upload, read by code that may replace their errors by its own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from graveler_core.blobs.nested import asked_for_part
from graveler_core.blobs.port import Data


class UploadParts:
    """Iterator of the parts of an upload that remembers the error that ended it."""

    def __init__(self, parts: Iterable[Data]) -> None:
        self._parts = iter(parts)
        self._error: BaseException | None = None

    def __iter__(self) -> Iterator[Data]:
        return self

    def __next__(self) -> Data:
        try:
            with asked_for_part():
                return next(self._parts)
        except StopIteration:
            raise
        except BaseException as e:
            self._error = e
            raise

    def raise_error(self) -> None:
        """Raise the error of the parts, if there was one."""
        if self._error is not None:
            raise self._error from None
