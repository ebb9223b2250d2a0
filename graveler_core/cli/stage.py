"""`graveler stage`: stage the rows of files as entries, on a cluster."""

from __future__ import annotations

from typing import Annotated

import typer

from graveler_core.cli.branch import BranchUri
from graveler_core.cli.session import Session, verb
from graveler_core.cli.uri import ref_uri
from graveler_core.clusters import FilesOfRows
from graveler_core.errors import InvalidInput
from graveler_core.model.counting import counted

app = typer.Typer()


@verb(app, "stage", clusters=True)
def stage(
    session: Session,
    files: Annotated[
        str, typer.Argument(metavar="FILES", help="Path or URI of the files, in a form that the cluster can read.")
    ],
    uri: BranchUri,
    file_format: Annotated[str, typer.Option("--format", metavar="NAME", help="Format of the files.")] = "parquet",
    partitions: Annotated[
        int | None, typer.Option(metavar="N", help="Number of partitions for sorting. Default: chosen by the cluster.")
    ] = None,
) -> None:
    """Stage the rows of files on a branch in one step. Each row is an entry.

    Needs --cluster. The column `path` is required; the other fields of an entry are optional columns. A row whose
    column `removed` is true removes its path.

    JSON: one document with verb, records, removals (included in records), files (number of files written), engine.
    """
    if session.cluster is None:
        raise InvalidInput("stage: needs --cluster, as in --cluster spark")
    target = ref_uri(uri)
    made = session.cluster.stage_files(session.branch(target), FilesOfRows(files, file_format, partitions))
    session.result(
        made,
        f"staged {counted(made['records'], 'record')} on {target.ref}, {counted(made['removals'], 'removal')} "
        "among them",
    )
