"""Local installation in `.graveler/`, which `./run demo` creates and `./run ui` opens.

Metadata is in SQLite, or in a store that the user names. Objects are local files, and Dagster's storage is next to
them. Definitions and the command line read the same environment variables, so all of them use the same data.
"""

from __future__ import annotations

import argparse
import os
from dataclasses import dataclass
from pathlib import Path

import orchestration
from graveler.spark.sizes import THRESHOLD

DIRECTORY = ".graveler"
WORKSPACE = Path(orchestration.__file__).parent.parent / "workspace.yaml"
_DAGSTER_YAML = """\
telemetry:
  enabled: false
nux:
  enabled: false
concurrency:
  runs:
    max_concurrent_runs: 1
    tag_concurrency_limits:
      - key: graveler/uid
        value:
          applyLimitPerUniqueValue: true
        limit: 1
"""


@dataclass(frozen=True, slots=True)
class Installation:
    """Paths of an installation. `root` is absolute."""

    root: Path
    other_store: str = ""
    """URL of the key-value store; empty means a SQLite file below `root`."""

    @property
    def store(self) -> str:
        """URL of the key-value store."""
        return self.other_store or f"sqlite:///{self.root / 'meta.db'}"

    @property
    def data(self) -> str:
        """URI below which repositories store their objects."""
        return (self.root / "data").as_uri()

    @property
    def dagster_home(self) -> Path:
        """Directory of Dagster's runs, events and settings."""
        return self.root / "dagster"

    @property
    def incoming(self) -> Path:
        """Default source of `import_job`."""
        return self.root / "incoming"

    def enter(self, spark_from: int = THRESHOLD) -> None:
        """Create the directories, and set the environment of this process and its children.

        Args:
            spark_from: Minimum number of rows for which work runs on Spark.
        """
        self.dagster_home.mkdir(parents=True, exist_ok=True)
        self.incoming.mkdir(exist_ok=True)
        settings = self.dagster_home / "dagster.yaml"
        if not settings.exists():
            settings.write_text(_DAGSTER_YAML, encoding="utf-8")
        os.environ["DAGSTER_HOME"] = str(self.dagster_home)
        os.environ["GRAVELER_STORE"] = self.store
        os.environ["GRAVELER_DATA"] = self.data
        os.environ["GRAVELER_INCOMING"] = self.incoming.as_uri()
        os.environ["GRAVELER_SPARK_FROM"] = str(spark_from)


def add_spark_from(parser: argparse.ArgumentParser) -> None:
    """Add the argument `--spark-from` of the demo and the UI."""
    parser.add_argument(
        "--spark-from",
        type=_rows,
        default=THRESHOLD,
        metavar="ROWS",
        help=f"number of changes from which on commits, merges and similar work run on Spark (default {THRESHOLD:,})",
    )


def add_store(parser: argparse.ArgumentParser) -> None:
    """Add the argument `--store` of the demo and the UI."""
    parser.add_argument(
        "--store", default="", metavar="URL", help="URL of the key-value store (default: a SQLite file in .graveler/)"
    )


def _rows(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise argparse.ArgumentTypeError(f"{text!r}: must be a number of rows")
    return int(text)


def here(store: str = "") -> Installation:
    """Return the installation of the working directory.

    Args:
        store: URL of the key-value store; empty means a SQLite file of the installation.
    """
    return Installation(Path.cwd().resolve() / DIRECTORY, store)
