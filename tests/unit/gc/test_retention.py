"""The commits that no retention rule keeps, compared with an oracle that examines each commit on its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from fnmatch import fnmatchcase
from random import Random

import pytest

from graveler_core.errors import InvalidInput
from graveler_core.gc.retention import DatedHistory, ReferencedCommits, not_kept
from graveler_core.model.ids import BranchId, CommitId
from graveler_core.model.retention import RetentionRules, retention_rules
from tests.unit.engine.world import START

NO_GRACE = timedelta(0)


@dataclass
class Commits:
    """A history that tests write down as ages in days."""

    ages: dict[str, float] = field(default_factory=dict)
    parents: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def add(self, name: str, age: float, *parents: str) -> str:
        self.ages[name], self.parents[name] = age, parents
        return name

    def line(self, prefix: str, ages: Sequence[float], *first: str) -> list[str]:
        """Commits one after the other, oldest first."""
        names = list[str]()
        for number, age in enumerate(ages):
            names.append(self.add(f"{prefix}{number}", age, *(names[-1:] or first)))
        return names

    def history(self, branches: Mapping[str, str], tags: Sequence[str] = ()) -> DatedHistory:
        references = ReferencedCommits(
            {BranchId(name): CommitId(head) for name, head in branches.items()}, frozenset(map(CommitId, tags))
        )
        made = {CommitId(name): START - timedelta(days=age) for name, age in self.ages.items()}
        parents = {CommitId(name): tuple(map(CommitId, all)) for name, all in self.parents.items()}
        return DatedHistory(references, made, parents)

    def lost(self, rules: RetentionRules, branches: Mapping[str, str], tags: Sequence[str] = ()) -> str:
        """Names of the commits that are not kept, without a grace period."""
        found = not_kept(self.history(branches, tags), rules, START, NO_GRACE)
        return " ".join(sorted(found))


@pytest.fixture
def commits() -> Commits:
    return Commits()


def test_a_commit_is_kept_for_the_days_of_the_rule_and_the_one_before(commits: Commits) -> None:
    """`c2` is the content that the branch had 7 days ago."""
    commits.line("c", [20, 15, 9, 6, 3, 1])
    assert commits.lost(retention_rules(7, {}), {"main": "c5"}) == "c0 c1"
    assert commits.lost(retention_rules(6, {}), {"main": "c5"}) == "c0 c1", "a limit belongs to the time"
    assert commits.lost(retention_rules(0, {}), {"main": "c5"}) == "c0 c1 c2 c3 c4"
    assert commits.lost(retention_rules(21, {}), {"main": "c5"}) == ""
    assert commits.lost(RetentionRules(), {"main": "c5"}) == ""


def test_heads_and_tags_are_kept(commits: Commits) -> None:
    commits.line("c", [20, 15, 9])
    commits.line("d", [30, 25], "c0")
    assert commits.lost(retention_rules(7, {}), {"main": "c2", "dev": "d1"}, ["c1"]) == "c0 d0"


def test_further_parents_are_history_too(commits: Commits) -> None:
    """The merged commits within the time are kept. The first content is that of the first parents only."""
    commits.line("c", [30, 20])
    commits.line("m", [12, 6, 5], "c0")
    commits.add("merge", 4, "c1", "m2")
    assert commits.lost(retention_rules(7, {}), {"main": "merge"}) == "c0 m0"


def test_commits_that_no_branch_reaches_have_the_default_rule(commits: Commits) -> None:
    commits.line("c", [5, 4])
    commits.line("lost", [30, 20, 10])
    rules = retention_rules(15, {"main": 4})
    assert commits.lost(rules, {"main": "c1"}) == "lost0 lost1"
    assert not_kept(commits.history({"main": "c1"}), rules, START, NO_GRACE) == {
        "lost0": "default rule: 15 days",
        "lost1": "default rule: 15 days",
    }
    assert commits.lost(retention_rules(None, {"main": 3}), {"main": "c1"}) == "c0", "the others are kept for ever"


def test_the_longest_time_counts(commits: Commits) -> None:
    """Of the patterns that match a branch, and of the branches that reach a commit."""
    commits.line("c", [40, 30, 20, 10, 1])
    short, long = retention_rules(None, {"dev-*": 5}), retention_rules(None, {"dev-*": 5, "dev-a": 25})
    assert commits.lost(short, {"dev-a": "c4", "dev-b": "c3"}) == "c0 c1 c2"
    assert commits.lost(long, {"dev-a": "c4", "dev-b": "c3"}) == "c0"
    assert commits.lost(long, {"dev-a": "c2", "dev-b": "c4"}) == "c0"
    found = not_kept(commits.history({"dev-a": "c2", "dev-b": "c4"}), long, START, NO_GRACE)
    assert found == {"c0": "rule 'dev-a': 25 days"}
    assert commits.lost(retention_rules(5, {"main": None}), {"main": "c4", "dev": "c3"}) == ""


def test_nothing_younger_than_the_grace_period_expires(commits: Commits) -> None:
    """A commit of a flow that has not ended is one that no branch reaches."""
    commits.line("c", [20, 6, 2, 1])
    commits.add("new", 3)
    history = commits.history({"main": "c3"})
    assert sorted(not_kept(history, retention_rules(0, {}), START, timedelta(days=4))) == ["c0"]


def test_a_commit_is_not_older_than_its_ancestors(commits: Commits) -> None:
    """A machine with a slow clock gives its commits old dates."""
    commits.line("c", [60, 20, 3, 63, 62, 2])
    assert commits.lost(retention_rules(7, {}), {"main": "c5"}) == "c0"
    commits.line("d", [30, 70, 65], "c1")
    commits.add("merge", 66, "d2", "c4")
    commits.add("last", 1, "merge")
    assert commits.lost(retention_rules(7, {}), {"main": "last"}) == "c0 c1 d0 d1", "d2 is the first content"
    assert commits.lost(retention_rules(7, {}), {"main": "c2"}) == "c0 d0 d1 d2", "merge has the date of c2"


def test_a_head_is_kept_although_it_and_its_parents_have_old_dates(commits: Commits) -> None:
    """Later it is the first content that is older than the rule allows."""
    commits.line("c", [50, 60])
    assert commits.lost(retention_rules(30, {}), {"main": "c1"}) == "c0"
    commits.add("next", 1, "c1")
    assert commits.lost(retention_rules(30, {}), {"main": "next"}) == "c0"


def test_a_date_later_than_now_says_nothing_of_the_descendants(commits: Commits) -> None:
    """A clock that was years ahead does not keep all later commits for ever."""
    commits.line("c", [40, -1000, 30, 20, 5])
    assert commits.lost(retention_rules(7, {}), {"main": "c4"}) == "c0 c2", "c3 is the first content"
    commits.line("d", [10, -1000, 60, 2])
    assert commits.lost(retention_rules(12, {}), {"main": "d3"}) == "c0 c2 c3", "d2 has the date of d0"
    commits.line("e", [-1000, 60, 50, 40])
    assert commits.lost(retention_rules(12, {}), {"main": "e3", "all": "c4"}) == "c0 c2 e1 e2"


def test_clocks_may_differ_a_little(commits: Commits) -> None:
    """The date of a parent counts if it is later than now by some minutes."""
    commits.line("c", [10, -1 / 48, 60, 0])
    assert commits.lost(retention_rules(7, {}), {"main": "c3"}) == "", "c0 is the first content"


def test_a_commit_whose_parent_was_removed_has_its_own_date(commits: Commits) -> None:
    commits.line("c", [5, 4])
    commits.add("lost", 20, "removed")
    assert commits.lost(retention_rules(7, {}), {"main": "c1"}) == "lost"


@pytest.mark.parametrize("seed", range(300))
def test_as_the_oracle_says(seed: int) -> None:
    random = Random(seed)
    commits = Commits()
    names = list[str]()
    for number in range(random.randint(1, 25)):
        parents = dict.fromkeys(random.choices(names, k=random.choice([0, 1, 1, 1, 2]))) if names else {}
        age = 25 - number + random.choice([0, 0, 0, -4, 4, 60, -60])
        names.append(commits.add(f"c{number}", age, *parents))
    branches = {f"{random.choice('ab')}{n}": random.choice(names) for n in range(random.randint(0, 4))}
    days = [None, 0, 3, 7, 12]
    patterns = {random.choice(["a*", "b*", "a1", "*"]): random.choice(days) for _ in range(random.randint(0, 3))}
    rules = retention_rules(random.choice(days), patterns)
    tags = random.sample(names, random.randint(0, min(2, len(names))))
    grace = random.choice([0, 2, 5])
    found = not_kept(commits.history(branches, tags), rules, START, timedelta(days=grace))
    expected = {name for name in names if not kept(commits, rules, branches, tags, grace, name)}
    assert set(found) == expected


def kept(  # noqa: PLR0917 - all that the definition names
    commits: Commits, rules: RetentionRules, branches: Mapping[str, str], tags: Sequence[str], grace: int, name: str
) -> bool:
    """The definition, word by word."""

    def within(which: str, days: int | None) -> bool:
        possible = [age for each in reaches(which) if (age := commits.ages[each]) >= 0]
        return days is None or min([commits.ages[which], *possible]) <= max(days, grace)

    def reaches(start: str, first_only: bool = False) -> list[str]:
        ahead, seen = [start], list[str]()
        while ahead:
            at = ahead.pop()
            if at not in seen:
                seen.append(at)
                ahead += commits.parents[at][:1] if first_only else commits.parents[at]
        return seen

    def days_of(branch: str) -> int | None:
        found = [days for pattern, days in rules.branches.items() if fnmatchcase(branch, pattern)] or [rules.days]
        return None if None in found else max(days for days in found if days is not None)

    if name in branches.values() or name in tags:
        return True
    if not any(name in reaches(head) for head in branches.values()):
        return within(name, rules.days)
    for branch, head in branches.items():
        days = days_of(branch)
        if name in reaches(head) and within(name, days):
            return True
        if next((each for each in reaches(head, True) if not within(each, days)), None) == name:
            return True
    return False


@pytest.mark.parametrize(
    ("days", "branches", "message"),
    [
        (-1, {}, "default rule: -1 must be"),
        (1.5, {}, "default rule: 1.5 must be"),
        (True, {}, "default rule: True must be"),
        (36_501, {}, "36501 must be"),
        (None, {"dev": "7d"}, "pattern 'dev': '7d' must be"),
        (None, {"": 7}, "pattern ''"),
        (None, {"a b": 7}, "pattern 'a b'"),
        (None, [("dev", 7)], "must be a mapping"),
        (None, {f"b{n}": 7 for n in range(101)}, "101 patterns"),
    ],
)
def test_rules_are_checked(days: object, branches: object, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        retention_rules(days, branches)  # type: ignore[arg-type]
