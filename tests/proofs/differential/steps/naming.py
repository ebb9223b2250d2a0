"""Steps on names: branches, tags, what happened to them, and the rules that protect them."""

from __future__ import annotations

from itertools import islice
from random import Random

from tests.proofs.differential.model import (
    BRANCH_NOT_FOUND,
    INVALID,
    Branch,
    Refusals,
    Refused,
)
from tests.proofs.differential.refs import ref
from tests.proofs.differential.world import World

Event = tuple[str, str, str, str | None, str | None, str, str]
BRANCH_EXISTS = ("NotUnique", "BranchExists")
TAG_EXISTS = ("NotUnique", "TagExists")
TAG_NOT_FOUND = ("NotFound", "TagNotFound")
DEFAULT_BRANCH = ("InvalidInput", "DefaultBranch")
INVALID_NAMES = {("InvalidInput", "InvalidName"), ("LimitExceeded", "NameTooLong")}
READ_ONLY = ("PermissionDenied", "RepositoryReadOnly")
BAD_NAMES = ("", "a/b", "..", "a..b", "int", "-a", "é", "x" * 256)
BLOCKS = ("write", "commit", "merge", "force")


def taken(w: World, name: str) -> Refusals:
    """What refuses a new name."""
    may: Refusals = {READ_ONLY} if w.model.read_only else set()
    if name in BAD_NAMES:
        may |= INVALID_NAMES
    if name in w.model.branches:
        may.add(BRANCH_EXISTS)
    if name in w.model.tags:
        may.add(TAG_EXISTS)
    return may


def create_branch(w: World, r: Random) -> None:
    """Create a branch at a ref."""
    name, text = r.choice([*w.names.branches, *w.names.tags[:1], r.choice(BAD_NAMES)]), ref(w, r)
    w.said = ("create branch", name, text)
    repo, may, head = w.use(r).repo, taken(w, name), ""
    try:
        head = w.model.commit_of(text)
    except Refused as refused:
        may.add(refused.refusal)
    made = w.attempt(may, lambda: repo.create_branch(name, text))
    if made is not None:
        w.equal("head of a new branch", made.record().commit_id, head)
        _created(w, name, head)


def delete_branch(w: World, r: Random) -> None:
    """Delete a branch, with what is staged on it."""
    name, by, message = r.choice(w.names.branches), r.choice(("", "ada")), r.choice(("", "é"))
    w.said = ("delete branch", name, by, message)
    repo, may = w.use(r).repo, w.model.forbidden(name, "force")
    if name == w.model.default:
        may.add(DEFAULT_BRANCH)
    if w.attempt(may, lambda: repo.delete_branch(name, by=by, message=message) or True):
        branch = w.model.branches.pop(name)
        w.model.deleted[name] = branch.head
        w.model.gone.setdefault(name, []).append(branch)
        w.model.note("deleted", "branch", name, branch.head, None, by, message)


def undelete_branch(w: World, r: Random) -> None:
    """Create a branch anew where it was."""
    name = r.choice(w.names.branches)
    w.said = ("undelete branch", name)
    repo, may = w.use(r).repo, taken(w, name)
    if name not in w.model.deleted:
        may.add(BRANCH_NOT_FOUND)
    made = w.attempt(may, lambda: repo.undelete_branch(name))
    if made is not None:
        _created(w, name, w.model.deleted[name])


def tags(w: World, r: Random) -> None:
    """Create, delete or list tags."""
    name, text = r.choice([*w.names.tags, r.choice(w.names.branches), r.choice(BAD_NAMES)]), ref(w, r)
    w.said = ("tag", name, text)
    repo, may, head = w.use(r).repo, taken(w, name), ""
    if name in w.model.tags and r.random() < 0.6:
        may = {READ_ONLY} if w.model.read_only else set()
        if w.attempt(may, lambda: repo.delete_tag(name, by="bob") or True):
            w.model.note("deleted", "tag", name, w.model.tags.pop(name), None, "bob", "")
        return
    try:
        head = w.model.commit_of(text)
    except Refused as refused:
        may.add(refused.refusal)
    tag = w.attempt(may, lambda: repo.create_tag(name, text, message="m", signature="s"))
    if tag is not None:
        w.equal("tag", (tag.id, tag.commit_id, tag.message, tag.signature), (name, head, "m", "s"))
        w.model.tags[name] = head
        w.model.note("created", "tag", name, None, head)
    if name not in w.model.tags and name not in BAD_NAMES:
        wanted = {TAG_NOT_FOUND} | ({READ_ONLY} if w.model.read_only else set())
        w.refused(wanted, lambda: repo.delete_tag(name))


def verify_tag(w: World, r: Random) -> None:
    """No hook was given that verifies tags."""
    name = r.choice(w.names.tags)
    w.said = ("verify tag", name)
    repo = w.use(r).repo
    w.refused({INVALID} if name in w.model.tags else {INVALID, TAG_NOT_FOUND}, lambda: repo.verify_tag(name))


def list_names(w: World, r: Random) -> None:
    """Branches and tags in order, whole and in pages."""
    prefix, after, limit = r.choice(("", "", "b", "B", "v", "x")), r.choice(("", "", "b2", "v1")), w.names.limit(r)
    w.said = ("list names", prefix, after, limit)
    repo = w.use(r).repo
    heads = {branch.name: branch.head for branch in w.model.branches.values()}
    for found, known in ((repo.branches, heads), (repo.tags, w.model.tags)):
        wanted = sorted((n, h) for n, h in known.items() if n.startswith(prefix) and n > after)[:limit]
        w.equal("names", [(item.id, item.commit_id) for item in found(prefix, after, limit)], wanted)
    by_head = sorted((head, name) for name, head in heads.items())
    page = next(repo.branches(order_by="commit_id").pages(2))
    w.equal("branches by head", [(b.commit_id, b.id) for b in page.items], by_head[:2])
    if page.next is not None:
        rest = [(b.commit_id, b.id) for b in repo.branches(order_by="commit_id", after=page.next)]
        w.equal("branches by head, resumed", rest, by_head[2:])
    name = r.choice(w.names.branches)
    may = set() if name in heads else {BRANCH_NOT_FOUND}
    opened = w.attempt(may, lambda: repo.branch(name))
    if opened is not None:
        w.equal("head", (opened.id, opened.record().commit_id), (name, heads[name]))


def reflog(w: World, r: Random) -> None:
    """What happened to branches and tags, newest first, of all of them or of one."""
    name = r.choice((None, *w.names.branches, *w.names.tags))
    w.said = ("reflog", name)
    repo = w.use(r).repo
    wanted = [event for event in reversed(w.model.events) if name is None or event[2] == name]
    found = [*repo.reflog(name)]
    told = [event for event in found if event.kind != "moved"]
    said = [(str(e.kind), str(e.type), e.name, e.before, e.after, e.by, e.message) for e in told]
    same_events(w, said, wanted)
    if name is not None:
        _moves(w, name, [(e.before, e.after) for e in found if e.kind == "moved"])
    if len(found) > 1:
        at = r.randrange(len(found) - 1)
        rest = [*islice(repo.reflog(name, after=found[at].token), 5)]
        w.equal("reflog, resumed", [e.token for e in rest], [e.token for e in found[at + 1 : at + 6]])


def same_events(w: World, said: list[Event], wanted: list[Event]) -> None:
    """The events are those of the model; of all names, the creation of the first branch may be missing."""
    first = ("created", "branch", w.model.default, None)
    if first not in [event[:4] for event in said]:
        wanted = [event for event in wanted if event[:4] != first]
    w.equal("reflog", said, wanted)


def mend_reflog(w: World, r: Random) -> None:
    """A log that is whole stays what it is."""
    w.said = ("mend or trim reflog",)
    repo = w.use(r).repo
    if r.random() < 0.5:
        w.equal("mended", repo.mend_reflog(), False)
    else:
        repo.trim_reflog(r.choice((1, 2, 100)))
        w.refused({INVALID}, lambda: repo.trim_reflog(0))
    reflog(w, r)


def protect(w: World, r: Random) -> None:
    """Set or take away rules, mostly of short life."""
    pattern, blocks = r.choice(("main", "dev", "*", "b?", "[bd]*", "B2")), r.sample(BLOCKS, r.randint(1, 3))
    w.said = ("protect", pattern, blocks)
    repo, model = w.use(r).repo, w.model
    chance = r.random()
    if model.rules and chance < 0.7:
        pattern = r.choice([*model.rules])
        found = repo.unprotect(pattern)
        del model.rules[pattern]
    elif chance < 0.1:
        found = repo.set_protection({})
        model.rules = {}
    elif chance < 0.4:
        found = repo.protect(pattern, blocks)
        model.rules[pattern] = tuple(block for block in BLOCKS if block in blocks)
    else:
        w.refused({INVALID}, lambda: repo.unprotect("no-such-rule"))
        w.refused({INVALID}, lambda: repo.protect(pattern, ["nothing"]))
        found = repo.protection()
    w.equal("rules", found, dict(sorted(model.rules.items())))
    w.equal("rules, elsewhere", w.use(r).repo.protection(), found)


def unprotect(w: World, r: Random) -> None:
    """Take all rules and the flag away."""
    w.said = ("unprotect",)
    repo = w.use(r).repo
    w.equal("rules", repo.set_protection({}), {})
    repo.set_read_only(False)
    for pattern in [*w.model.checks.rules]:
        repo.require_checks(pattern, [])
        w.model.checks.require(pattern, [])
    w.model.rules, w.model.read_only = {}, False


def read_only(w: World, r: Random) -> None:
    """Set the flag, or take it away."""
    flag = not w.model.read_only and r.random() < 0.3
    w.said = ("read-only", flag)
    w.use(r).repo.set_read_only(flag)
    w.model.read_only = flag
    w.equal("read-only", w.use(r).repo.read_only, flag)


def _created(w: World, name: str, head: str) -> None:
    w.model.branches[name] = Branch(name, head, dict(w.model.content(head)))
    w.model.note("created", "branch", name, None, head)


def _moves(w: World, name: str, found: list[tuple[str | None, str | None]]) -> None:
    """Of each branch of a name the newest eight moves, resets among them."""
    wanted: list[tuple[str | None, str | None]] = []
    for branch in [*w.model.gone.get(name, ()), *filter(None, [w.model.branches.get(name)])]:
        wanted += [(before, after) for kind, before, after in branch.moves[-8:] if kind == "moved"]
    w.equal("moves", found, wanted[::-1])
