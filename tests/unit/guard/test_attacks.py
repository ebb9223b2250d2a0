"""Attacks on the guard: ways round a permission that one has not, by way of those that one has. See decision 033.

`blind` may do everything but read `secret/*`. `narrow` may read through branches called `main*` alone. `stranger` may
do everything but read the repository `vault`, or import from a store.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta

import pyarrow as pa
import pytest

from graveler_core.errors import Conflict, InvalidInput, Kind, NoChanges, PermissionDenied
from graveler_core.facade.branch import Branch
from graveler_core.facade.graveler import Graveler
from graveler_core.facade.repository import Repository
from graveler_core.model.address import namespace
from graveler_core.model.entry import AddressType, Entry
from graveler_core.model.ids import TagId
from graveler_core.model.key_intervals import KeyInterval
from graveler_core.model.operations import Basis, Put, Remove, Unchanged
from graveler_core.model.permission import Action, Request
from graveler_core.model.scan import ScanPartition
from graveler_core.records import access
from graveler_core.records import layout as keys
from tests.unit.engine.world import World, entry
from tests.unit.guard.principals import Says, Told, branch, everything, guarded, repository, state

SECRET = "arn:graveler:fs:::repository/repo/object/secret/*"
VAULT = "arn:graveler:fs:::repository/vault/*"
READ = Action.READ_OBJECT


def blind() -> Told:
    return everything(Says(READ, SECRET, deny=True))


def narrow() -> Told:
    others = [Says(action) for action in Action if action is not READ]
    return Told(*others, Says(READ, branch="main*"))


def stranger() -> Told:
    return everything(Says(READ, VAULT, deny=True), Says(Action.IMPORT_FROM_STORAGE, deny=True))


@pytest.fixture(scope="module")
def scene() -> World:
    """`dev` and `open` begin at `main`; `dev` has changed what is secret and what is not, `open` only the latter."""
    world = World()
    repo, vault = world.repository(), world.repository("vault").branch("main")
    main = repo.branch("main")
    main.put("public/a", b"known")
    main.put("secret/x", b"hidden")
    main.commit("begin")
    for name, paths in (("dev", ("public/b", "secret/y")), ("open", ("public/c", "secretive"))):
        made = repo.create_branch(name, "main")
        for path in paths:
            made.put(path, name.encode())
        made.commit(f"work on {name}")
    repo.create_tag("v1", "dev")
    vault.put("gold", b"gold")
    vault.commit("gold")
    return world


@pytest.fixture
def world(scene: World) -> World:
    return scene.fork()


def refused(world: World, attack: Callable[[], object], resource: str) -> None:
    """The attack is denied by the resource, and has changed nothing."""
    before = state(world)
    with pytest.raises(PermissionDenied) as denied:
        attack()
    assert denied.value.kind is Kind.AccessDenied
    assert denied.value.details["resource"].endswith(resource)
    assert state(world) == before


READS: dict[str, Callable[[Repository], object]] = {
    "get": lambda r: r.branch("main").get("secret/x"),
    "read": lambda r: r.branch("main").read("secret/x"),
    "get of a tag": lambda r: r.at("v1").get("secret/x"),
    "read of a commit": lambda r: r.at(r.commit("dev").id).read("secret/x"),
    "list": lambda r: r.branch("main").list(),
    "list of a part": lambda r: r.at("main~0").list("secret/x"),
    "list below a delimiter": lambda r: r.at("main").list(delimiter="/"),
    "to_arrow": lambda r: r.at("main@").to_arrow("sec"),
    "usage": lambda r: r.at("main@").usage("sec"),
    "tree_id": lambda r: r.at("main").tree_id(),
    "uncommitted": lambda r: r.branch("main").uncommitted(),
    "staged": lambda r: r.branch("main").staged("secret/"),
    "diff": lambda r: r.diff("main", "dev"),
    "conflicts": lambda r: r.conflicts("dev", "main"),
    "changes of a commit": lambda r: next(r.log("dev")).changes(),
    "multipart uploads": lambda r: r.multipart_uploads(),  # whoever knows the id of one can stage its parts
    "dump": lambda r: r.dump_refs("memory://dumps-of-attacks/x"),
    "what a transaction expected": lambda r: r.branch("main").transact([Unchanged("secret/x", entry(1))], message="?"),
    "what a put met": lambda r: r.branch("main").transact([Put("secret/x", entry(1))], message="?"),
    "what a removal met": lambda r: r.branch("main").transact([Remove("secret/x", entry(1))], message="?"),
}


@pytest.mark.parametrize("name", READS)
def test_what_is_denied_is_shown_in_no_other_way(world: World, name: str) -> None:
    before = state(world)
    with pytest.raises(PermissionDenied) as denied:
        READS[name](repository(world, blind()))
    assert denied.value.kind is Kind.AccessDenied
    assert denied.value.details["action"] == "fs:ReadObject"
    assert state(world) == before


def test_what_is_not_denied_is_shown(world: World) -> None:
    repo = repository(world, blind())
    assert repo.branch("main").read("public/a") == b"known"
    assert repo.at("v1").to_arrow("public/").read_all().num_rows == 2
    assert [change.path for change in repo.diff("main", "dev", "public/")] == ["public/b"]
    assert [change.path for change in next(repo.log("dev", prefix="public/")).changes()] == ["public/b"]


BRINGING: dict[str, Callable[[Repository, str], object]] = {
    "merge": lambda r, source: r.merge(source, into="main"),
    "squash": lambda r, source: r.merge(source, into="main", squash=True),
    "merge of its commits": lambda r, source: r.merge(source, into="main", replay=True),
    "merge that the source wins": lambda r, source: r.merge(source, into="main", strategy="source"),
    "cherry-pick": lambda r, source: r.cherry_pick(source, onto="main"),
    "transplant": lambda r, source: r.transplant([source], onto="main"),
}


@pytest.mark.parametrize("name", BRINGING)
def test_nothing_is_brought_that_may_not_be_read(world: World, name: str) -> None:
    refused(world, lambda: BRINGING[name](repository(world, blind()), "dev"), "/object/secret/y")
    refused(world, lambda: BRINGING[name](repository(world, narrow()), "open"), "/object/public/c")
    BRINGING[name](repository(world, blind()), "open")
    assert world.branch().read("public/c") == b"open"


def test_nothing_is_taken_back_that_may_not_be_read(world: World) -> None:
    refused(world, lambda: repository(world, blind()).revert("dev", onto="dev"), "/object/secret/y")
    repository(world, blind()).revert("open", onto="open")


def test_unrelated_histories_are_brought_as_a_whole(world: World) -> None:
    source = world.graveler().repository("repo")
    source.create_branch("apart", "main~1")
    made = repository(world, blind())
    refused(world, lambda: made.merge("dev", into="apart", allow_unrelated=True), "/object/secret/x")


def test_a_name_shows_nothing_that_may_not_be_read_through_the_old_one(world: World) -> None:
    """Where policies look at branches: `narrow` could read whatever he got to be called `main…`."""
    repo = repository(world, narrow())
    refused(world, lambda: repo.create_branch("main-2", "dev"), "/object/")
    refused(world, lambda: repo.create_branch("main-2", "v1"), "/object/")
    refused(world, lambda: repo.create_branch("main-2", world.branch(name="dev").record().commit_id), "/object/")
    refused(world, lambda: repo.branch("main").hard_reset("dev"), "/object/")
    repo.create_branch("main-2", "main")
    assert repo.branch("main-2").read("secret/x") == b"hidden"


def test_names_that_policies_do_not_tell_apart_can_be_given(world: World) -> None:
    repo = repository(world, blind())
    repo.create_branch("mine", "dev")
    repo.create_tag("mine-too", "dev")
    repo.branch("mine").hard_reset("open")
    for ref in ("mine", "mine-too"):
        refused(world, lambda ref=ref: repo.at(ref).read("secret/x"), "/object/secret/x")  # type: ignore[misc]


def test_a_tag_that_is_called_like_a_branch_is_none(world: World) -> None:
    repo = repository(world, narrow())
    repo.create_tag("main-tag", "dev")
    refused(world, lambda: repo.at("main-tag").read("public/a"), "/object/public/a")
    refused(world, lambda: repo.at("main~0").read("public/a"), "/object/public/a")
    assert repo.at("main@").read("public/a") == b"known"


def addresses(world: World) -> dict[str, Entry]:
    """Entries that name what is not theirs to name, by what that is."""
    gold = world.branch(repo="vault").get("gold")
    hidden = world.branch().get("secret/x")
    tree = world.graveler().repository("repo").at("main").tree_id()
    vault, own = world.namespace("vault"), world.namespace("repo")
    full = {
        "an object of another repository": f"{vault}/{gold.address}",
        "in another spelling": f"{vault}//./{gold.address}",
        "escaped": f"{vault}/{gold.address}".replace("data/", "%64ata/"),
        "of no repository": "memory://elsewhere-of-attacks/x/y",
        "of this machine": "file:///etc/hostname",
    }
    relative = {"a tree of graveler's own": f"_graveler/{tree}", "a name that can be guessed": "tables/part-0.parquet"}
    found = {name: Entry(address=uri, address_type=AddressType.FULL, size=4) for name, uri in full.items()}
    found |= {name: Entry(address=address, size=4) for name, address in relative.items()}
    found["one's own, by its full address"] = Entry(
        address=f"{own}/{hidden.address}", address_type=AddressType.FULL, size=6
    )
    return found


STAGING: dict[str, Callable[[Branch, Repository, Entry], object]] = {
    "stage": lambda b, r, e: b.stage("public/mine", e),
    "stage with a number for a type": lambda b, r, e: b.stage(
        "public/mine", replace(e, address_type=int(e.address_type))
    ),  # type: ignore[arg-type]
    "stage_many": lambda b, r, e: b.stage_many(_table(e)),
    "transact": lambda b, r, e: b.transact([Put("public/mine", e)], message="mine"),
    "merge": lambda b, r, e: r.merge("open", into="main", resolve={"public/c": e}),
}


def _table(named: Entry) -> pa.Table:
    rows = {"key": ["public/mine", "public/other"], "address": [named.address, None]}
    types, data = [int(named.address_type), None], [None, b"inline"]
    return pa.table({**rows, "address_type": types, "data": data, "size": [named.size, 6]})


@pytest.mark.parametrize("few", [0, 100])
@pytest.mark.parametrize("how", STAGING)
def test_what_may_not_be_read_may_not_be_named(
    world: World, how: str, few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("graveler_core.guard.addresses._FEW", few)
    denied = (
        Says(READ, SECRET, deny=True),
        Says(READ, VAULT, deny=True),
        Says(Action.IMPORT_FROM_STORAGE, deny=True),
    )
    for name, named in addresses(world).items():
        told = everything(*denied)
        with pytest.raises(PermissionDenied) as refusal:
            STAGING[how](branch(world, told), repository(world, told), named)
        assert refusal.value.kind is Kind.AccessDenied, name
        resource = refusal.value.details["resource"]
        assert resource == _owner(named), name
    everyone = everything()
    for named in addresses(world).values():
        STAGING[how](branch(world.fork(), everyone), repository(world.fork(), everyone), named)


def _owner(named: Entry) -> str:
    if named.address_type is not AddressType.FULL:
        return "arn:graveler:fs:::repository/repo/object/"
    uri = namespace(named.address or "").uri
    owner = next((name for name in ("repo", "vault") if uri.partition("/data/")[0].endswith(f"/{name}")), None)
    return f"arn:graveler:fs:::namespace/{uri}" if owner is None else f"arn:graveler:fs:::repository/{owner}/object/"


def test_who_could_read_an_entry_may_name_its_content_again(world: World) -> None:
    made = branch(world, blind())
    made.stage("public/copy", made.get("public/a"))
    made.transact([Put("public/again", made.get("public/a"))], message="again")
    assert made.read("public/copy") == b"known"


def test_another_repository_is_not_imported(world: World) -> None:
    uri = world.namespace("vault")
    for told in (everything(), stranger()):
        with pytest.raises((InvalidInput, PermissionDenied)) as refusal:
            repository(world, told).import_prefix(f"{uri}/data", "main")
        assert refusal.value.kind in (Kind.NamespaceInUse, Kind.AccessDenied)
    refused(world, lambda: repository(world, stranger()).import_objects([f"{uri}/data/x"], "main"), "vault/object/")
    both = {"a": f"{uri}/data/", "b": "memory://lake-of-attacks/b"}
    for told in (everything(), stranger()):
        for act in ("import_objects", "begin_import"):
            with pytest.raises((InvalidInput, PermissionDenied)) as refusal:
                getattr(repository(world, told), act)(into="main", objects=both)
            assert refusal.value.kind in (Kind.NamespaceInUse, Kind.AccessDenied)


def test_what_a_repository_left_is_adopted_by_those_who_may_have_the_place(world: World) -> None:
    world.graveler().delete_repository("vault")
    world.graveler().clean(undelete_within=timedelta(0), late=timedelta(0), building=timedelta(0))
    told = everything(Says(Action.ATTACH_STORAGE_NAMESPACE, "arn:graveler:fs:::namespace/memory://*", deny=True))
    place = world.namespace("vault")
    refused(world, lambda: guarded(world, told).create_repository("mine", f"{place}/./", adopt=True), place)


def test_a_dump_is_not_believed_by_those_who_may_not_read_everything(world: World) -> None:
    world.graveler().create_bare_repository("bare", world.namespace("bare"))
    bare = repository(world, stranger(), "bare")
    refused(world, lambda: bare.restore_refs("memory://dumps-of-attacks/forged"), "repository/")
    forged = lambda: guarded(world, stranger()).create_bare_repository(  # noqa: E731
        "other", world.namespace("other"), ephemeral=True, dump="memory://dumps-of-attacks/forged"
    )
    refused(world, forged, "repository/")


def test_many_paths_are_denied_for_one(world: World) -> None:
    told = everything(Says(Action.DELETE_OBJECT, "arn:graveler:fs:::repository/repo/object/public/a", deny=True))
    made = branch(world, told)
    refused(world, lambda: made.remove_many(iter(["public/b", "public/a"])), "/object/public/a")
    refused(world, lambda: made.remove_prefix("pub"), "/object/pub")
    refused(world, lambda: made.stage_many(pa.table({"key": ["public/a"], "removed": [True]})), "/object/public/a")
    refused(world, lambda: made.transact([Remove("public/a")], message="gone"), "/object/public/a")
    made.remove_prefix("public/b")


def test_a_basis_is_judged_as_it_was_given(world: World) -> None:
    head = world.branch().record().commit_id
    world.branch().put("public/new", b"new")
    world.branch().commit("come between")
    once = Basis(head, iter(["public/"]))  # type: ignore[arg-type]
    with pytest.raises(Conflict) as conflict:
        branch(world, everything()).transact([Put("other", Entry(data=b"x", size=1))], message="on it", on=once)
    assert conflict.value.kind is Kind.LostRace


IMPORTS: dict[str, Callable[[Repository, str], object]] = {
    "prefix": lambda r, uri: r.import_prefix(uri, "main", "secret", dry_run=True),
    "replacing": lambda r, uri: r.import_prefix(uri, "main", "secret", mode="replace", dry_run=True),
    "directory": lambda r, uri: r.import_objects({"secret": f"{uri}/", "b": f"{uri}/b"}, "main", dry_run=True),
    "object": lambda r, uri: r.import_objects({"secret/x": f"{uri}/x"}, "main", dry_run=True),
}


@pytest.mark.parametrize("name", IMPORTS)
def test_an_import_tells_nobody_what_is_there_who_may_not_list_it(world: World, name: str) -> None:
    told = everything(Says(Action.LIST_OBJECTS, SECRET, deny=True))
    below = "/object/secret/x" if name == "object" else "/object/secret/"
    refused(world, lambda: IMPORTS[name](repository(world, told), "memory://lake-of-attacks/mine"), below)


class Twice:
    """Gives other paths when it is read again."""

    def __init__(self) -> None:
        self.read = 0

    def __iter__(self) -> Iterator[str]:
        self.read += 1
        return iter(["public/a"] if self.read == 1 else ["secret/x"])


def test_what_is_judged_is_what_is_done(world: World) -> None:
    told = everything(Says(Action.DELETE_OBJECT, SECRET, deny=True))
    branch(world, told).remove_many(Twice())
    assert [entry.path for entry in world.branch().list()] == ["secret/x"]


def test_a_table_is_proved_by_how_all_its_keys_begin(world: World) -> None:
    told = Told(Says(Action.WRITE_OBJECT, "arn:graveler:fs:::repository/repo/object/public/*"))
    branch(world, told).stage_many(inline(f"public/{n:06}" for n in range(20_000)))
    assert [shown(request) for request in told.asked] == ["fs:WriteObject public/0"]


def test_one_key_of_a_table_is_found(world: World) -> None:
    one = "arn:graveler:fs:::repository/repo/object/public/013579"
    told = everything(Says(Action.WRITE_OBJECT, one, deny=True))
    made = branch(world, told)
    refused(world, lambda: made.stage_many(inline(f"public/{n:06}" for n in range(20_000))), "/object/public/013579")
    assert len(told.asked) < 300


def test_keys_that_lie_scattered_are_each_asked_for(world: World) -> None:
    wanted = [f"{letter}/{n}" for letter in "abcd" for n in range(3)]
    said = [Says(Action.WRITE_OBJECT, f"arn:graveler:fs:::repository/repo/object/{path}") for path in wanted]
    branch(world, Told(*said)).stage_many(inline(wanted))
    for left_out in range(len(said)):
        told = Told(*said[:left_out], *said[left_out + 1 :])
        made = branch(world, told)
        refused(world, lambda made=made: made.stage_many(inline(wanted)), wanted[left_out])  # type: ignore[misc]


def test_keys_that_are_none_are_bad_input(world: World) -> None:
    made = branch(world, Told(Says(Action.WRITE_OBJECT, "arn:graveler:fs:::repository/repo/object/a")))
    for given in ([b"a", b"\xff\xfe"], [b"a", b""], [b"a", b"b\0"]):
        with pytest.raises(InvalidInput):
            made.stage_many(pa.table({"key": pa.array(given, pa.binary()), "data": [b"x"] * 2}))


class Moving(Told):
    """While it is asked for the last thing, somebody moves the source."""

    def __init__(self, world: World, *says: Says) -> None:
        super().__init__(*says)
        self.world = world

    def allows(self, request: Request) -> bool:
        if request.action is Action.SET_COMMITTER:
            dev = self.world.branch(name="open")
            dev.put("secret/late", b"late")
            dev.commit("late")
        return super().allows(request)


def test_what_comes_to_the_source_after_the_proof_is_not_brought(world: World) -> None:
    told = Moving(world, *blind().says)
    merged = repository(world, told).merge("open", into="main", committer="eve")
    assert merged.message == "Merge 'open' into 'main'"
    assert [entry.path for entry in world.branch().list("secret/")] == ["secret/x"]
    assert world.branch(name="open").read("secret/late") == b"late"


class Renaming(Told):
    """When it is asked for the last thing, somebody gives the name of the source to something else."""

    def __init__(self, world: World) -> None:
        super().__init__(*narrow().says)
        self.world, self.done = world, False

    def allows(self, request: Request) -> bool:
        allowed = super().allows(request)
        if request.action is Action.READ_COMMIT and not self.done:
            self.done = True
            repo = self.world.graveler().repository("repo")
            repo.delete_branch("main-x")
            repo.create_tag("main-x", "dev")
        return allowed


@pytest.mark.parametrize(
    "bring",
    [
        lambda r: r.create_branch("main-y", "main-x"),
        lambda r: r.create_tag("y", "main-x"),
        lambda r: r.branch("main").hard_reset("main-x"),
        lambda r: r.merge("main-x", into="main"),
        lambda r: r.cherry_pick("main-x", onto="main"),
        lambda r: r.revert("main-x", onto="main"),
        lambda r: r.transplant(["main-x"], onto="main"),
    ],
)
def test_what_the_name_of_the_source_is_given_to_is_not_brought(
    world: World, bring: Callable[[Repository], object]
) -> None:
    world.graveler().repository("repo").create_branch("main-x", "main")
    with suppress(NoChanges, Conflict):
        bring(repository(world, Renaming(world)))
    repo = world.graveler().repository("repo")
    for ref in {"main", "main-y", "y"} & {each.id for each in (*repo.branches(), *repo.tags())}:
        assert "secret/y" not in [entry.path for entry in repo.at(ref).list("secret/")], ref


def test_a_tag_with_the_id_of_the_checked_commit_does_not_take_its_place(world: World) -> None:
    repo = world.graveler().repository("repo")
    head = repo.commit("main").id
    tag = access.read(world.kv, keys.tag(repo._record, TagId("v1")))  # names `dev`
    assert tag is not None
    access.write(world.kv, keys.tag(repo._record, TagId(head)), tag.value)
    repository(world, narrow()).create_branch("main-evil", "main")
    assert repo.commit("main-evil").id == head
    with pytest.raises(InvalidInput, match="must not have the form of a commit id"):
        repository(world, everything()).create_tag(repo.commit("dev").id, "main")


OF_REFS: dict[str, Callable[[Repository], Iterable[object]]] = {
    "diff": lambda r: r.diff("main", "main-x"),
    "diff in pages": lambda r: r.diff("main", "main-x").pages(1),
    "conflicts": lambda r: r.conflicts("main-x", into="main"),
    "log": lambda r: r.log("main-x", prefix="public/"),
}


@pytest.mark.parametrize("name", OF_REFS)
def test_a_ref_that_names_something_else_when_it_is_read_is_asked_for_again(world: World, name: str) -> None:
    """The listing is made while its ref is a branch that may be read, and read when it is a tag of another's commit."""
    shown = (READ, Action.LIST_OBJECTS)
    others = [Says(action) for action in Action if action not in shown]
    repo = repository(world, Told(*others, *(Says(action, branch="main*") for action in shown)))
    repo.create_branch("main-x", "main")
    assert isinstance([*OF_REFS[name](repo)], list)
    made = OF_REFS[name](repo)
    repo.delete_branch("main-x")
    repo.create_tag("main-x", "dev")
    with pytest.raises(PermissionDenied) as refusal:
        next(iter(made))
    assert refusal.value.kind is Kind.AccessDenied


LAZY: dict[str, Callable[[Graveler], Iterable[object]]] = {
    "list": lambda g: g.repository("repo").branch("main").list(),
    "list in pages": lambda g: g.repository("repo").branch("main").list().pages(1),
    "to_arrow": lambda g: g.repository("repo").at("main").to_arrow(),
    "usage": lambda g: g.repository("repo").at("main").usage(),
    "changes": lambda g: next(g.repository("repo").log("dev")).changes(),
    "fsck": lambda g: g.repository("repo").fsck(),
    "branches": lambda g: g.repository("repo").branches(),
    "policies": lambda g: g.iam.policies(),
}


@pytest.mark.parametrize("name", LAZY)
def test_a_listing_that_was_made_earlier_is_read_by_nobody_who_may_not_any_more(world: World, name: str) -> None:
    told = everything()
    made = LAZY[name](guarded(world, told))
    told.says = ()
    with pytest.raises(PermissionDenied) as refusal:
        next(iter(made))
    assert refusal.value.kind is Kind.AccessDenied


def test_a_plan_that_was_widened_shows_nothing_secret(world: World) -> None:
    repo = repository(world, blind())
    plan = repo.at("main").scan("public/").plan
    everywhere = replace(plan, intervals=(KeyInterval(),))
    shown = repo.open_scan(everywhere).read().read_all()
    assert shown.column("key").to_pylist() == [b"public/a"]
    refused(world, lambda: repo.open_scan(replace(everywhere, prefix="")), "repo/object/")
    assert repo.open_scan(plan).read(ScanPartition((KeyInterval(),), 0)).read_all() == shown


def test_a_plan_does_not_say_through_which_branch_it_may_be_read(world: World) -> None:
    dev, main = (world.graveler().repository("repo").at(ref).scan().plan for ref in ("dev", "main"))
    repo = repository(world, narrow())
    for plan in (dev, main):
        refused(world, lambda plan=plan: repo.open_scan(plan), "repo/object/")  # type: ignore[misc]
    assert repo.at("main").scan().read().read_all().num_rows == 2
    refused(world, lambda: repo.at("dev").scan(), "repo/object/")
    refused(world, lambda: repo.scan_diff("main", "dev"), "repo/object/")


def test_a_scan_ends_with_the_permission_to_read_it(world: World) -> None:
    who = everything()
    repo = repository(world, who)
    opened = [repo.at("main").scan("secret/"), repo.scan_diff(None, "main", "secret/")]
    readers = [scan.read(scan.partitions()[0]) for scan in opened]
    who.says += (Says(READ, SECRET, deny=True),)
    for scan, reader in zip(opened, readers, strict=True):
        with pytest.raises(PermissionDenied):
            reader.read_all()
        with pytest.raises(PermissionDenied):
            scan.read()


def test_offsets_show_no_commits_of_other_branches(world: World) -> None:
    allowed = [Says(action) for action in Action if action is not Action.LIST_COMMITS]
    repo = repository(world, Told(*allowed, Says(Action.LIST_COMMITS, branch="main*")))
    head = world.graveler().repository("repo").commit("dev").id
    assert repo.next_offset("main")
    refused(world, lambda: repo.next_offset("main", max_commits=1, until=head), "repository/repo")


def test_a_listing_ends_with_the_permission_to_read_it(world: World) -> None:
    told = everything()
    made = branch(world, told).list()
    assert next(made).path == "public/a"
    told.says = (*told.says, Says(READ, SECRET, deny=True))
    with pytest.raises(PermissionDenied):
        next(made)


def test_who_is_allowed_everything_is_still_bound_by_protection(world: World) -> None:
    world.graveler().repository("repo").protect("main")
    told = everything()
    made = branch(world, told)
    for attempt in (lambda: made.put("n", b""), lambda: made.commit("c"), lambda: made.hard_reset("dev")):
        with pytest.raises(PermissionDenied) as refusal:
            attempt()
        assert refusal.value.kind is Kind.BranchProtected
    repository(world, told).merge("dev", into="main")


def test_a_commit_bears_the_name_of_who_made_it(world: World) -> None:
    modest = everything(Says(Action.SET_COMMITTER, deny=True))
    for committer in ("", "eve", "ada"):
        repo = repository(world.fork(), modest)
        assert repo.merge("open", into="main", committer=committer).committer == "ada"
    repo = repository(world, modest)
    assert repository(world, everything()).merge("open", into="main", committer="eve").committer == "eve"
    assert repo.cherry_pick("open", onto="dev", committer="eve").committer == "ada"
    repo.delete_branch("open", by="eve")
    assert next(repo.reflog("open")).by == "ada"
    for tagger, named in (("eve", "ada"), ("ada", "ada"), ("", "")):
        assert repo.create_tag(f"by-{tagger}", "main", tagger=tagger).tagger == named
    assert repository(world, everything()).create_tag("of-eve", "main", tagger="eve").tagger == "eve"
    made = guarded(world, modest).create_repository("signed", world.namespace("signed"), committer="eve")
    assert next(made.log("main")).committer == "ada"


def test_repositories_that_may_not_be_read_are_not_shown(world: World) -> None:
    told = everything(Says(Action.READ_REPOSITORY, "arn:graveler:fs:::repository/vault", deny=True))
    g = guarded(world, told)
    assert [repo.id for repo in g.list_repositories()] == ["repo"]
    refused(world, lambda: g.repository("vault"), "repository/vault")
    refused(world, lambda: g.undelete_repository("vault"), "repository/vault")
    world.graveler().delete_repository("vault")
    assert [*g.deleted_repositories()] == []


def test_branches_under_pressure_that_may_not_be_seen_are_not_shown(world: World) -> None:
    for name in ("dev", "open"):
        for number in range(12):
            world.branch(name=name).remove_prefix(f"{number}/")
    told = everything(Says(Action.READ_BRANCH, "arn:graveler:fs:::repository/repo/branch/dev", deny=True))
    assert [item.branch.id for item in world.graveler().pressures()] == ["dev", "open"]
    assert [item.branch.id for item in guarded(world, told).pressures()] == ["open"]


def test_nobody_learns_what_exists(world: World) -> None:
    g = guarded(world, Told())
    for name in ("repo", "no-such-repository"):
        refused(world, lambda name=name: g.repository(name), f"repository/{name}")  # type: ignore[misc]
    repo = repository(world, Told())
    for ref in ("main", "no-such-ref"):
        refused(world, lambda ref=ref: repo.at(ref), "repository/repo")  # type: ignore[misc]


def inline(paths: Iterable[str]) -> pa.Table:
    """Entries that name nothing."""
    keys = [*paths]
    return pa.table({"key": keys, "data": [b"x"] * len(keys)})


def shown(request: Request) -> str:
    return f"{request.action} {request.resource.partition('/object/')[2]}"
