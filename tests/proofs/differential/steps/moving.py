"""Steps on whole repositories: deletion and restoration, dumps into another store."""

from __future__ import annotations

from datetime import timedelta
from random import Random

from graveler_core.blobs.open import OpenedBlobs
from graveler_core.facade.branch import Branch as BranchHandle
from graveler_core.kv.backends.memory import open_memory
from graveler_core.model.entry import Entry
from graveler_core.model.ids import RepositoryUid
from graveler_core.objects import owner_files
from tests.old_paths import any_path
from tests.proofs.differential.model import REPOSITORY_NOT_FOUND
from tests.proofs.differential.steps.naming import same_events
from tests.proofs.differential.steps.reading import whole
from tests.proofs.differential.steps.upkeep import sound
from tests.proofs.differential.steps.writing import UNKNOWN, adopt, look
from tests.proofs.differential.values import within
from tests.proofs.differential.world import REPOSITORY, Handle, World, refusal_of


def lifecycle(w: World, r: Random) -> None:
    """Delete the repository; another one bears its name for a while; then bring it back as it was."""
    w.said = ("delete and undelete",)
    if w.model.read_only:
        w.refused({("PermissionDenied", "RepositoryReadOnly")}, lambda: w.use(r).graveler.delete_repository(REPOSITORY))
        return
    uid = w.handles[0].repo.uid
    w.use(r).graveler.delete_repository(REPOSITORY)
    late = _gone(w, r)
    if r.random() < 0.5:
        late += _another(w, r)
    graveler = w.use(r).graveler
    waiting = [entry.repository.uid for entry in graveler.deleted_repositories() if entry.state == "deleted"]
    w.require(uid in waiting, "the deleted repository is not listed", waiting)
    if r.random() < 0.3:
        graveler.clean(late=timedelta(0))
    restored = w.use(r).graveler.undelete_repository(REPOSITORY, uid=uid)
    w.equal("uid", restored.uid, uid)
    w.reopen()
    for name, path in late:
        _settle(w, w.use(r), name, path)
    w.said = ("undeleted",)
    whole(w, r)


def _gone(w: World, r: Random) -> list[tuple[str, str]]:
    """Nobody reaches a deleted repository, with old handles or new ones; gives the writes of unknown outcome."""
    name, path = r.choice([*w.model.branches]), w.names.path(r)
    handle = w.use(r)
    branch, gone = w.branch(handle, name), {REPOSITORY_NOT_FOUND}
    w.refused(gone, lambda: w.use(r).graveler.repository(REPOSITORY))
    w.refused(gone, lambda: branch.get(path))
    w.refused(gone, lambda: [*branch.list()])
    w.refused(gone, lambda: branch.commit("late"))
    w.refused(gone, lambda: [*handle.repo.log(name)])
    w.refused(gone, lambda: handle.repo.create_tag("late", name))
    w.equal("repositories", [found.id for found in handle.graveler.list_repositories()], [])
    if r.random() < 0.5:
        return _late_write(w, branch, w.names.entry(r), path)
    return []


def _late_write(w: World, branch: BranchHandle, entry: Entry, path: str) -> list[tuple[str, str]]:
    """A write that comes too late is refused; only one that is told `OutcomeUnknown` may appear afterwards."""
    error = w.refused({REPOSITORY_NOT_FOUND, UNKNOWN}, lambda: _stage(branch, path, entry))
    return [(branch.name, path)] if refusal_of(error) == UNKNOWN else []


def _stage(branch: BranchHandle, path: str, entry: Entry) -> None:
    with any_path():
        branch.stage(path, entry)


def _settle(w: World, handle: Handle, name: str, path: str) -> None:
    """Adopt a late write, and make it once more, as its writer would: cached pages of sealed tokens may lack it."""
    branch = w.model.branches[name]
    adopt(w, handle, branch, path)
    if w.model.forbidden(name, "write"):
        return  # the writer knew an older record of the repository, without the rule
    opened = w.branch(handle, name)
    for record in opened.staged(path, limit=1):
        if record.path == path and record.entry is not None:
            _stage(opened, path, record.entry)
            w.model.stage(branch, {path: w.value(record.entry)}, layer=False)


def _another(w: World, r: Random) -> list[tuple[str, str]]:
    """A repository of the same name, in another place; it is deleted and cleaned up.

    Gives the paths that were written to it: a process that knew the first repository may have staged them there before
    it noticed, and staged them once more.
    """
    graveler = w.use(r).graveler
    w.refused(
        {("NotUnique", "NamespaceInUse")}, lambda: graveler.create_repository(REPOSITORY, w.namespace, ephemeral=True)
    )
    w.refused({("InvalidInput", "InvalidName")}, lambda: graveler.create_repository("A", f"{w.namespace}x"))
    w.uses += 1
    made = graveler.create_repository(REPOSITORY, f"{w.namespace}-{w.uses}", ephemeral=True)
    exists = {("NotUnique", "RepositoryExists")}
    w.refused(exists, lambda: w.use(r).graveler.undelete_repository(REPOSITORY))
    w.refused(exists, lambda: w.use(r).graveler.create_repository(REPOSITORY, f"{w.namespace}-other", ephemeral=True))
    opened = w.use(r).graveler.repository(REPOSITORY).branch("main")
    opened.put("only here", b"x")
    opened.commit("here")
    w.equal("another of the name", [item.path for item in made.at("main").list()], ["only here"])
    graveler.delete_repository(REPOSITORY)
    if r.random() < 0.5:
        graveler.clean(undelete_within=timedelta(0), late=timedelta(0), uid=made.uid)
        left = [e.repository.uid for e in graveler.deleted_repositories()]
        w.require(made.uid not in left, "a repository was cleaned up and is listed", left)
        w.refused({REPOSITORY_NOT_FOUND}, lambda: graveler.undelete_repository(REPOSITORY, uid=made.uid))
    return [("main", "only here")]


def dump(w: World, r: Random) -> None:
    """Dump the repository, and restore it in another store over the same files."""
    w.said = ("dump and restore",)
    w.uses += 1
    uri = f"{w.namespace}-dumps/{w.uses}.dump"
    dumped = w.use(r).repo.dump_refs(uri)
    model = w.model
    w.equal(
        "dumped",
        (dumped.branches, dumped.tags, dumped.commits),
        (len(model.branches), len(model.tags), len(model.commits)),
    )
    w.equal("dirty", dumped.dirty >= sum(bool(b.records or b.spans) for b in model.branches.values()), True)
    w.refused({("NotUnique", "BlobExists")}, lambda: w.use(r).repo.dump_refs(uri))
    other = w.handle(open_memory("memory://"), r)
    w.constants.use(other.constants)
    bare = other.graveler.create_bare_repository(REPOSITORY, w.namespace, adopt=True, ephemeral=True)
    bare.restore_refs(uri)
    for branch in bare.branches():
        known = model.branches[branch.id]
        w.equal("restored head", branch.commit_id, known.head)
        found = [*map(w.item, bare.branch(branch.id).list())]
        w.equal("restored branch", found, within(model.head(known)))
    w.equal("restored tags", {tag.id: tag.commit_id for tag in bare.tags()}, model.tags)
    w.equal("restored rules", bare.protection(), dict(sorted(model.rules.items())))
    w.equal("restored required checks", bare.required_checks(), dict(sorted(model.checks.rules.items())))
    w.equal("restored commits", [c.id for c in bare.commits()], sorted(model.commits))
    told = [(str(e.kind), str(e.type), e.name, e.before, e.after, e.by, e.message) for e in bare.reflog()]
    same_events(w, told, model.events[::-1])
    sound(w, bare, model, deep=r.random() < 0.5)
    # Give the storage namespace back.
    owner_files.remove(OpenedBlobs().at(w.namespace), RepositoryUid(bare.uid))
    other.graveler.close()
    if r.random() < 0.2:
        look(w, r, r.choice([*model.branches.values()]), w.names.path(r))
