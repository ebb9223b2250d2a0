"""A local installation: what `./run demo` creates and `./run ui` opens, all of it in `.graveler/`.

Metadata in SQLite, objects as local files, Dagster's own storage beside them. The environment variables are those that
the definitions and the command line read, so that all three speak of the same data.
"""

from __future__ import annotations

import argparse
import os
from dataclasses import dataclass
from pathlib import Path

import orchestration
from jobs.sizes import THRESHOLD

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
    """Where everything is. `root` is absolute."""

    root: Path

    @property
    def store(self) -> str:
        """URL of the key-value store."""
        return f"sqlite:///{self.root / 'meta.db'}"

    @property
    def data(self) -> str:
        """URI below which repositories keep their objects."""
        return (self.root / "data").as_uri()

    @property
    def dagster_home(self) -> Path:
        """Dagster's runs, events and settings."""
        return self.root / "dagster"

    @property
    def incoming(self) -> Path:
        """What `import_job` takes over, unless it is told of another place."""
        return self.root / "incoming"

    def enter(self, spark_from: int = THRESHOLD) -> None:
        """Create the directories, and make this process and its children work on them.

        Args:
            spark_from: Rows from which on commits, merges and the like are given to Spark.
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
    """The argument `--spark-from` of the demo and the UI."""
    parser.add_argument(
        "--spark-from",
        type=_rows,
        default=THRESHOLD,
        metavar="ROWS",
        help=f"changes from which on commits, merges and the like are made on Spark ({THRESHOLD:,})",
    )


def _rows(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise argparse.ArgumentTypeError(f"{text!r} is no number of rows")
    return int(text)


def here() -> Installation:
    """The installation of the working directory."""
    return Installation(Path.cwd().resolve() / DIRECTORY)
