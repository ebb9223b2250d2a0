"""What makes the program start fast: pandas stays out of it.

pyarrow imports pandas, where that is installed, at the first Python list that it converts. This costs each command some
0.7 s for nothing, as no verb uses pandas. Only for a process that is the program: a library must not do this to others.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from types import ModuleType


class WithoutPandas:
    """An import hook that says that pandas is not installed."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> None:
        if name == "pandas":
            raise ModuleNotFoundError("pandas is not used by this program", name=name)


def leave_pandas_out() -> None:
    """Make this process one that has no pandas."""
    sys.meta_path.insert(0, WithoutPandas)
