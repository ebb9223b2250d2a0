"""Every public verb on a repository, in any order, against a model of dictionaries; compacted branches among them."""

from __future__ import annotations

from itertools import cycle, takewhile
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from graveler_core.codec.entry import normalise_entry
from graveler_core.engine.references.events import fold
from graveler_core.engine.staging import bulk
from graveler_core.errors import Conflict, DirtyBranch, Kind, NoChanges, NotFound, NotUnique
from graveler_core.facade import branch as branch_facade
from graveler_core.facade import readable_ref
from graveler_core.facade.branch import Branch
from graveler_core.kv import open_store
from graveler_core.kv.backends.memory import open_memory
from graveler_core.kv.store import Store
from graveler_core.model.changes import MergeForm
from graveler_core.model.entry import CommonPrefix, Entry
from graveler_core.model.ids import CommitId
from graveler_core.staging import segment_layer
from graveler_core.testing.invariants import check_history, check_layers, check_listing
from tests.examples import examples
from tests.old_paths import any_path
from tests.proofs.stateful.model import BranchModel, CommitModel, Content, Model, changes, merged, ordered
from tests.proofs.stateful.tables import table_of
from tests.unit.engine.world import World, entry

PATHS = st.one_of(
    st.sampled_from(["a/00", "a/01", "a/02", "a/10", "a/11", "b/0", "b/1"]),
    st.sampled_from(["a", "a/", "a//", "b", "é/1", "é/2", "\U0001f600", "\x01", "ab", "b/1/2/3", "zz"]),
)
PREFIXES = st.sampled_from(["", "a", "a/", "a/0", "b/", "b/1", "é", "nothing/", "z", "\x01"])
AFTER = st.one_of(st.just(""), PATHS)
NUMBERS = st.integers(0, 2)
MTIMES = st.integers(0, 1)
NAMES = st.sampled_from(["main", "dev"])
ANY_NAMES = st.sampled_from(["main", "dev", "_1.x"])
TAGS = st.sampled_from(["v1", "v2"])
FORMS = st.sampled_from(MergeForm)
STRATEGIES = st.sampled_from([None, "source", "destination"])
RESULTS = st.sampled_from(["source", "destination", None, "left"])
SEGMENT_ROWS = 4


class Machine(RuleBasedStateMachine):
    """The repository under test and its model, and small pages and segments."""

    def __init__(self) -> None:
        super().__init__()
        self.patches = pytest.MonkeyPatch()
        self.patches.setattr(bulk, "SEGMENT_ROWS", SEGMENT_ROWS)
        self.patches.setattr(segment_layer, "PIECE_ROWS", 3)
        self.patches.setattr(readable_ref, "PAGE_ROWS", 5)
        self.patches.setattr(branch_facade, "PAGE_ROWS", 3)
        self.world = World(kv=self.open_store())
        self.stores = self.world.stores()
        self.repo = self.world.repository()
        self.checked: set[CommitId] = set()

    def open_store(self) -> Store:
        return open_memory("memory://")

    def teardown(self) -> None:
        self.patches.undo()
        self.world.kv.close()

    @initialize()
    def begin(self) -> None:
        root = self.repo.commit("main").id
        self.model = Model({root: CommitModel({}, (), 1)}, {"main": BranchModel(root, {})})

    def on(self, name: str) -> tuple[Branch, BranchModel]:
        """A branch that exists, by a name that may not."""
        known = name if name in self.model.branches else "main"
        return self.repo.branch(known), self.model.branches[known]

    # Writing

    @rule(name=NAMES, path=PATHS, number=NUMBERS, mtime=MTIMES)
    def stage(self, name: str, path: str, number: int, mtime: int) -> None:
        branch, model = self.on(name)
        with any_path():
            model.shown[path] = branch.stage(path, entry(number, mtime))
        model.touched = True

    @rule(name=NAMES, path=PATHS, data=st.binary(max_size=3))
    def put(self, name: str, path: str, data: bytes) -> None:
        branch, model = self.on(name)
        with any_path():
            model.shown[path] = branch.put(path, data)
        model.touched = True
        assert branch.read(path) == data

    @rule(name=NAMES, rows=st.dictionaries(PATHS, st.tuples(NUMBERS, MTIMES), max_size=14))
    def stage_many(self, name: str, rows: dict[str, tuple[int, int]]) -> None:
        branch, model = self.on(name)
        staged = {path: normalise_entry(path, entry(*row)) for path, row in rows.items()}
        with any_path():
            branch.stage_many(table_of(staged))
        model.shown.update(staged)
        model.touched |= bool(rows)

    @rule(name=NAMES, path=PATHS)
    def remove(self, name: str, path: str) -> None:
        branch, model = self.on(name)
        branch.remove(path)
        model.shown.pop(path, None)
        model.touched = True

    @rule(name=NAMES, paths=st.lists(PATHS, max_size=8))
    def remove_many(self, name: str, paths: list[str]) -> None:
        branch, model = self.on(name)
        branch.remove_many(paths)
        for path in paths:
            model.shown.pop(path, None)
        model.touched |= bool(paths)

    @rule(name=NAMES, prefix=PREFIXES)
    def remove_prefix(self, name: str, prefix: str) -> None:
        branch, model = self.on(name)
        branch.remove_prefix(prefix)
        model.shown = {path: e for path, e in model.shown.items() if not path.startswith(prefix)}
        model.touched = True

    @rule(name=NAMES, path=PATHS, number=NUMBERS)
    def commit_one(self, name: str, path: str, number: int, mtime: int = 0) -> None:
        self.stage(name, path, number, mtime)
        self.commit(name, allow_empty=True)

    @rule(name=NAMES, path=PATHS, number=NUMBERS)
    def compact_one(self, name: str, path: str, number: int) -> None:
        self.stage(name, path, number, 0)
        self.compact(name)

    @rule(name=NAMES, path=PATHS, number=NUMBERS)
    def there_and_back(self, name: str, path: str, number: int) -> None:
        """To another entry and, over the compacted tree that holds it, back to one equal but for its mtime."""
        self.commit_one(name, path, number)
        self.compact_one(name, path, number + 1)
        self.stage(name, path, number, 1)
        self.commit(name, allow_empty=False)

    @rule(name=NAMES, path=PATHS, number=NUMBERS)
    def back_and_folded(self, name: str, path: str, number: int) -> None:
        """To another entry and back to one equal but for its mtime, by commits; then all of it into one tree."""
        for step, mtime in ((number, 0), (number + 1, 0), (number, 1)):
            self.commit_one(name, path, step, mtime)
        self.compact_one(name, f"{path}/", number)

    # Moving heads

    @rule(name=NAMES, allow_empty=st.booleans())
    def commit(self, name: str, allow_empty: bool) -> None:
        branch, model = self.on(name)
        content = self.model.settled(model)
        if not allow_empty and not changes(self.model.head(model), content):
            with pytest.raises(NoChanges):
                branch.commit("nothing")
            if model.touched or model.compacted is not None:
                self.model.begin(model, model.head)
            return
        made = branch.commit("some", metadata={"n": name}, allow_empty=allow_empty)
        assert made.parents == (model.head,)
        self.model.add(made.id, content, (model.head,))
        self.model.begin(model, made.id)

    @rule(source=NAMES, into=NAMES, strategy=STRATEGIES, form=FORMS, allow_empty=st.booleans())
    def merge(self, source: str, into: str, strategy: str | None, *, form: MergeForm, allow_empty: bool) -> None:
        self.bring(source, into, strategy=strategy, form=form, allow_empty=allow_empty)

    @rule(source=NAMES, into=NAMES, strategy=STRATEGIES, form=FORMS, results=st.lists(RESULTS, min_size=1))
    def merge_resolved(
        self, source: str, into: str, strategy: str | None, *, form: MergeForm, results: list[str | None]
    ) -> None:
        """Each path that the source changed becomes one of the results, in turn; some are left to the strategy."""
        (_, theirs), (_, ours) = self.on(source), self.on(into)
        base = self.repo.merge_base(ours.head, theirs.head).id
        changed = changes(self.model.commits[base].content, self.model.head(theirs))
        chosen = zip([change.path for change in changed], cycle(results), strict=False)
        resolve = {path: result for path, result in chosen if result != "left"}
        self.bring(source, into, strategy=strategy, form=form, resolve=resolve)

    def bring(self, source: str, into: str, **options: Any) -> None:
        """A merge, compared with the model's."""
        (_, theirs), (target, ours) = self.on(source), self.on(into)
        form: MergeForm = options.pop("form")
        if form is not MergeForm.COMMIT:
            options[form.value] = True

        def call() -> str:
            return self.repo.merge(f"{source_name}@", target.name, **options).id

        source_name = source if source in self.model.branches else "main"
        if self.model.dirty(ours):
            with pytest.raises(DirtyBranch):
                call()
            return
        base = self.repo.merge_base(target.name, source_name).id
        assert base in self.model.best_bases(ours.head, theirs.head)
        before, there, here = (self.model.commits[c].content for c in (base, theirs.head, ours.head))
        result = merged((before, there, here), options.get("strategy"), options.get("resolve"))
        found = [c.path for c in self.repo.conflicts(f"{source_name}@", f"{target.name}@")]
        assert found == merged((before, there, here), None).conflicts
        if result.conflicts:
            with pytest.raises(Conflict) as caught:
                call()
            assert caught.value.kind is Kind.MergeConflict
            assert [c.path for c in caught.value.details["conflicts"]] == result.conflicts
        elif base == theirs.head or not (options.get("allow_empty") or changes(here, result.content)):
            with pytest.raises(NoChanges) as nothing:
                call()
            assert nothing.value.details["commit"] == ours.head
        else:
            if form is MergeForm.REPLAY:
                self.add_chain(call(), ours, theirs.head)
            else:
                parents = (ours.head,) if form is MergeForm.SQUASH else (ours.head, theirs.head)
                made = self.repo.commit(call())
                assert made.parents == parents
                self.model.add(made.id, result.content, parents)
                self.model.begin(ours, made.id)
            assert not changes(self.model.head(ours), result.content)

    def add_chain(self, head: str, ours: BranchModel, theirs: str) -> None:
        """Take in the commits that a merge repeated; times are those of the commits that changed them last."""
        made = list(takewhile(lambda c: c.id != ours.head, self.repo.log(head, first_parent=True)))
        for commit in reversed(made):
            parents = (ours.head, theirs) if commit.id == head else (ours.head,)
            assert commit.parents == parents
            content = {item.path: item for item in self.repo.at(commit.id).list() if isinstance(item, Entry)}
            self.model.add(commit.id, content, parents)
            self.model.begin(ours, commit.id)

    @rule(source=NAMES, into=NAMES, path=PATHS, number=NUMBERS)
    def publish(self, source: str, into: str, path: str, number: int) -> None:
        """Onto a branch whose compacted tree is its head."""
        self.reset(into)
        self.remove(into, "absent")
        self.compact(into)
        self.commit_one(source, path, number)
        self.bring(source, into, strategy="source", form=MergeForm.SQUASH)

    @rule(name=NAMES)
    def reset(self, name: str) -> None:
        branch, model = self.on(name)
        branch.reset()
        self.model.begin(model, model.head)

    @rule(name=NAMES, prefix=PREFIXES.filter(bool))
    def reset_prefix(self, name: str, prefix: str) -> None:
        branch, model = self.on(name)
        branch.reset(prefix)
        kept = {path: e for path, e in model.shown.items() if not path.startswith(prefix)}
        model.shown = kept | {path: e for path, e in self.model.head(model).items() if path.startswith(prefix)}
        model.touched = True

    @rule(name=NAMES, to=NAMES, steps=st.integers(0, 3))
    def hard_reset(self, name: str, to: str, steps: int) -> None:
        (branch, model), (target, target_model) = self.on(name), self.on(to)
        chain = self.model.first_parents(target_model.head)
        ref = f"{target.name}~{steps}"
        if steps >= len(chain):
            with pytest.raises(NotFound):
                branch.hard_reset(ref)
        elif self.model.dirty(model):
            with pytest.raises(DirtyBranch):
                branch.hard_reset(ref)
        else:
            assert branch.hard_reset(ref).id == chain[steps]
            self.model.begin(model, chain[steps])

    @rule(name=NAMES)
    def compact(self, name: str) -> None:
        branch, model = self.on(name)
        if not model.touched:
            with pytest.raises(NoChanges):
                branch.compact()
            return
        try:
            branch.compact()
        except NoChanges:
            # A removal of what was only staged leaves nothing behind, if the staging token has not been sealed.
            assert model.compacted is None
            assert not changes(self.model.head(model), model.shown)
            return
        model.compacted, model.touched = dict(model.shown), False

    # Names

    @rule(name=ANY_NAMES, source=NAMES)
    def create_branch(self, name: str, source: str) -> None:
        _, model = self.on(source)
        source_name = source if source in self.model.branches else "main"
        if name in self.model.branches:
            with pytest.raises(NotUnique):
                self.repo.create_branch(name, source_name)
            return
        self.repo.create_branch(name, source_name)
        self.model.branches[name] = BranchModel(model.head, dict(self.model.head(model)))

    @rule(name=ANY_NAMES.filter(lambda name: name != "main"))
    def delete_branch(self, name: str) -> None:
        if name not in self.model.branches:
            with pytest.raises(NotFound):
                self.repo.delete_branch(name)
            return
        self.repo.delete_branch(name)
        self.model.deleted.append((name, self.model.branches.pop(name).head))

    @rule(name=ANY_NAMES)
    def undelete_branch(self, name: str) -> None:
        gone = dict(self.model.deleted)
        if name in self.model.branches or name not in gone:
            with pytest.raises(NotUnique if name in self.model.branches else NotFound):
                self.repo.undelete_branch(name)
            return
        assert self.repo.undelete_branch(name).record().commit_id == gone[name]
        self.model.branches[name] = BranchModel(gone[name], dict(self.model.commits[gone[name]].content))

    @rule(folds=st.booleans())
    def reflog(self, *, folds: bool) -> None:
        if folds:
            fold(self.stores, self.repo._record)
        deleted = [event for event in self.repo.reflog() if event.kind == "deleted" and event.type == "branch"]
        assert [(event.name, event.before) for event in deleted] == self.model.deleted[::-1]

    @rule(tag=TAGS, name=NAMES)
    def tag(self, tag: str, name: str) -> None:
        _, model = self.on(name)
        if tag in self.model.tags:
            self.repo.delete_tag(tag)
        self.repo.create_tag(tag, model.head[:20])
        self.model.tags[tag] = model.head

    # Reading

    @rule(name=NAMES, other=NAMES, prefix=PREFIXES, after=AFTER, delimiter=st.sampled_from(["/", "//", "a", "0"]))
    def read(self, name: str, other: str, prefix: str, after: str, delimiter: str) -> None:
        self.list_with(name, prefix, after)
        self.list_grouped(name, prefix, after, delimiter)
        self.uncommitted(name, prefix, after)
        self.diff(name, other, prefix, after)
        self.log(name)
        self.log_since(name, other, prefix)
        self.tree_ids(name, other)

    def list_with(self, name: str, prefix: str, after: str) -> None:
        branch, model = self.on(name)
        wanted = listed(model.shown, prefix, after)
        assert list(branch.list(prefix, after)) == wanted
        assert list(branch.list(prefix, after, limit=4)) == wanted[:4]
        assert list(self.repo.at(f"{branch.name}@").list(prefix, after)) == listed(
            self.model.head(model), prefix, after
        )

    def list_grouped(self, name: str, prefix: str, after: str, delimiter: str) -> None:
        branch, model = self.on(name)
        wanted = listed(model.shown, prefix, after, delimiter)
        assert list(branch.list(prefix, after, delimiter)) == wanted
        pages = branch.list(prefix, after, delimiter).pages(2)
        resumed: list[Entry | CommonPrefix] = []
        for page in pages:
            resumed += page.items
            if page.next is not None:
                assert list(branch.list(prefix, page.next, delimiter)) == wanted[len(resumed) :]
        assert resumed == wanted

    def diff(self, left: str, right: str, prefix: str, after: str) -> None:
        (one, left_model), (two, right_model) = self.on(left), self.on(right)
        found = changes(self.model.head(left_model), self.model.head(right_model))
        wanted = [c for c in found if c.path.startswith(prefix) and c.path.encode() > after.encode()]
        assert list(self.repo.diff(one.name, two.name, prefix, after)) == wanted

    def uncommitted(self, name: str, prefix: str, after: str) -> None:
        branch, model = self.on(name)
        found = changes(self.model.head(model), model.shown)
        wanted = [c for c in found if c.path.startswith(prefix) and c.path.encode() > after.encode()]
        assert list(branch.uncommitted(prefix, after)) == wanted
        assert list(branch.uncommitted(prefix, after, limit=2)) == wanted[:2]

    def log(self, name: str) -> None:
        branch, model = self.on(name)
        entries = list(self.repo.log(branch.name))
        whole = [c.id for c in entries]
        assert len(whole) == len(set(whole))
        assert set(whole) == self.model.ancestors(model.head)
        assert all(whole.index(CommitId(p)) > i for i, c in enumerate(whole) for p in self.model.commits[c].parents)
        assert [c.id for c in self.repo.log(branch.name, first_parent=True)] == self.model.first_parents(model.head)
        assert [c.id for c in self.repo.log(branch.name, after=entries[0].token, limit=2)] == whole[1:3]

    def log_since(self, name: str, other: str, prefix: str) -> None:
        (branch, _), (end, end_model) = self.on(name), self.on(other)
        known, left_out = self.model.commits, self.model.ancestors(end_model.head)
        wanted = []
        for commit in self.repo.log(branch.name):
            before = known[commit.parents[0]].content if commit.parents else {}
            found = [c for c in changes(before, known[commit.id].content) if c.path.startswith(prefix)]
            if commit.id not in left_out and (found or not prefix):
                wanted.append((commit.id, found, len(found)))
        entries = list(self.repo.log(branch.name, since=end.name, prefix=prefix, limit=4))
        assert [(entry.id, list(entry.changes()), entry.summary().total) for entry in entries] == wanted[:4]

    def tree_ids(self, name: str, other: str) -> None:
        branches = [self.on(name), self.on(other)]
        trees = [
            (self.repo.at(ref).tree_id(), content)
            for branch, model in branches
            for ref, content in [(f"{branch.name}@", self.model.head(model)), (branch.name, model.shown)]
        ]
        for tree, content in trees:
            assert all((tree == other_tree) == (content == others) for other_tree, others in trees)

    @precondition(lambda self: self.model.tags)
    @rule()
    def tags_stay(self) -> None:
        assert {tag.id: tag.commit_id for tag in self.repo.tags()} == self.model.tags
        for tag, commit in self.model.tags.items():
            assert listed(self.model.commits[commit].content) == list(self.repo.at(tag).list())

    @invariant()
    def branches_are_as_the_model_says(self) -> None:
        if not hasattr(self, "model"):
            return
        heads = {branch.id: branch.commit_id for branch in self.repo.branches()}
        assert heads == {name: model.head for name, model in self.model.branches.items()}
        for name, model in self.model.branches.items():
            branch = self.repo.branch(name)
            assert list(branch.list()) == listed(model.shown)
            assert list(branch.uncommitted()) == changes(self.model.head(model), model.shown)

    @invariant()
    def everything_is_sound(self) -> None:
        if not hasattr(self, "model"):
            return
        self.checked = check_history(self.stores, self.repo._record, self.checked)
        check_layers(self.stores, self.repo._record)
        check_listing(self.repo.at("main"))


def listed(content: Content, prefix: str = "", after: str = "", delimiter: str = "") -> list[Entry | CommonPrefix]:
    """The oracle of a listing."""
    items: dict[str, Entry | CommonPrefix] = {}
    for path in ordered(content):
        if path.startswith(prefix) and path.encode() > after.encode():
            at = path.find(delimiter, len(prefix)) if delimiter else -1
            group = path[: at + len(delimiter)] if at >= 0 else ""
            items[group or path] = CommonPrefix(group) if group else content[path]
    return [item for item in items.values() if item.path != after]


class SQLiteMachine(Machine):
    """The same on a file."""

    def open_store(self) -> Store:
        self.directory = TemporaryDirectory()
        return open_store(f"sqlite:///{Path(self.directory.name)}/meta.db?durability=process")

    def teardown(self) -> None:
        super().teardown()
        self.directory.cleanup()


def run(machine: type[Machine], count: int, steps: int) -> None:
    run_state_machine_as_test(machine, settings=settings(max_examples=count, stateful_step_count=steps))


def test_the_engine_is_what_the_model_says() -> None:
    run(Machine, examples(25), 30)


def test_the_engine_is_what_the_model_says_on_sqlite() -> None:
    run(SQLiteMachine, 3, 30)


@pytest.mark.slow
def test_the_engine_is_what_the_model_says_for_long() -> None:
    run(Machine, 50, 60)
