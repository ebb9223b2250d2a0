"""What the program and the package import before they have work to do."""

from __future__ import annotations

import subprocess
import sys

import pytest

from graveler_core.version import __version__

HEAVY = ("numpy", "obstore", "pandas", "psycopg", "pyarrow", "pydantic", "sqlalchemy", "structlog", "xxhash")
PROGRAM = """\
from graveler_core.cli.startup import main
try:
    main({words})
except SystemExit as end:
    assert not end.code
"""


def imported(program: str) -> set[str]:
    """Return the heavy libraries that a program imports."""
    told = f"{program}\nimport sys\nprint(*sorted({{name.partition('.')[0] for name in sys.modules}}))"
    done = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True)
    return set(done.stdout.splitlines()[-1].split()) & set(HEAVY)


@pytest.mark.parametrize("word", ["--version", "--help"])
def test_the_program_imports_nothing_heavy_to_show_help(word: str) -> None:
    assert imported(PROGRAM.format(words=[word])) == set()


def test_the_version_needs_no_commands() -> None:
    told = "import sys\nprint('graveler_core.cli.app' in sys.modules, 'typer' in sys.modules)"
    program = PROGRAM.format(words=["--version"]) + told
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [f"graveler {__version__}", "False False"]


def test_an_interruption_of_the_imports_ends_it_with_one_line() -> None:
    program = """\
import sys
class Interrupting:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == "graveler_core.cli.app":
            raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupting)
from graveler_core.cli.startup import main
main(["--help"])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "error: interrupted\n")


@pytest.mark.parametrize("package", ["graveler", "graveler_core"])
def test_a_package_imports_a_module_when_its_name_is_used(package: str) -> None:
    assert imported(f"import {package}; {package}.GravelerError") == set()
    assert "pyarrow" in imported(f"import {package}; {package}.Entry")
