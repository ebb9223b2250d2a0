"""Reading: single paths, pages of listings, differences, history, names."""

from __future__ import annotations

from contextlib import suppress

from graveler_core.errors import NotFound
from graveler_core.facade.branch import Branch
from tests.unit.engine.budgets.costs import Act, Cost, costs
from tests.unit.engine.budgets.measured import Measured, path
from tests.unit.engine.flows import table
from tests.unit.engine.world import entry

SOME = path(150)


@costs("get, staged", Cost((2, 0), (3, 0)))
def get_staged(m: Measured) -> Act:
    m.main.stage("a", entry(1))
    return lambda: m.main.get("a")


@costs("get, committed", Cost((2, 0), (3, 0), reads="1 range, 1 node per level"))
def get_committed(m: Measured) -> Act:
    return lambda: m.main.get(SOME)


@costs("get, absent", Cost((2, 0), (3, 0), reads="1 node"))
def get_absent(m: Measured) -> Act:
    def act() -> None:
        with suppress(NotFound):
            m.main.get("zzz")

    return act


@costs("get below 5 sealed tokens", Cost((2, 0), (8, 0), reads="1 range, 1 node per level"))
def get_below_sealed_tokens(m: Measured) -> Act:
    for number in range(5):
        m.main.stage("a", entry(number))
        m.main.remove_prefix("p/")
    return lambda: m.main.get(SOME)


@costs("get from a layer of files", Cost((2, 0), (3, 0), reads="2 layer files"))
def get_from_files(m: Measured) -> Act:
    m.unseen.branch("main").stage_many(table({f"m/{number:05}": number for number in range(1_500)}))
    m.main.get(SOME)
    return lambda: m.main.get("m/00700")


@costs("get, first use of a branch", Cost((5, 0), (7, 0), reads="1 range, 1 node per level"))
def get_first(m: Measured) -> Act:
    main = Branch(m.newcomer()._stores, m.repo._record, m.main.name)
    return lambda: main.get(SOME)


@costs("get at a commit", Cost((1, 0), (1, 0), reads="1 range, 1 node per level"))
def get_at_a_commit(m: Measured) -> Act:
    at = m.repo.at("main@")
    return lambda: at.get(SOME)


@costs("page of a listing", Cost((1, 1), (2, 1), reads="1 range, 1 node per level"))
def page(m: Measured) -> Act:
    m.main.stage(SOME + "x", entry(1))
    return lambda: list(m.main.list(after=SOME, limit=2))


@costs("page of a listing, 5 sealed tokens", Cost((1, 6), (2, 6), reads="1 range, 1 node per level"))
def page_of_sealed_tokens(m: Measured) -> Act:
    for number in range(5):
        m.main.stage("a", entry(number))
        m.main.remove_prefix("p/")
    return lambda: list(m.main.list(after=SOME, limit=2))


@costs("page of a listing at a commit", Cost((1, 0), (1, 0), reads="1 range, 1 node per level"))
def page_at_a_commit(m: Measured) -> Act:
    at = m.repo.at("main@")
    return lambda: list(at.list(after=SOME, limit=2))


@costs("version of a listing", Cost((1, 1), (2, 1)))
def version(m: Measured) -> Act:
    return lambda: m.main.list(after=SOME, limit=2).version()


@costs("page of a listing after its version", Cost((0, 0), (0, 0), reads="1 range, 1 node per level"))
def page_after_version(m: Measured) -> Act:
    begun = m.main.list(after=SOME, limit=2)
    begun.version()
    return lambda: list(begun)


@costs("version of a listing with staged rows, and its page", Cost((1, 1), (2, 1), reads="1 range, 1 node per level"))
def version_of_staged(m: Measured) -> Act:
    m.main.stage(SOME + "x", entry(1))
    begun = m.main.list(after=SOME, limit=2)
    return lambda: (begun.version(), list(begun))


@costs("page of uncommitted changes", Cost((1, 1), (2, 1), reads="1 range, 1 node per level"))
def uncommitted(m: Measured) -> Act:
    m.main.stage(SOME, entry(999))
    return lambda: list(m.main.uncommitted())


@costs("page of uncommitted changes, compacted", Cost((1, 1), (2, 1), reads="2 ranges, 2 nodes per level"))
def uncommitted_compacted(m: Measured) -> Act:
    m.unseen.branch("main").stage(SOME, entry(999))
    m.unseen.branch("main").compact()
    return lambda: list(m.main.uncommitted())


@costs("page of uncommitted changes, compacted, second read", Cost((1, 1), (2, 1)))
def uncommitted_again(m: Measured) -> Act:
    act = uncommitted_compacted(m)
    act()
    return act


@costs("page of staged records", Cost((1, 1), (2, 1)))
def staged(m: Measured) -> Act:
    m.main.stage(SOME, entry(999))
    return lambda: list(m.main.staged())


@costs("id of a commit's content", Cost((1, 0), (1, 0)))
def tree_id(m: Measured) -> Act:
    at = m.repo.at("main@")
    return at.tree_id


@costs("diff, equal content", Cost((3, 0), (5, 0)))
def diff_equal(m: Measured) -> Act:
    return lambda: list(m.repo.diff("main", "dev"))


@costs("diff, one path", Cost((3, 0), (5, 0), reads="1 range, 1 node per level"))
def diff_one(m: Measured) -> Act:
    dev = m.unseen.branch("dev")
    dev.stage(SOME, entry(999))
    dev.commit("one")
    return lambda: list(m.repo.diff("main", "dev"))


@costs("all commits by id", Cost((1, 1), (1, 1)))
def all_commits(m: Measured) -> Act:
    return lambda: list(m.repo.commits())


@costs("commits that are not a first parent", Cost((1, 2), (1, 2)))
def ends(m: Measured) -> Act:
    return lambda: list(m.repo.commits(not_first_parent=True))


@costs("log, commits in memory", Cost((2, 0), (3, 0)))
def log(m: Measured) -> Act:
    return lambda: list(m.repo.log("main"))


@costs("log, 20 commits not in memory", Cost((22, 0), (43, 0)))
def log_cold(m: Measured) -> Act:
    main = m.other().branch("main")
    for number in range(20):
        main.commit(f"commit {number}", allow_empty=True)
    return lambda: list(m.repo.log("main"))


@costs("log from a token, commits in memory", Cost((1, 0), (1, 0)))
def log_from_a_token(m: Measured) -> Act:
    token = next(m.repo.log("main")).token
    return lambda: list(m.repo.log("main", after=token))


@costs("merge base, commits in memory", Cost((3, 0), (5, 0)))
def merge_base(m: Measured) -> Act:
    m.unseen.branch("dev").commit("one", allow_empty=True)
    return lambda: m.repo.merge_base("main", "dev")


@costs("name of a branch or tag", Cost((2, 0), (3, 0)))
def resolve_name(m: Measured) -> Act:
    return lambda: m.repo.at("main")


@costs("commit id or its beginning", Cost((2, 1), (3, 1)))
def resolve_commit(m: Measured) -> Act:
    wanted = m.main.record().commit_id[:12]
    return lambda: m.repo.at(wanted)


@costs("`main~5`, commits not in memory", Cost((7, 0), (13, 0)))
def resolve_steps(m: Measured) -> Act:
    main = m.other().branch("main")
    for number in range(7):
        main.commit(f"commit {number}", allow_empty=True)
    return lambda: m.repo.at("main~5")
