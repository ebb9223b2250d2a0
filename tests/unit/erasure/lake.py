"""A repository with content to erase, and the promises of an erasure."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from graveler_core.blobs.local import LocalBlobs
from graveler_core.blobs.open import OpenedBlobs
from graveler_core.errors import Kind, NotFound
from graveler_core.facade.branch import Branch
from graveler_core.facade.repository import Repository
from graveler_core.kv.store import Store
from graveler_core.model.erasure import ErasureState
from tests.unit.engine.interposed import Crash
from tests.unit.engine.world import World

PREFIX = "u/1/"
PATH = "u/1/a"


class Lake:
    """Three contents at erased paths: in an old commit, in the head, and staged on another branch."""

    def __init__(self, root: Path, *, gone: bool = False) -> None:
        self.root = root
        self.world = World(blobs=OpenedBlobs(durable=False))
        self.world.clock.time = datetime.now(UTC) + timedelta(minutes=1)
        self.world.graveler().create_repository("repo", self.uri)
        main = self.branch()
        self.old = main.put(PATH, b"old")
        main.put("u/2/b", b"kept")
        self.first = main.commit("first").id
        self.repo.create_branch("dev", source="main")
        main.put(PATH, b"new")
        self.second = main.commit("second").id
        if gone:
            main.remove(PATH)
            main.commit("removed")
        self.branch("dev").put("u/1/staged", b"staged")
        self.branch("dev").put("other", b"kept too")

    @property
    def uri(self) -> str:
        return (self.root / "lake").as_uri()

    @property
    def repo(self) -> Repository:
        return self.on(None)

    def on(self, kv: Store | None) -> Repository:
        return self.world.graveler(kv).repository("repo")

    def branch(self, name: str = "main", kv: Store | None = None) -> Branch:
        return self.on(kv).branch(name)

    def leave_while_deleting(self, prefix: str = PREFIX) -> None:
        """Leave an erasure in the state `deleting`, before any deletion."""

        def die(blobs: LocalBlobs, address: str) -> None:
            raise Crash

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(LocalBlobs, "delete", die)
            with pytest.raises(Crash):
                self.repo.erase(prefix=prefix, why="request 17")
        assert self.repo.erasures()[-1].state is ErasureState.DELETING

    @property
    def objects(self) -> set[str]:
        """Addresses of the users' objects."""
        lake = self.root / "lake"
        return {str(path.relative_to(lake)) for path in (lake / "data").rglob("*") if path.is_file()}

    def broken(self) -> list[str]:
        """Return the promises that do not hold once nobody works any more."""
        wrong = list[str]()
        ended = [erasure for erasure in self.repo.erasures() if erasure.state is ErasureState.DONE]
        shown = {(path, address) for name in self._branches() for path, address in self._shown(name)}
        for name in self._branches():
            wrong += self._unreadable(f"branch {name}", self.branch(name))
        commits = {entry.id for name in self._branches() for entry in self.repo.log(name)}
        for commit in commits | {self.first, self.second}:
            wrong += self._unreadable(f"commit {commit[:4]}", self.repo.at(commit))
            for found in self.repo.at(commit).list(PREFIX):
                if ended and found.address in self.objects and (found.path, found.address) not in shown:
                    wrong.append(f"{found.path} of commit {commit[:4]} was erased and has content")
        if ended and not {"old", "new"}.isdisjoint(self._contents()):
            wrong.append("erased content exists")
        if any(erasure.ended is None for erasure in self.repo.erasures()):
            wrong.append("an erasure has not ended")
        return wrong + [str(finding) for finding in self.repo.fsck(data=True) if finding.damage]

    def erased_and_shown(self) -> list[str]:
        """Return the entries that branches show and whose content is erased."""
        return [
            f"{name}/{path}"
            for name in self._branches()
            for path, address in self._shown(name)
            if address not in self.objects
        ]

    def _branches(self) -> list[str]:
        return [branch.id for branch in self.repo.branches()]

    def _shown(self, name: str) -> list[tuple[str, str | None]]:
        return [(found.path, found.address) for found in self.branch(name).list()]  # type: ignore[union-attr]

    def _contents(self) -> set[str]:
        return {(self.root / "lake" / name).read_text() for name in self.objects}

    def _unreadable(self, where: str, view: object) -> list[str]:
        """Entries whose content is missing without a reason."""
        wrong = []
        for found in view.list():  # type: ignore[attr-defined]
            try:
                view.read(found.path)  # type: ignore[attr-defined]
            except NotFound as e:
                if e.kind is not Kind.ContentErased:
                    wrong.append(f"{where}: {found.path} is {e.kind}")
        return wrong
