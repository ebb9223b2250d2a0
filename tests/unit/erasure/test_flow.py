"""An erasure deletes the content of paths in all history, and nothing that another path names."""

from __future__ import annotations

import io
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from functools import partial
from pathlib import Path

import pyarrow as pa
import pytest

from graveler_core.blobs.local import LocalBlobs
from graveler_core.engine.staging import bulk
from graveler_core.errors import (
    Conflict,
    GravelerError,
    InvalidInput,
    Kind,
    LimitExceeded,
    NotFound,
    OutcomeUnknown,
    PermissionDenied,
)
from graveler_core.model.entry import AddressType, Entry
from graveler_core.model.erasure import ErasureState
from graveler_core.model.operations import Put
from tests.examples import first_place, places, stride
from tests.unit.engine.interposed import WRITES, Crash, Interposed
from tests.unit.engine.templates import Template
from tests.unit.erasure.lake import PATH, PREFIX, Lake

WHY = "request 17"


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path)


def test_content_goes_away_in_all_history(lake: Lake) -> None:
    before = {commit: lake.repo.at(commit).tree_id() for commit in (lake.first, lake.second)}
    done = lake.repo.erase(prefix=PREFIX, why=WHY)
    assert (done.objects, done.size, done.naming) == (3, 12, 2)
    assert [branch for branch, _ in done.commits] == ["dev", "main"]
    assert len(lake.objects) == 2
    assert [found.path for found in lake.branch().list()] == ["u/2/b"]
    assert [found.path for found in lake.branch("dev").list()] == ["other", "u/2/b"]
    assert [change.path for change in lake.branch("dev").uncommitted()] == ["other"]
    for commit, tree in before.items():
        assert (lake.repo.at(commit).tree_id(), lake.repo.at(commit).get(PATH).size) == (tree, 3)
        with pytest.raises(NotFound, match=WHY) as caught:
            lake.repo.at(commit).read(PATH)
        assert caught.value.kind is Kind.ContentErased
        assert set(caught.value.details) == {"path", "erasure", "since", "why"}
    (erasure,) = lake.repo.erasures()
    assert (erasure.id, erasure.state, erasure.why) == (done.erasure, ErasureState.DONE, WHY)
    assert not lake.broken()


@pytest.mark.parametrize("how", ["read", "open", "range", "download"])
def test_every_read_reports_it(lake: Lake, how: str) -> None:
    lake.repo.erase([PATH], why=WHY)
    at = lake.repo.at(lake.first)
    reads: dict[str, Callable[[], object]] = {
        "read": lambda: at.read(PATH),
        "open": lambda: at.open(PATH).read(1),
        "range": lambda: at.read(PATH, 1, 1),
        "download": lambda: at.download(PATH, io.BytesIO()),
    }
    with pytest.raises(NotFound) as caught:
        reads[how]()
    assert caught.value.kind is Kind.ContentErased


def test_paths_are_exact(lake: Lake) -> None:
    main = lake.branch()
    main.put(PATH + "b", b"another path")
    main.put(PATH, b"staged")
    done = lake.repo.erase([PATH, PATH], why=WHY)
    assert done.objects == 3
    assert [found.path for found in main.list(PREFIX)] == [PATH + "b"]
    assert [change.path for change in main.uncommitted()] == [PATH + "b"]
    assert main.read(PATH + "b") == b"another path"
    assert lake.branch("dev").read("u/1/staged") == b"staged"
    assert not lake.broken()


def test_a_path_that_is_written_anew_is_not_affected(lake: Lake) -> None:
    lake.repo.erase(prefix=PREFIX, why=WHY)
    lake.branch().put(PATH, b"anew")
    lake.branch().commit("anew")
    assert lake.branch().read(PATH) == b"anew"
    assert lake.repo.erase(prefix=PREFIX, why="again").objects == 1
    assert [erasure.why for erasure in lake.repo.erasures()] == [WHY, "again"]
    assert not lake.broken()


def test_compacted_and_bulk_changes_lose_the_paths(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk, "SEGMENT_ROWS", 30)
    main = lake.branch()
    rows = [main.upload(f"{PREFIX}{n:04}", b"x") for n in range(31)]
    table = {"key": [row.path for row in rows], "address": [row.address for row in rows], "size": [1] * len(rows)}
    main.stage_many(pa.table(table))
    main.put("mine", b"mine")
    main.compact()
    main.put(f"{PREFIX}above", b"above")
    main.remove(PATH)
    assert lake.repo.erase(prefix=PREFIX, why=WHY).objects == 3 + 31 + 1
    assert [change.path for change in main.uncommitted()] == ["mine"]
    main.commit("mine")
    assert [found.path for found in main.list()] == ["mine", "u/2/b"]
    assert not lake.broken()


def test_what_is_staged_as_it_is_committed_is_removed(lake: Lake) -> None:
    main = lake.branch()
    main.stage(PATH, main.get(PATH))
    lake.repo.erase([PATH], why=WHY)
    assert [found.path for found in main.list()] == ["u/2/b"]


def test_a_staged_removal_stays_one(lake: Lake) -> None:
    main = lake.branch()
    main.remove_prefix("u/")
    lake.repo.erase([PATH], why=WHY)
    assert [change.path for change in main.uncommitted()] == ["u/2/b"]
    assert not lake.broken()


def test_shared_content_is_refused_unless_told(lake: Lake) -> None:
    lake.branch().stage("q", replace(lake.old, path=""))
    lake.branch().commit("shares")
    would = lake.repo.erase(prefix=PREFIX, why=WHY, dry_run=True)
    assert (len(would.shared), would.objects) == (1, 3)
    objects, head = lake.objects, lake.repo.commit("main").id
    with pytest.raises(Conflict, match="'q' in commit") as caught:
        lake.repo.erase(prefix=PREFIX, why=WHY)
    assert caught.value.kind is Kind.ContentShared
    assert (lake.objects, lake.repo.commit("main").id, lake.repo.erasures()) == (objects, head, [])
    assert lake.repo.erase(prefix=PREFIX, why=WHY, shared=True).objects == 3
    with pytest.raises(NotFound, match=WHY):
        lake.branch().read("q")
    assert lake.repo.erase(prefix=PREFIX, why="again").objects == 0


def test_other_repositories_share(lake: Lake) -> None:
    g = lake.world.graveler()
    other = g.create_repository("other", (lake.root / "other").as_uri())
    full = Entry(f"{lake.uri}/{lake.old.address}", 3, address_type=AddressType.FULL)
    other.branch("main").stage(PATH, full)
    with pytest.raises(Conflict, match="repository 'other'"):
        lake.repo.erase(prefix=PREFIX, why=WHY)
    g.delete_repository("other")
    with pytest.raises(Conflict, match="repository 'other'"):
        lake.repo.erase(prefix=PREFIX, why=WHY)
    g.undelete_repository("other")
    with pytest.raises(InvalidInput, match="not managed by this repository"):
        g.repository("other").erase([PATH], why=WHY)
    lake.repo.erase(prefix=PREFIX, why=WHY, shared=True)
    with pytest.raises(NotFound, match=WHY) as caught:
        g.repository("other").branch("main").read(PATH)
    assert caught.value.kind is Kind.ContentErased
    with pytest.raises(Conflict) as refused:
        g.repository("other").branch("main").stage("q", full)
    assert (refused.value.kind, refused.value.details["repository"]) == (Kind.ContentErased, "repo")
    assert not [finding for finding in g.repository("other").fsck(data=True) if finding.damage]


def test_what_cannot_be_erased_is_refused(lake: Lake) -> None:
    main = lake.branch()
    main.stage_many(pa.table({"key": [f"{PREFIX}inline"], "data": [b"inside"]}))
    main.commit("inline")
    (lake.root / "elsewhere").mkdir()
    (lake.root / "elsewhere" / "x").write_bytes(b"x")
    elsewhere = f"{(lake.root / 'elsewhere').as_uri()}/x"
    main.stage("o/outside", Entry(elsewhere, 1, address_type=AddressType.FULL))
    main.stage("o/internal", Entry("_graveler/x", 1))
    objects = lake.objects
    for rule, match in ((PREFIX, "content in the entry itself"), ("o/", "not managed by this repository")):
        assert (lake.repo.erase(prefix=rule, why=WHY, dry_run=True)).objects == (3 if rule == PREFIX else 0)
        with pytest.raises(InvalidInput, match=match):
            lake.repo.erase(prefix=rule, why=WHY)
    assert (lake.objects, lake.repo.erasures()) == (objects, [])
    assert lake.repo.erase([PATH], why=WHY).objects == 2


def test_invalid_input_is_refused(lake: Lake) -> None:
    for arguments, match in (
        ({}, "either paths or a prefix"),
        ({"paths": [PATH], "prefix": PREFIX}, "either paths or a prefix"),
        ({"prefix": ""}, "not empty"),
        ({"paths": []}, "not empty"),
        ({"paths": PATH}, "list"),
        ({"paths": [""]}, "path"),
        ({"prefix": PREFIX, "why": " "}, "reason"),
        ({"prefix": PREFIX, "why": "x" * 1_001}, "reason"),
    ):
        with pytest.raises(InvalidInput, match=match):
            lake.repo.erase(**({"why": WHY} | arguments))  # type: ignore[arg-type]
    with pytest.raises(LimitExceeded, match="take"):
        lake.repo.erase([f"{n:01000}" for n in range(100)], why=WHY)
    with pytest.raises(NotFound, match="has ever had") as caught:
        lake.repo.erase(prefix="u/3/", why=WHY)
    assert caught.value.kind is Kind.PathNotFound


def test_protected_branches_refuse_it_before_anything_changes(lake: Lake) -> None:
    objects = lake.objects
    lake.repo.protect("main")
    with pytest.raises(PermissionDenied, match="'main' is protected"):
        lake.repo.erase(prefix=PREFIX, why=WHY)
    assert (lake.objects, lake.repo.erasures()) == (objects, [])
    lake.repo.set_protection({})
    lake.repo.set_read_only(True)
    with pytest.raises(PermissionDenied, match="read-only"):
        lake.repo.erase(prefix=PREFIX, why=WHY)


def test_a_dry_run_says_what_a_run_does_and_changes_nothing(lake: Lake) -> None:
    head, files = lake.repo.commit("main").id, sorted(lake.root.rglob("*"))
    would = lake.repo.erase(prefix=PREFIX, why=WHY, dry_run=True)
    assert (lake.repo.commit("main").id, sorted(lake.root.rglob("*"))) == (head, files)
    did = lake.repo.erase(prefix=PREFIX, why=WHY)
    assert (would.objects, would.size, would.naming, would.entries) == (did.objects, did.size, did.naming, 3)


@pytest.mark.parametrize("how", ["stage", "stage_many", "transact", "merge", "check_merge"])
def test_erased_content_cannot_be_staged(lake: Lake, how: str) -> None:
    entry = replace(lake.old, path="")
    lake.repo.erase(prefix=PREFIX, why=WHY)
    lake.repo.create_branch("old", source=lake.first)
    lake.branch("old").put("u/2/b", b"conflict")
    lake.branch("old").commit("conflict")
    lake.branch().put("u/2/b", b"other")
    lake.branch().commit("other")
    flows: dict[str, Callable[[], object]] = {
        "stage": lambda: lake.branch().stage("q", entry),
        "stage_many": lambda: staged_many(lake),
        "transact": lambda: transacted(lake),
        "merge": lambda: lake.repo.merge("old", into="main", resolve={"u/2/b": entry}),
        "check_merge": lambda: lake.repo.check_merge("old", into="main", resolve={"u/2/b": entry}),
    }
    with pytest.raises(Conflict) as caught:
        flows[how]()
    assert caught.value.kind is Kind.ContentErased


@pytest.mark.parametrize("how", ["branch", "revert", "merge", "undelete", "cherry-pick", "reset"])
def test_old_content_that_comes_back_reads_as_erased(lake: Lake, how: str) -> None:
    lake.repo.create_branch("gone", source=lake.first)
    lake.repo.delete_branch("gone")
    made = lake.repo.erase(prefix=PREFIX, why=WHY)
    name = "main"
    if how == "branch":
        name = lake.repo.create_branch("back", source=lake.second).id
    elif how == "revert":
        lake.repo.revert(dict(made.commits)[lake.branch().id], "main")
    elif how == "merge":
        lake.repo.create_branch("back", source=lake.first)
        lake.branch("back").stage(f"{PREFIX}n", lake.branch("back").upload(f"{PREFIX}n", b"n"))
        lake.branch("back").commit("n")
        lake.repo.merge("back", into="main", strategy="source")
    elif how == "undelete":
        name = lake.repo.undelete_branch("gone").id
    elif how == "cherry-pick":
        lake.repo.cherry_pick(lake.first, "main")
    else:
        lake.branch().hard_reset(lake.second)
    assert not lake.broken()
    if how in ("branch", "revert", "undelete", "reset"):
        with pytest.raises(NotFound, match=WHY):
            lake.branch(name).read(PATH)
    lake.repo.erase(prefix=PREFIX, why=WHY)
    assert not list(lake.branch(name).list(PREFIX))


def staged(lake: Lake, kv: Interposed | None = None) -> str:
    lake.branch(kv=kv).stage("q", replace(lake.old, path=""))
    return "main/q"


def staged_many(lake: Lake, kv: Interposed | None = None) -> str:
    lake.branch(kv=kv).stage_many(pa.table({"key": ["q"], "address": [lake.old.address], "size": [3]}))
    return "main/q"


def transacted(lake: Lake, kv: Interposed | None = None) -> str:
    lake.branch(kv=kv).transact([Put("q", replace(lake.old, path="q"))], message="q", committer="")
    return "main/q"


def put(lake: Lake, kv: Interposed | None = None) -> str:
    lake.branch(kv=kv).put(PATH, b"concurrent")
    return f"main/{PATH}"


def put_and_committed(lake: Lake, kv: Interposed | None = None) -> str:
    put(lake, kv)
    lake.branch(kv=kv).commit("concurrent")
    return f"main/{PATH}"


def committed(lake: Lake, kv: Interposed | None = None) -> str:
    lake.branch("dev", kv).commit("dev")
    return "dev/other"


def compacted(lake: Lake, kv: Interposed | None = None) -> str:
    lake.branch("dev", kv).compact()
    return "dev/other"


def merged(lake: Lake, kv: Interposed | None = None) -> str:
    lake.branch("dev", kv).commit("dev")
    lake.on(kv).merge("dev", into="main", strategy="source")
    return "main/other"


def branched(lake: Lake, kv: Interposed | None = None) -> str:
    lake.on(kv).create_branch("another", source=lake.first)
    return "another/u/2/b"


def collected(lake: Lake, kv: Interposed | None = None) -> str:
    lake.on(kv).collect(grace=timedelta(0), alone=True)
    return "main/u/2/b"


def erased(lake: Lake, kv: Interposed | None = None) -> str:
    lake.on(kv).erase(prefix=PREFIX, why=WHY)
    return "main/u/2/b"


def erased_otherwise(lake: Lake, kv: Interposed | None = None) -> str:
    lake.on(kv).erase([PATH], why="another")
    return "main/u/2/b"


def moved(lake: Lake, kv: Interposed | None = None) -> str:
    lake.world.graveler(kv).delete_repository("repo")
    lake.world.graveler(kv).undelete_repository("repo")
    return "main/u/2/b"


Act = Callable[..., str]
NAMING: list[Act] = [staged, staged_many, transacted]
OTHERS: list[Act] = [put, put_and_committed, committed, compacted, merged, branched, collected, erased]
OTHERS += [erased_otherwise, moved]


def _tried(act: Act, lake: Lake, acknowledged: list[str]) -> None:
    with suppress(GravelerError):
        acknowledged.append(act(lake))


def _judge(lake: Lake, acknowledged: list[str], act: Act) -> None:
    """The promises hold, and what was acknowledged can be read. An erased path is shown only with its content."""
    assert not lake.broken()
    for where in acknowledged:
        branch, _, path = where.partition("/")
        if not path.startswith(PREFIX) or [*lake.branch(branch).list(path)]:
            lake.branch(branch).read(path)
    if act not in (branched, merged):
        shown = lake.erased_and_shown()
        assert not [one for one in shown if one in acknowledged or not one.endswith(("/q", PATH))], shown


@pytest.mark.parametrize(
    ("act", "gone"),
    [*((act, False) for act in NAMING + OTHERS), (staged_many, True)],
    ids=lambda value: value.__name__ if callable(value) else "gone" if value else "",
)
def test_others_between_any_two_calls_of_an_erasure(tmp_path: Path, act: Act, gone: bool) -> None:
    """Those that stage the content by its address before each call or each second one, others before each third one."""
    template = Template(Lake(tmp_path / "lakes", gone=gone))
    alone = template.copy()
    undisturbed = Interposed(alone.world.kv)
    alone.on(undisturbed).erase(prefix=PREFIX, why=WHY)
    calls, outcomes = len(undisturbed.verbs), set[tuple[bool, bool]]()
    step = stride() * (1 if (act, gone) == (staged_many, False) else 2 if act in NAMING else 3)
    at = first_place(step)
    while at < calls:
        lake, acknowledged = template.copy(), list[str]()
        kv = Interposed(lake.world.kv)
        kv.before[at] = partial(_tried, act, lake, acknowledged)
        ended = False
        with suppress(Conflict, NotFound):
            lake.on(kv).erase(prefix=PREFIX, why=WHY)
            ended = True
            _judge(lake, acknowledged, act)
        with suppress(Conflict):
            lake.repo.erase(prefix=PREFIX, why=WHY)
        _judge(lake, acknowledged, act)
        if act in NAMING and acknowledged:
            assert not ended, at
            assert lake.old.address in lake.objects, at
        outcomes.add((ended, bool(acknowledged)))
        calls, at = max(len(undisturbed.verbs), len(kv.verbs)), at + step
    assert calls > 60
    if act in NAMING:
        assert outcomes == {(True, False), (False, True)}


@pytest.mark.parametrize("how", ["commit", "delete"])
def test_files_of_a_layer_that_are_dropped_while_it_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    """They are no damage, whether a commit or the deletion of the branch drops them, before each third call."""
    monkeypatch.setattr(bulk, "SEGMENT_ROWS", 1)
    step = 3 * stride()
    made = Lake(tmp_path / "lakes")
    made.repo.create_branch("files", source="main")
    kept = made.branch("files").put("v/1", b"kept")
    made.branch("files").stage_many(pa.table({"key": ["v/2"], "address": [kept.address], "size": [4]}))
    template = Template(made)
    at, calls = first_place(step), step
    while at < calls:
        lake = template.copy()

        def drop(lake: Lake = lake) -> None:
            if how == "commit":
                lake.branch("files").commit("files")
            else:
                lake.repo.delete_branch("files")

        kv = Interposed(lake.world.kv)
        kv.before[at] = drop
        lake.on(kv).erase(prefix=PREFIX, why=WHY)
        assert not lake.broken()
        assert not lake.erased_and_shown()
        calls, at = len(kv.verbs), at + step
    assert calls > 60


def staged_twice(lake: Lake, kv: Interposed | None = None) -> str:
    """Stage new content at an erased path and at another one, in one layer."""
    main = lake.branch(kv=kv)
    address = main.upload("q", b"twice").address
    main.stage_many(pa.table({"key": ["q", f"{PREFIX}twice"], "address": [address] * 2, "size": [5] * 2}))
    return "main/q"


def test_content_that_another_path_gets_at_the_same_time_is_kept(tmp_path: Path) -> None:
    """Once the erased path has lost the content again, a commit drops the layer. Nothing at the paths names it then."""
    template = Template(Lake(tmp_path / "lakes"))
    at, calls, withdrawn = first_place(stride()), stride(), 0
    while at < calls:
        lake = template.copy()
        kv = Interposed(lake.world.kv)
        acknowledged, committed = list[str](), list[str]()

        def commit(lake: Lake = lake, staged: list[str] = acknowledged, done: list[str] = committed) -> None:
            if not staged or done:
                return
            shown = [entry.path for entry in lake.branch().list()]
            if "q" in shown and not any(path.startswith(PREFIX) for path in shown):
                done.append(lake.branch().commit("q").id)

        kv.before = {**dict.fromkeys(range(at + 1, 400), commit), at: partial(_tried, staged_twice, lake, acknowledged)}
        with suppress(Conflict):
            lake.on(kv).erase(prefix=PREFIX, why=WHY)
        withdrawn += any(one.state is ErasureState.WITHDRAWN for one in lake.repo.erasures())
        if acknowledged:
            assert lake.branch().read("q") == b"twice", at
        calls, at = len(kv.verbs), at + stride()
    assert calls > 60
    assert withdrawn * stride() > 10


@pytest.mark.parametrize("gone", [False, True], ids=["", "gone"])
@pytest.mark.parametrize("act", [*NAMING, put, put_and_committed, merged], ids=lambda act: act.__name__)
def test_an_erasure_between_any_two_calls_of_others(tmp_path: Path, act: Act, gone: bool) -> None:
    template = Template(Lake(tmp_path / "lakes", gone=gone))
    at, calls = first_place(stride()), stride()
    while at < calls:
        lake, acknowledged = template.copy(), list[str]()
        kv = Interposed(lake.world.kv)
        kv.before[at] = partial(_tried, erased, lake, [])
        with suppress(GravelerError):
            acknowledged.append(act(lake, kv))
        _judge(lake, acknowledged, act)
        with suppress(Conflict):
            lake.repo.erase(prefix=PREFIX, why=WHY)
        _judge(lake, acknowledged, act)
        calls, at = len(kv.verbs), at + stride()
    assert calls > 3


@pytest.mark.parametrize("how", ["dies", "did", "did not"])
def test_an_erasure_dies_at_any_call_and_the_next_goes_on(tmp_path: Path, how: str) -> None:
    """Or loses the response of a call that did, or did not, happen. Another erasure or a collection goes on.

    All calls that write are visited: a death before a read leaves what one before the next write leaves.
    """
    template = Template(Lake(tmp_path / "lakes"))
    lake = template.copy()
    kv = Interposed(lake.world.kv)
    lake.on(kv).erase(prefix=PREFIX, why=WHY)
    writes = [at for at, verb in enumerate(kv.verbs) if verb in WRITES]
    visited = [writes[number] for number in places(len(writes))]
    for turn, at in enumerate([*visited, len(kv.verbs) - 1]):
        lake = template.copy()
        kv = Interposed(lake.world.kv)
        if how == "dies":
            kv.fail[at] = Crash()
        else:
            kv.lose[at] = how == "did"
        with suppress(Crash, OutcomeUnknown):
            lake.on(kv).erase(prefix=PREFIX, why=WHY)
        assert at < len(kv.verbs)
        if turn % 2:
            collected(lake)
        lake.repo.erase(prefix=PREFIX, why=WHY)
        assert not lake.broken(), at
        assert not lake.erased_and_shown(), at
        assert len(lake.objects) == 2, at
    assert len(writes) > 10


def test_it_dies_between_any_two_deletions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deleted = LocalBlobs.delete
    for at in range(3):
        lake, left = Lake(tmp_path / str(at)), [at]

        def delete(self: LocalBlobs, address: str, left: list[int] = left) -> None:
            if address.startswith("data/"):
                if not left[0]:
                    raise Crash
                left[0] -= 1
            deleted(self, address)

        with monkeypatch.context() as patch:
            patch.setattr(LocalBlobs, "delete", delete)
            with pytest.raises(Crash):
                lake.repo.erase(prefix=PREFIX, why=WHY)
        assert len(lake.objects) == 5 - at
        assert lake.repo.erasures()[0].state is ErasureState.DELETING
        collected(lake)
        assert (len(lake.objects), lake.broken()) == (2, [])
        assert lake.repo.erasures()[0].state is ErasureState.DONE


def test_file_systems_report_it(lake: Lake) -> None:
    from graveler.fs.failures import as_os_errors

    lake.repo.erase([PATH], why=WHY)
    with pytest.raises(FileNotFoundError, match=WHY), as_os_errors():
        lake.repo.at(lake.first).read(PATH)
