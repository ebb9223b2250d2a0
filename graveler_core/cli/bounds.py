"""Options that bound listings: `--prefix`, `--from`, `--to`, `--after` and `--limit`.

`--from` is the argument `start` of the Python listings and inclusive, `--to` is their `end` and exclusive. The other
options have the names of the arguments. An end that is not greater than the start lists nothing.
"""

from __future__ import annotations

from typing import Annotated

import typer

Prefix = Annotated[str, typer.Option(metavar="TEXT", help="Only names that begin with this.")]
StartName = Annotated[str, typer.Option("--from", metavar="NAME", help="Only names from this one on (inclusive).")]
EndName = Annotated[str | None, typer.Option("--to", metavar="NAME", help="Only names before this one (exclusive).")]
AfterName = Annotated[str, typer.Option("--after", metavar="NAME", help="Continue after this name.")]
StartPath = Annotated[str, typer.Option("--from", metavar="PATH", help="Only paths from this one on (inclusive).")]
EndPath = Annotated[str | None, typer.Option("--to", metavar="PATH", help="Only paths before this one (exclusive).")]
AfterPath = Annotated[str, typer.Option("--after", metavar="PATH", help="Continue after this path.")]
Limit = Annotated[int | None, typer.Option("--limit", "-n", metavar="N", min=0, help="Maximum number of rows.")]
