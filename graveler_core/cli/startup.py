"""Entry point of the program `graveler`. It starts fast because it hides pandas from the process.

pyarrow imports pandas, if it is installed, when it converts the first Python list. This would cost each command some
0.7 s, although no command uses pandas. Only the program hides pandas; a library must not do this to its users.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from types import ModuleType

from graveler_core.errors import Unavailable
from graveler_core.extras import requires


class WithoutPandas:
    """Import hook that reports pandas as not installed."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> None:
        if name == "pandas":
            raise ModuleNotFoundError("pandas is not used by this program", name=name)


def leave_pandas_out() -> None:
    """Hide pandas from this process."""
    sys.meta_path.insert(0, WithoutPandas)


def let_pandas_in() -> None:
    """Undo `leave_pandas_out`."""
    if WithoutPandas in sys.meta_path:
        sys.meta_path.remove(WithoutPandas)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the program, and exit. `--version` returns instead. If the extra `cli` is missing, print what to install.

    Args:
        arguments: The command line; `None` means the arguments of the process.
    """
    words = sys.argv[1:] if arguments is None else arguments
    if list(words) == ["--version"]:  # the import of the commands takes most of the time
        from graveler_core.version import show_version

        show_version()
        return
    leave_pandas_out()
    try:
        with requires("cli"):
            from graveler_core.cli.app import run
    except Unavailable as error:
        sys.exit(f"error: {error.message}")
    except KeyboardInterrupt:  # `run` handles a later one
        print("error: interrupted", file=sys.stderr)
        sys.exit(130)
    sys.exit(run(words))
