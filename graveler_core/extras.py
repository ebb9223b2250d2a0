"""The optional dependencies of the distribution: which extra installs what a feature imports."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from graveler_core.errors import Unavailable


@contextmanager
def requires(extra: str) -> Iterator[None]:
    """Explain an import that fails because an extra is not installed.

    Args:
        extra: Name of the extra whose packages are imported inside the `with` statement.

    Raises:
        Unavailable: A module is missing; the message names it and the extra.
    """
    try:
        yield
    except ModuleNotFoundError as missing:
        raise Unavailable(f"the module {missing.name} is not installed: pip install 'graveler[{extra}]'") from missing
