"""Errors of graveler as the errors that users of file systems expect."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from graveler_core.errors import InvalidInput, NotFound, NotUnique, PermissionDenied


@contextmanager
def as_os_errors() -> Iterator[None]:
    """Convert errors inside the `with` statement.

    `NotFound` becomes `FileNotFoundError`, `NotUnique` `FileExistsError`, `PermissionDenied` `PermissionError`, and
    `InvalidInput` `ValueError`. The message stays, and the error of graveler is the cause. Other errors are raised as
    they are.
    """
    try:
        yield
    except NotFound as e:
        raise FileNotFoundError(e.message) from e
    except NotUnique as e:
        raise FileExistsError(e.message) from e
    except PermissionDenied as e:
        raise PermissionError(e.message) from e
    except InvalidInput as e:
        raise ValueError(e.message) from e
