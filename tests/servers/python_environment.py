"""Environments for Python programs that need other versions of libraries than the tests.

pip installs the packages once into the cache of the checkout. It is an error if that fails.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.servers.packages import CACHE, made_once


def python_with(name: str, *requirements: str) -> Path:
    """The interpreter of an environment. Its programs run as modules: `python -m NAME`.

    Args:
        name: Name of the environment, with the versions that it is about.
        requirements: Packages to install.
    """
    directory = CACHE / name
    with made_once(directory) as unfinished:
        if unfinished:
            _run(sys.executable, "-m", "venv", str(unfinished))
            _run(str(unfinished / "bin" / "python"), "-m", "pip", "install", "-q", *requirements)
    return directory / "bin" / "python"


def _run(*command: str) -> None:
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    assert not done.returncode, f"{' '.join(command[:5])} failed: {done.stdout[-2_000:]}"
