"""Stage the rows of a DataFrame on a branch; and as a program: `spark-submit jobs/stage.py --branch … --input …`.

The workers write the rows as files of one layer, and the driver puts it on the branch in one step: all of them are
seen, or none (`graveler_core.engine.layer_parts`). The driver holds a line for each file, and no rows.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from dataclasses import asdict
from typing import TYPE_CHECKING

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from graveler_core.errors import InvalidInput
from jobs.frame import sorted_frame
from jobs.program import Document, Program, run
from jobs.session import pin_worker_interpreter
from jobs.spark_errors import explained

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from graveler_core.engine.layer_parts import Written
    from graveler_core.facade.branch import Branch
    from graveler_core.facade.graveler import Graveler


def stage_dataframe(frame: DataFrame, branch: Branch, *, pieces: int | None = None) -> Written:
    """Stage all rows of a DataFrame at once, as `branch.stage_many` stages those of a table.

    Args:
        frame: A row an entry: `path` (or `key`), and any columns of the relation `entries`, of which `identity` is not
            believed; `removed`, where it is true, removes the path. It must give the same rows whenever it is computed.
        branch: Of a graveler that was connected with a `SparkCluster`.
        pieces: Partitions to sort into; when not given, as many as the session makes in a shuffle.

    Returns:
        The numbers of records, of removals among them, and of files.

    Raises:
        InvalidInput: a column or a row breaks a rule, a path is there twice, a store is in memory; nothing is staged.
        SlowDown: the branch has too many layers: commit or compact it first.
        PermissionDenied: the branch is protected, or the repository read-only.
        Unavailable: Spark has no Java, no session, no workers, or its workers lack what they need.
    """
    return branch.stage_sorted(sorted_frame(frame, pieces))


def arguments(parser: ArgumentParser) -> None:
    """What to stage."""
    parser.add_argument("--branch", required=True, metavar="NAME")
    parser.add_argument("--input", required=True, metavar="URI", help="files of rows, as Spark names them")
    parser.add_argument("--format", default="parquet", metavar="NAME", help="of the files (parquet)")
    parser.add_argument("--pieces", type=int, metavar="N", help="parts to sort into, else as Spark is configured")


def stage(graveler: Graveler, options: Namespace) -> Document:
    """How many records were staged, how many of them removals, and in how many files."""
    branch = graveler.repository(options.repository).branch(options.branch)
    pin_worker_interpreter()
    try:
        with explained():
            frame = SparkSession.builder.getOrCreate().read.format(options.format).load(options.input)
    except PySparkException as error:
        raise InvalidInput(f"input {options.input}: {error.getMessage() or error}") from error
    return asdict(stage_dataframe(frame, branch, pieces=options.pieces))


STAGE = Program("stage", "Stage the rows of files on a branch, all at once.", arguments, stage)


def main() -> None:
    """Run the program on the process's arguments, and exit."""
    sys.exit(run(STAGE))


if __name__ == "__main__":
    main()
