"""Histories by number, made up by hand or at random, that count who reads them; and what is true of them."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from hypothesis import strategies as st

from graveler_core.codec.content_hash import hex_id
from graveler_core.model.entities import Commit, Layout
from graveler_core.model.ids import CommitId, MetarangeId, Nonce
from graveler_core.model.index import Index
from graveler_core.objects.commits import StoredCommit

START = datetime(2026, 1, 1, tzinfo=UTC)


def name(number: int) -> CommitId:
    """An id that says nothing about the number's size."""
    return CommitId(hex_id(str(number).encode()))


def names(numbers: Iterable[int]) -> list[CommitId]:
    return [name(number) for number in numbers]


class History:
    """Commits by number; each lists its parents, which have smaller numbers; dates go as they please."""

    def __init__(self, parents: list[list[int]], hours: list[int] | None = None) -> None:
        self.parents = parents
        self.reads: list[CommitId] = []
        self.commits: dict[CommitId, StoredCommit] = {}
        self._ancestors: list[frozenset[int]] = []
        for number, above in enumerate(parents):
            generation = 1 + max((self.at(p).header.generation for p in above), default=0)
            header = Commit(
                committer="",
                message="",
                creation_date=START + timedelta(hours=hours[number] if hours else 0),
                parents=tuple(names(above)),
                generation=generation,
                nonce=Nonce(""),
                operations="",
            )
            self.put(StoredCommit(name(number), header, Layout(index=Index(metarange_id=MetarangeId("")))))
            self._ancestors.append(frozenset({number}).union(*(self._ancestors[p] for p in above)))

    def put(self, commit: StoredCommit) -> None:
        self.commits[commit.id] = commit

    def at(self, number: int) -> StoredCommit:
        return self.commits[name(number)]

    def read(self, commit: CommitId) -> StoredCommit:
        self.reads.append(commit)
        return self.commits[commit]

    def ancestors(self, number: int) -> frozenset[int]:
        """The commit and all before it."""
        return self._ancestors[number]

    def place(self, number: int) -> tuple[int, datetime, int]:
        """What sorts commits as a log does."""
        header = self.at(number).header
        return (-header.generation, START - (header.creation_date - START), int(name(number), 16))

    def ordered(self, numbers: Iterable[int]) -> list[int]:
        return sorted(numbers, key=self.place)

    def chain(self, number: int) -> list[int]:
        """The first parents, from a commit on."""
        found = [number]
        while self.parents[found[-1]]:
            found.append(self.parents[found[-1]][0])
        return found

    def read_numbers(self) -> list[int]:
        """What was read, each as often as it was."""
        numbers = {name(number): number for number in range(len(self.parents))}
        return [numbers[commit] for commit in self.reads]


@st.composite
def histories(draw: st.DrawFn, largest: int = 24) -> History:
    """Forks, merges of up to three, several roots, dates that lie, equal generations."""
    size = draw(st.integers(1, largest))
    parents: list[list[int]] = []
    for number in range(size):
        # Near parents make long histories, far ones wide histories; now and then there is another root.
        nearest = st.integers(max(0, number - 4), number - 1)
        anywhere = st.integers(0, number - 1)
        above = st.lists(nearest | anywhere, min_size=0 if number % 7 == 6 else 1, max_size=3, unique=True)
        parents.append(draw(above) if number else [])
    hours = draw(st.lists(st.integers(0, 3), min_size=size, max_size=size))
    return History(parents, hours)


@st.composite
def picked(draw: st.DrawFn) -> tuple[History, int, int]:
    """A history and two of its commits."""
    history = draw(histories())
    number = st.integers(0, len(history.parents) - 1)
    return history, draw(number), draw(number)
