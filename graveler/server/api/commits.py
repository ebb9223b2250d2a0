"""Operations on commits: commit, log, diff, merge."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Final

from starlette.responses import Response as HttpResponse

from graveler.server.api import diffs
from graveler.server.api.call import Call, answer
from graveler.server.api.errors import COMMIT_NOT_FOUND
from graveler.server.api.records import ApiCommit, CommitCreation, MergeBaseResult, MergeCreation, MergeResult
from graveler.server.refusals import refusal
from graveler_core.errors import Conflict, InvalidInput, Kind, NoChanges, NotFound
from graveler_core.facade.history import CommitRecord, LogEntry
from graveler_core.facade.repository import Repository

LOOKED_AT: Final = 1_000
"""Minimum number of commits that a page of a log looks at, if it has not enough results before."""
_STRATEGIES: Final = {"": None, "source-wins": "source", "dest-wins": "destination"}
_CREATION: Final = "Repository created"
"""Message of the commit that creates a repository."""
_STRATEGY_KEY: Final = ".lakefs.merge.strategy"
"""Key of commit metadata under which clients look for the strategy of a merge."""


def commit(call: Call) -> HttpResponse:
    """Commit the staged changes of a branch."""
    wanted: CommitCreation = call.body
    branch = call.open_branch().branch
    try:
        made = branch.commit(
            wanted.message,
            metadata=wanted.metadata,
            allow_empty=wanted.allow_empty,
            date=None if wanted.date is None else _moment(wanted.date),
        )
    except NoChanges:
        return refusal(400, "commit: no changes")
    return answer(201, commit_record(made))


def get_commit(call: Call) -> HttpResponse:
    """Show the commit that a ref names."""
    try:
        found = call.graveler.repository(call.repository).commit(call.path["commit"])
    except NotFound as error:
        if error.kind is not Kind.RefNotFound:
            raise
        return refusal(404, COMMIT_NOT_FOUND)
    return answer(200, commit_record(found))


def log(call: Call) -> HttpResponse:
    """List the commits that a ref reaches. An offset is a token of the log, or a commit id.

    A request looks at a limited number of commits. Its page may then have few results or none, although there are more.
    """
    query, repo, ref = call.query, call.graveler.repository(call.repository), call.path["ref"]
    prefixes = [*query.texts("prefixes"), *query.texts("objects")]
    paths = frozenset(query.texts("objects"))
    one_prefix = prefixes[0] if len(prefixes) == 1 else ""
    since = query.text("since")
    found = repo.log(
        ref,
        prefix=one_prefix,
        first_parent=query.flag("first_parent"),
        not_before=_parsed_time(since) if since else None,
        after=query.text("after") or None,
        max_commits=max(call.rows, LOOKED_AT),
        until=query.text("stop_at") or None,
    )
    entries: Iterable[LogEntry] = found
    if prefixes and (len(prefixes) > 1 or paths):
        entries = (entry for entry in entries if _changed(entry, prefixes, paths))
    return call.page(entries, commit_record, lambda entry: entry.token, found.rest)


def diff_refs(call: Call) -> HttpResponse:
    """List the differences between two refs; by default, only the changes of the right side since the merge base."""
    query, repo = call.query, call.graveler.repository(call.repository)
    left, right = call.path["left"], call.path["right"]
    kind = query.text("type") or "three_dot"
    if kind not in ("two_dot", "three_dot"):
        raise InvalidInput(f"query parameter 'type': {kind!r} must be two_dot or three_dot")
    found = diffs.between_refs(repo, left, right, query, since_merge_base=kind == "three_dot")
    return call.page(found, lambda record: record, lambda record: record.path)


def diff_branch(call: Call) -> HttpResponse:
    """List the staged changes of a branch."""
    branch = call.graveler.repository(call.repository).branch(call.branch)
    found = diffs.uncommitted(branch, call.query)
    return call.page(found, lambda record: record, lambda record: record.path)


def merge(call: Call) -> HttpResponse:
    """Merge a ref into a branch.

    If the branch already has all changes of the source, the merge still creates a commit, as in lakeFS.
    """
    wanted: MergeCreation = call.body or MergeCreation()
    repo, source = call.graveler.repository(call.repository), call.path["source"]
    try:
        made = _merged(repo, source, call.branch, wanted)
    except NoChanges:
        if not list(repo.diff(call.branch, source, limit=1, since_merge_base=True)):
            raise
        made = _merged(repo, source, call.branch, wanted.model_copy(update={"allow_empty": True}))
    except Conflict as error:
        if error.kind is not Kind.MergeConflict:
            raise
        return answer(409, MergeResult(reference=""))
    return answer(200, MergeResult(reference=made.id))


def _merged(repo: Repository, source: str, branch: str, wanted: MergeCreation) -> CommitRecord:
    metadata = {**wanted.metadata, _STRATEGY_KEY: wanted.strategy or "default"}
    return repo.merge(
        source,
        into=branch,
        message=wanted.message,
        metadata=metadata,
        strategy=_STRATEGIES[wanted.strategy],
        allow_empty=wanted.allow_empty,
        squash=True if wanted.squash_merge else None,
    )


def find_merge_base(call: Call) -> HttpResponse:
    """Show the merge base of two refs."""
    repo = call.graveler.repository(call.repository)
    source, destination = call.path["source"], call.branch
    found = MergeBaseResult(
        source_commit_id=repo.at(source).commit_id,
        destination_commit_id=repo.at(destination).commit_id,
        base_commit_id=repo.merge_base(source, destination).id,
    )
    return answer(200, found)


def commit_record(commit: CommitRecord) -> ApiCommit:
    """Return a commit as a record of the API.

    graveler has no metaranges that clients can read, so the id of the commit stands for that of its content. The commit
    that creates a repository has no committer, as clients expect.
    """
    created = not commit.parents and commit.message == _CREATION
    return ApiCommit(
        id=commit.id,
        parents=list(commit.parents),
        committer="" if created else commit.committer,
        message=commit.message,
        creation_date=int(commit.creation_date.timestamp()),
        meta_range_id=commit.id,
        metadata=dict(commit.metadata),
        generation=commit.generation,
    )


def _changed(entry: LogEntry, prefixes: list[str], paths: frozenset[str]) -> bool:
    """Return true if a commit changed a path, or a path below a prefix."""
    for each in prefixes:
        first = next(entry.changes(start=each, limit=1), None)
        if first is not None and (first.path == each if each in paths else first.path.startswith(each)):
            return True
    return False


def _parsed_time(given: str) -> datetime:
    try:
        parsed = datetime.fromisoformat(given)
    except ValueError as error:
        raise InvalidInput(f"query parameter 'since': {given!r} must be a time such as 2026-01-31T12:00:00Z") from error
    return parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)


def _moment(seconds: int) -> datetime:
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError) as error:
        raise InvalidInput(f"date {seconds}: must be a number of seconds since 1970 that is a date") from error
