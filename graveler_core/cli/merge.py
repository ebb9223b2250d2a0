"""`graveler merge`: merge a ref into a branch, or list the conflicts."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from graveler_core.cli.commit import IdempotencyKey, Metadata, committed
from graveler_core.cli.pairs import pairs
from graveler_core.cli.session import Session, verb
from graveler_core.cli.uri import Uri, ref_uri
from graveler_core.cli.views import CONFLICTS
from graveler_core.errors import Conflict, InvalidInput, Kind, NotFound

if TYPE_CHECKING:
    from graveler_core.model.changes import Resolved

_SQUASH = "--squash makes one commit with one parent, as in Git; for a merge commit with two parents leave it out"
"""Printed for one release, because `--squash` used to be the name of the default: decision 044."""
_RESULTS: dict[str, Resolved] = {"source": "source", "destination": "destination", "remove": None}

Source = Annotated[str, typer.Argument(metavar="SOURCE_URI", help="graveler://repository/ref")]
Destination = Annotated[str, typer.Argument(metavar="DEST_URI", help="graveler://repository/branch")]
Message = Annotated[
    str,
    typer.Option(
        "--message", "-m", metavar="TEXT", help="Message of the merge commit. Default: a message that names both refs."
    ),
]
Strategy = Annotated[
    Literal["source", "destination"] | None, typer.Option(help="Side to take for each path that both sides changed.")
]
Resolve = Annotated[
    list[str] | None,
    typer.Option(metavar="PATH=RESULT", help="Resolution of one path: source, destination or remove. May be repeated."),
]
Squash = Annotated[
    bool, typer.Option("--squash", help="Make one commit with one parent, without a record of the source.")
]
Replay = Annotated[
    bool, typer.Option("--replay", help="Repeat the commits of the source one by one, each with its own message.")
]

app = typer.Typer()


@verb(app, "merge", clusters=True)
def merge(  # noqa: PLR0913 - the command line's own options
    session: Session,
    source: Source,
    destination: Destination,
    *,
    message: Message = "",
    meta: Metadata = None,
    strategy: Strategy = None,
    resolve: Resolve = None,
    squash: Squash = False,
    replay: Replay = False,
    no_squash: Annotated[bool, typer.Option("--no-squash", hidden=True)] = False,
    allow_empty: Annotated[bool, typer.Option("--allow-empty", help="Make a commit even if nothing changes.")] = False,
    allow_unrelated: Annotated[
        bool, typer.Option("--allow-unrelated", help="Merge even if the two have no common ancestor.")
    ] = False,
    unchanged: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PREFIX",
            help="Refuse the merge if the destination has changed below this prefix since the merge base. May be "
            "repeated.",
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="List the conflicts and end as the merge would. Change nothing.")
    ] = False,
    idempotency_key: IdempotencyKey = "",
) -> None:
    """Merge a ref into a branch of the same repository. If there are conflicts, list them and change nothing.

    By default the merge makes one commit with two parents. With --squash the commit has one parent, as in Git. With
    --replay the commits of the source are repeated, and the branch moves past all of them in one step. With --dry-run
    all conflicts are listed, even those that --strategy would resolve. The command then fails if the merge would fail
    now, for example because of a missing check.

    JSON: one document with id, message, committer, creation_date, parents, metadata, generation. If there are
    conflicts: a line for each of the first thousand with type ("conflict"), path, kind ("added in both", "changed in
    both", "removed in source", "removed in destination"), base, source, destination. With --cluster also the fields
    that `commit` adds, and after an error a last document with error, kind, message, conflicts (the first hundred).
    """
    if no_squash:
        raise InvalidInput("--no-squash: is now called --replay, which repeats the commits of the source")
    if squash and replay:
        raise InvalidInput("--squash and --replay exclude each other: give one of them")
    sides = ref_uri(source), ref_uri(destination)
    if sides[0].repository != sides[1].repository:
        raise InvalidInput(f"URI {destination!r}: must name the same repository as the source", kind=Kind.InvalidUrl)
    if dry_run and session.cluster is not None:
        raise InvalidInput("--dry-run: cannot be combined with --cluster, because conflicts are listed in this process")
    if squash:
        print(f"note: {_SQUASH}", file=sys.stderr)
    rules: dict[str, Any] = {"strategy": strategy, "resolve": _resolutions(resolve or [])}
    rules |= {"allow_empty": allow_empty, "allow_unrelated": allow_unrelated, "unchanged": unchanged or []}
    rules |= {"idempotency_key": idempotency_key, "squash": squash or None, "replay": replay}
    if dry_run:
        _rehearse(session, *sides, rules)
    else:
        _merge(session, *sides, {"message": message, "metadata": pairs("metadata", meta or []), **rules})


def _merge(session: Session, source: Uri, destination: Uri, options: dict[str, Any]) -> None:
    committer = session.committer
    with conflicts_listed(session), session.working("merging"), _chosen_words():
        made = session.repository(destination).merge(source.ref, destination.ref, committer=committer, **options)
    word = "squashing" if options["squash"] else "merging"
    committed(session, made, f"{word} {source.ref} into {destination.ref}")


def _rehearse(session: Session, source: Uri, destination: Uri, rules: dict[str, Any]) -> None:
    """List the conflicts, and raise the error that the merge would raise."""
    repository = session.repository(destination)
    listed = True
    try:
        session.out.rows(repository.conflicts(source.ref, destination.ref), CONFLICTS)
    except NotFound as e:
        if e.kind is not Kind.NoMergeBase or not rules["allow_unrelated"]:
            raise
        listed = False
    with nullcontext() if listed else conflicts_listed(session), _chosen_words():
        repository.check_merge(source.ref, destination.ref, **rules)


@contextmanager
def _chosen_words() -> Iterator[None]:
    """Suppress the warning about the former meaning of `squash`. It names the parameter, but `_SQUASH` names the
    option."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        yield


@contextmanager
def conflicts_listed(session: Session) -> Iterator[None]:
    """List the conflicts of a merge that is refused because of them."""
    try:
        yield
    except Conflict as e:
        if e.kind is Kind.MergeConflict:
            session.out.rows(e.details.get("conflicts", ()), CONFLICTS)
        raise


def _resolutions(given: list[str]) -> dict[str, Resolved]:
    found: dict[str, Resolved] = {}
    for path, result in pairs("resolution", given, last=True).items():
        if result not in _RESULTS:
            raise InvalidInput(f"resolution of {path!r}: {result!r} must be one of {', '.join(_RESULTS)}")
        found[path] = _RESULTS[result]
    return found
