"""Logs of a repository by range and prefix, changes of each commit, tokens; diffs since the merge base; counts."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from graveler_core import ChangeSummary
from graveler_core.engine.reading import snapshot
from graveler_core.errors import InvalidInput, Kind, NotFound
from graveler_core.facade.branch import Branch
from graveler_core.facade.history import LogEntry
from graveler_core.facade.listing import Listing
from graveler_core.facade.repository import Repository
from graveler_core.model.changes import Change, ChangeKind
from graveler_core.model.ids import RepositoryId
from graveler_core.objects.commits import CommitCache, prepare, read_commit
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.testing.counting_store import Counting
from tests.unit.engine.flows import table
from tests.unit.engine.world import START, World, entry

ROOT = "Repository created"


def commit(branch: Branch, message: str, **paths: int | None) -> None:
    """Put or (None) remove paths, `__` for each slash, and commit."""
    for path, number in paths.items():
        place = path.replace("__", "/")
        branch.remove(place) if number is None else branch.stage(place, entry(number))
    branch.commit(message)


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def repo(world: World) -> Repository:
    """raw/ and out/ on main; dev from the first commit, with changes of its own, merged; one more commit on main."""
    made = world.repository()
    main = made.branch("main")
    commit(main, "load", raw__a=1, raw__b=2)
    dev = made.create_branch("dev", "main")
    commit(dev, "mend", raw__a=5)
    commit(dev, "sum", out__x=6)
    commit(main, "drop", raw__b=None)
    made.merge("dev", into="main", message="merge")
    commit(main, "more", raw__c=3, rawest=4)
    return made


def messages(found: Listing[LogEntry]) -> list[str]:
    return [entry.message for entry in found]


def shown(changes: Listing[Change]) -> list[tuple[str, str]]:
    return [(change.kind.value, change.path) for change in changes]


def test_the_whole_and_the_first_parents(repo: Repository) -> None:
    assert messages(repo.log("main")) == ["more", "merge", "sum", "drop", "mend", "load", ROOT]
    assert messages(repo.log("main", first_parent=True)) == ["more", "merge", "drop", "load", ROOT]
    assert messages(repo.log("main", limit=2)) == ["more", "merge"]
    assert messages(repo.log("main~1^2")) == ["sum", "mend", "load", ROOT]


def test_since_a_ref(repo: Repository) -> None:
    repo.create_tag("v1", "main~2")
    assert messages(repo.log("main", since="v1")) == ["more", "merge", "sum", "mend"]
    assert messages(repo.log("main", since="v1", first_parent=True)) == ["more", "merge"]
    assert messages(repo.log("main", since="dev")) == ["more", "merge", "drop"]
    assert messages(repo.log("dev", since="main")) == []
    assert messages(repo.log("main", since="main")) == []
    commit(repo.branch("dev"), "apart", out__y=1)
    assert messages(repo.log("dev", since="main")) == ["apart"]
    assert messages(repo.log("main", since="dev")) == ["more", "merge", "drop"]


def test_by_prefix(repo: Repository) -> None:
    """A merge is shown for what it brought into its first parent."""
    assert messages(repo.log("main", prefix="raw/")) == ["more", "merge", "drop", "mend", "load"]
    assert messages(repo.log("main", prefix="raw/b")) == ["drop", "load"]
    assert messages(repo.log("main", prefix="out/")) == ["merge", "sum"]
    assert messages(repo.log("main", prefix="out/", first_parent=True)) == ["merge"]
    assert messages(repo.log("main", prefix="raw/", since="dev", limit=2)) == ["more", "merge"]
    assert messages(repo.log("main", prefix="raw/d")) == []


def test_a_prefix_is_looked_for_until_the_first_difference(
    world: World, repo: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One page of differences at most, however many there are; none where a commit's index holds what it changed."""
    repo.branch("main").stage_many(table({f"many/{number:04}": number for number in range(300)}))
    repo.branch("main").commit("many")
    pages = {"asked": 0, "read": 0}
    diff = snapshot.diff

    def counted(*given: object, **named: object) -> object:
        pages["asked"] += 1
        for page in diff(*given, **named):  # type: ignore[arg-type]
            pages["read"] += 1
            yield page

    monkeypatch.setattr(snapshot, "diff", counted)
    assert messages(repo.log("main", prefix="many/", limit=1)) == ["many"]
    assert pages == {"asked": 1, "read": 1}
    assert messages(repo.log("main", prefix="many/")) == ["many"]
    assert pages == {"asked": 2, "read": 2}


def test_a_root_added_all_that_it_holds(world: World, repo: Repository) -> None:
    stores, record = world.stores(), repo._record
    head = read_commit(world.kv, CommitCache(), record, repo.commit("main").id)
    root, writes = prepare(record, head.header.model_copy(update={"parents": (), "generation": 1}), head.layout)
    for write in writes:
        stores.kv.set(*write)
    (found,) = repo.log(root.id, prefix="raw")
    assert shown(found.changes()) == [("added", "raw/a"), ("added", "raw/c"), ("added", "rawest")]
    assert shown(found.changes(after="raw/a", limit=1)) == [("added", "raw/c")]
    assert found.summary() == ChangeSummary(added=3)
    assert messages(repo.log(root.id, prefix="nothing")) == []


def test_what_each_commit_changed(repo: Repository) -> None:
    found = {entry.message: shown(entry.changes()) for entry in repo.log("main")}
    assert found == {
        "more": [("added", "raw/c"), ("added", "rawest")],
        "merge": [("added", "out/x"), ("changed", "raw/a")],
        "sum": [("added", "out/x")],
        "drop": [("removed", "raw/b")],
        "mend": [("changed", "raw/a")],
        "load": [("added", "raw/a"), ("added", "raw/b")],
        ROOT: [],
    }
    (more, *_) = repo.log("main")
    assert shown(more.changes(after="raw/c")) == [("added", "rawest")]
    assert shown(more.changes(limit=1)) == [("added", "raw/c")]
    assert [page.next for page in more.changes().pages(1)] == ["raw/c", None]


def test_what_each_commit_changed_under_the_prefix_of_the_log(repo: Repository) -> None:
    found = {entry.message: shown(entry.changes()) for entry in repo.log("main", prefix="raw/", limit=2)}
    assert found == {"more": [("added", "raw/c")], "merge": [("changed", "raw/a")]}


def test_counts_of_each_commit(repo: Repository) -> None:
    found = {entry.message: entry.summary() for entry in repo.log("main")}
    assert found["merge"] == ChangeSummary(added=1, changed=1)
    assert found["drop"] == ChangeSummary(removed=1)
    assert found["drop"].total == 1
    assert found[ROOT] == ChangeSummary()
    (more,) = repo.log("main", prefix="raw/", limit=1)
    assert more.summary() == ChangeSummary(added=1)


def test_nothing_is_compared_before_it_is_asked_for(repo: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshot, "diff", lambda *given, **named: pytest.fail("compared"))
    assert len([entry.token for entry in repo.log("main")]) == 7


def test_tokens(repo: Repository) -> None:
    options: list[dict[str, str | bool]] = [
        {}, {"first_parent": True}, {"since": "dev"}, {"prefix": "raw/"},
        {"since": "dev~1", "prefix": "raw/", "first_parent": True},
    ]  # fmt: skip
    for given in options:
        whole = list(repo.log("main", **given))  # type: ignore[arg-type]
        for at, found in enumerate(whole):
            rest = list(repo.log("main", **given, after=found.token))  # type: ignore[arg-type]
            assert rest == whole[at + 1 :]
            assert [each.token for each in rest] == [each.token for each in whole[at + 1 :]]


def test_pages(repo: Repository) -> None:
    pages = list(repo.log("main").pages(3))
    assert [[entry.message for entry in page.items] for page in pages] == [
        ["more", "merge", "sum"],
        ["drop", "mend", "load"],
        [ROOT],
    ]
    assert [page.next for page in pages] == [pages[0].items[-1].token, pages[1].items[-1].token, None]
    assert messages(repo.log("main", after=pages[0].next, limit=2)) == ["drop", "mend"]


def test_a_token_outlives_new_commits_moves_and_the_branch(world: World, repo: Repository) -> None:
    for ref, since in (("dev", None), ("dev", "main~3")):
        head, *rest = repo.log(ref, since=since)
        dev = repo.branch("dev")
        commit(dev, "new", new=1)
        repo.merge("main", into="dev")
        again = world.graveler().repository("repo")
        assert list(again.log(ref, since=since, after=head.token)) == rest
        dev.hard_reset("main")
        assert list(again.log(ref, since=since, after=head.token)) == rest
        repo.delete_branch("dev")
        assert list(again.log(ref, since=since, after=head.token)) == rest
        repo.create_branch("dev", head.id)


@pytest.mark.parametrize("prefix", ["", "raw/", "out/x", "nothing/"])
@pytest.mark.parametrize("first_parent", [False, True])
@pytest.mark.parametrize("most", [1, 2, 3, 7, 100])
def test_a_log_that_looks_at_few_commits_at_once(repo: Repository, prefix: str, first_parent: bool, most: int) -> None:
    def log(after: str | None, most: int | None = None) -> Listing[LogEntry]:
        return repo.log("main", prefix=prefix, first_parent=first_parent, after=after, max_commits=most)

    found, after, parts = list[LogEntry](), None, 0
    while parts == 0 or after is not None:
        part = log(after, most)
        items = list(part)
        assert len(items) <= most
        (page,) = log(after, most).pages(100)
        assert (page.items, page.next) == (items, part.rest())
        found, after, parts = found + items, part.rest(), parts + 1
    assert found == list(log(None))
    assert parts == -(-len(list(repo.log("main", first_parent=first_parent))) // most)


def test_a_listing_with_items_left_has_no_rest(world: World, repo: Repository) -> None:
    """Commits are read ahead once a collection has condemned content."""
    held = access.read(world.kv, keys.repository(RepositoryId("repo")))
    assert held is not None
    collected = held.value.model_copy(update={"addresses_checked": True})
    access.replace(world.kv, keys.repository(RepositoryId("repo")), held, collected)
    listing = repo.log("main", max_commits=5)
    for _ in range(4):
        next(listing)
        assert listing.rest() is None
    limited = repo.log("main", max_commits=5, limit=4)
    assert (len(list(limited)), limited.rest()) == (4, None)


def test_a_log_after_the_id_of_a_commit(repo: Repository) -> None:
    every = list(repo.log("main"))
    for at, commit in enumerate(every):
        assert list(repo.log("main", after=commit.id)) == every[at + 1 :]
        assert list(repo.log("main", after=commit.id, max_commits=2)) == every[at + 1 : at + 3]
    assert messages(repo.log("main", prefix="out/", after=every[0].id)) == ["merge", "sum"]
    with pytest.raises(NotFound):
        next(repo.log("main", after="0" * 64))


def test_a_log_of_late_commits_leaves_old_ones_unread(world: World) -> None:
    main = world.repository().branch("main")
    for number in range(4):
        main.put("a", str(number).encode())
        main.commit(str(number), date=START + timedelta(days=number))
    main.put("a", b"behind")
    main.commit("behind", date=START + timedelta(days=3, minutes=-30))
    main.put("a", b"last")
    main.commit("last", date=START + timedelta(days=5))
    repo = world.graveler().repository("repo")
    kv = Counting(world.kv)
    found = world.graveler(kv).repository("repo").log("main", not_before=START + timedelta(days=3))
    assert messages(found) == ["last", "3"]
    assert kv.counts["get_many"] <= 8
    assert messages(repo.log("main", not_before=START + timedelta(days=1))) == ["last", "behind", "3", "2", "1"]
    token = next(repo.log("main", not_before=START + timedelta(days=3))).token
    assert messages(repo.log("main", not_before=START + timedelta(days=3), after=token)) == ["3"]


def test_a_log_ends_with_a_commit_that_it_does_not_list(world: World) -> None:
    main = world.repository().branch("main")
    for number in range(6):
        main.put("rare" if number in (0, 4) else "often", str(number).encode())
        main.commit(str(number), date=START + timedelta(minutes=number))
    repo = world.graveler().repository("repo")
    end = repo.commit("main~2").id
    options: list[dict[str, Any]] = [{}, {"prefix": "rare"}, {"not_before": START + timedelta(minutes=4)}]
    expected = [["5", "4", "3"], ["4"], ["5", "4"]]
    for each, listed in zip(options, expected, strict=True):
        assert messages(repo.log("main", until=end, **each)) == listed
        found = repo.log("main", until=end, max_commits=2, **each)
        first, rest = messages(found), found.rest()
        assert first + messages(repo.log("main", until=end, after=rest, **each)) == listed
        whole = repo.log("main", until=end, max_commits=3, **each)
        assert (messages(whole), whole.rest()) == (listed, None)
    assert messages(repo.log("main", until="0" * 64)) == messages(repo.log("main"))


@pytest.mark.parametrize("hours", [0, 14, -14])
def test_the_first_date_of_the_calendar_leaves_out_nothing(repo: Repository, hours: int) -> None:
    oldest = datetime.min.replace(tzinfo=timezone(timedelta(hours=hours)))
    found = list(repo.log("main", not_before=oldest))
    assert found == list(repo.log("main"))
    assert list(repo.log("main", not_before=oldest, after=found[0].token)) == found[1:]


def test_a_token_is_of_one_log(world: World, repo: Repository) -> None:
    head = next(repo.log("main"))
    token = head.token
    other = world.repository("other")
    calls: list[Callable[[], Any]] = [
        lambda: repo.log("dev", after=token),
        lambda: repo.log("main~1", after=token),
        lambda: repo.log("main", after=token, first_parent=True),
        lambda: repo.log("main", after=token, since="dev"),
        lambda: repo.log("main", after=token, prefix="raw/"),
        lambda: other.log("main", after=token),
        lambda: repo.log("main", after=token[:-1]),
        lambda: repo.log("main", after=""),
        lambda: repo.log("main", after=5),  # type: ignore[arg-type]
        lambda: repo.log("main", prefix="\ud800", after=token),
        lambda: repo.log("main", after=token, not_before=START),
        lambda: repo.log("main", not_before=datetime(2026, 1, 1)),
        lambda: repo.log("main", not_before="2026-01-01"),  # type: ignore[arg-type]
        lambda: repo.log("main", max_commits=0),
        lambda: repo.log("main$"),
        lambda: repo.log("main", since="main$"),
        lambda: repo.log("main", since=""),
        lambda: head.changes(after="\ud800"),
    ]
    for call in calls:
        with pytest.raises(InvalidInput):
            call()


def test_unknown_refs(repo: Repository) -> None:
    for ref, since in (("nobody", None), ("main", "nobody")):
        with pytest.raises(NotFound) as caught:
            repo.log(ref, since=since)
        assert caught.value.kind is Kind.RefNotFound


def test_a_commit_is_the_same_wherever_it_comes_from(repo: Repository) -> None:
    head, second, *_ = repo.log("main")
    assert head == repo.commit("main") == next(repo.log("main", prefix="raw/"))
    assert head != second
    assert head != head.id
    assert {head, repo.commit("main"), second} == {head, second}
    assert pickle.loads(pickle.dumps(repo.commit("main"))) == head


def test_diff_since_the_merge_base(repo: Repository) -> None:
    commit(repo.branch("dev"), "apart", out__y=1, raw__b=None)
    assert shown(repo.diff("main", "dev", since_merge_base=True)) == [("added", "out/y"), ("removed", "raw/b")]
    assert shown(repo.diff("main", "dev", "out/", since_merge_base=True)) == [("added", "out/y")]
    assert shown(repo.diff("main", "dev")) == [("added", "out/y"), ("removed", "raw/c"), ("removed", "rawest")]
    assert repo.merge_base("main", "dev") == repo.commit("dev~1") == repo.merge_base("dev", "main")


@pytest.mark.ci
def test_counts_are_those_of_the_list(repo: Repository) -> None:
    main = repo.branch("main")
    main.stage_many(table({f"many/{number:04}": number for number in range(300)}))
    main.commit("many")
    for number in range(0, 300, 3):
        main.stage(f"many/{number:04}", entry(1000 + number))
    for number in range(1, 300, 3):
        main.remove(f"many/{number:04}")
    main.stage("many/new", entry(1))
    commit(main, "change", raw__a=8)
    for left, right in (("main~1", "main"), ("main", "main~1"), ("dev", "main"), ("main", "main")):
        for prefix in ("", "many/", "many/00", "raw/", "nothing"):
            for since in (False, True):
                listed = [c.kind for c in repo.diff(left, right, prefix, since_merge_base=since)]
                counted = repo.diff_summary(left, right, prefix, since_merge_base=since)
                assert counted == ChangeSummary(*(listed.count(kind) for kind in ChangeKind))
    assert repo.diff_summary("main~1", "main") == ChangeSummary(added=1, changed=101, removed=100)


def test_counting_makes_no_entry(repo: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("engine.reading.tables", "engine.reading.snapshot"):
        monkeypatch.setattr(f"graveler_core.{module}.change_of", lambda *states: pytest.fail("listed"))
    assert repo.diff_summary("main~2", "main").total == 4
    assert next(repo.log("main")).summary().total == 2


def test_bad_input_for_counts(repo: Repository) -> None:
    with pytest.raises(InvalidInput):
        repo.diff_summary("main", "dev", "\ud800")
    with pytest.raises(NotFound):
        repo.diff_summary("main", "nobody")
