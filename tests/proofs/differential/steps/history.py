"""Steps that ask about history: logs, differences, merge bases, all commits."""

from __future__ import annotations

from random import Random

from tests.proofs.differential.model import Commit, Refused
from tests.proofs.differential.refs import committed, ref
from tests.proofs.differential.steps.expected_commits import base_of
from tests.proofs.differential.values import changes, counts, within
from tests.proofs.differential.world import World


def log(w: World, r: Random) -> None:
    """A log with all of its options, what its commits changed, and the rest from a token."""
    text, since = ref(w, r), ref(w, r) if r.random() < 0.3 else None
    prefix, first = w.names.prefix(r) if r.random() < 0.5 else "", r.random() < 0.4
    limit = r.choice((None, 1, 5, 5, 20))
    w.said = ("log", text, since, prefix, first, limit)
    repo, may, wanted = w.use(r).repo, set(), []
    try:
        at = w.model.commit_of(text)
        without = None if since is None else w.model.commit_of(since)
        wanted = w.model.log(at, without, prefix, first_parent=first)
    except Refused as refused:
        may.add(refused.refusal)
        for other in filter(None, (text, since)):
            may |= _refusal(w, other)
    options = {"since": since, "prefix": prefix, "first_parent": first}
    found = w.attempt(may, lambda: [*repo.log(text, limit=limit, **options)])
    if found is None:
        return
    w.equal("log", [commit.id for commit in found], [commit.id for commit in wanted[:limit]])
    for entry in r.sample(found, min(3, len(found))):
        same_words(w, entry, w.model.commits[entry.id])
        differing = w.model.commits[entry.id].changes
        after, most = w.names.after(r), w.names.limit(r)
        listed = [*map(w.pair, entry.changes(after, most))]
        w.equal("changes", listed, within(differing, prefix, after)[:most])
        w.equal("summary", summary(entry.summary()), counts(differing, prefix))
    if found:
        at = r.randrange(len(found))
        rest = [commit.id for commit in w.use(r).repo.log(text, after=found[at].token, limit=5, **options)]
        w.equal("log, resumed", rest, [commit.id for commit in wanted[at + 1 : at + 6]])


def same_words(w: World, found: object, commit: Commit) -> None:
    """A commit's header is what it was when it was made."""
    for what in ("message", "committer", "metadata", "parents", "generation"):
        w.equal(what, getattr(found, what), getattr(commit, what))
    w.equal("date", getattr(found, "creation_date"), commit.date)  # noqa: B009 - as the others


def diff(w: World, r: Random) -> None:
    """The difference of two refs, listed, counted, and in pages."""
    left, right = ref(w, r, bad=0.01), ref(w, r, bad=0.01)
    prefix, after, limit = w.names.prefix(r), w.names.after(r), w.names.limit(r)
    since = r.random() < 0.3
    w.said = ("diff", left, right, prefix, after, limit, since)
    handle, may = w.use(r), _refusal(w, left) | _refusal(w, right)
    repo, there, other = handle.repo, {}, {}
    if not may:
        start, end = w.model.commit_of(left), w.model.commit_of(right)
        if since:
            start = base_of(w, handle, end, start)
        there, other = w.model.content(start), w.model.content(end)
    if may and limit == 0:
        return
    options = {"since_merge_base": since}
    found = w.attempt(may, lambda: [*map(w.pair, repo.diff(left, right, prefix, after, limit, **options))])
    if found is None:
        return
    differing = changes(there, other)
    w.equal("diff", found, within(differing, prefix, after)[:limit])
    w.equal("summary", summary(repo.diff_summary(left, right, prefix, **options)), counts(differing, prefix))
    page = next(repo.diff(left, right, prefix, **options).pages(2))
    if page.next is not None:
        rest = w.use(r).repo.diff(left, right, prefix, page.next, 5, **options)
        w.equal("diff, resumed", [*map(w.pair, rest)], within(differing, prefix)[2:7])


def merge_base(w: World, r: Random) -> None:
    """Look up the merge base, which `commit` shows."""
    left, right = committed(w, r), committed(w, r)
    w.said = ("merge base", left, right)
    handle = w.use(r)
    base = base_of(w, handle, w.model.resolve(left), w.model.resolve(right))
    same_words(w, handle.repo.commit(base), w.model.commits[base])


def commits(w: World, r: Random) -> None:
    """All commits by id, whatever leads to them."""
    after, limit, last = r.choice(("", *w.model.commits)), r.choice((None, 1, 7)), r.random() < 0.4
    w.said = ("commits", after, limit, last)
    repo = w.use(r).repo
    firsts = {commit.parents[0] for commit in w.model.commits.values() if commit.parents} if last else set()
    wanted = sorted(id for id in w.model.commits if id > after and id not in firsts)[:limit]
    w.equal("commits", [c.id for c in repo.commits(after, limit, not_first_parent=last)], wanted)


def summary(found: object) -> tuple[int, int, int]:
    """Counts as the model has them."""
    return (found.added, found.changed, found.removed)  # type: ignore[attr-defined]


def _refusal(w: World, text: str) -> set[tuple[str, str]]:
    try:
        w.model.commit_of(text)
    except Refused as refused:
        return {refused.refusal}
    return set()
