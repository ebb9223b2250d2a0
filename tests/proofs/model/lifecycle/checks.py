"""Invariants after each step, and after the end of all flows."""

from __future__ import annotations

from itertools import pairwise

from tests.proofs.model.lifecycle.cleaning import clean
from tests.proofs.model.lifecycle.deleting import delete
from tests.proofs.model.lifecycle.registers import ACTIVE, DELETING, WHOLE, Broken, Flow, Registers, Repository


def check_step(r: Registers, before: dict[str, Repository]) -> None:
    """No repository vanishes but by its own deletion, and what can be reached is whole and owns its namespace."""
    for name, former in before.items():
        now = r.repositories.get(name)
        if former.state == ACTIVE and now != former and (now is None or (now.uid, now.state) != (former.uid, DELETING)):
            raise Broken(f"{name} was active as {former.uid} and is now {now}")
    places = []
    for name, repository in r.repositories.items():
        if repository.state == ACTIVE:
            _check_whole(r, name, repository)
            places.append(repository.place)
    places.sort()
    for above, below in pairwise(places):
        if below == above or below.startswith(f"{above}/"):
            raise Broken(f"two repositories share {above}")


def _check_whole(r: Registers, name: str, repository: Repository) -> None:
    if not repository.bare and r.content.get(repository.uid) != WHOLE:
        raise Broken(f"{name} is active and holds only {r.content.get(repository.uid)}")
    owner = r.claims.get(repository.place)
    if owner is None or owner.uid != repository.uid:
        raise Broken(f"{name} is active and its namespace belongs to {owner}")


def check_end(r: Registers) -> None:
    """After all calls have ended, deletion and the cleaner leave nothing but active repositories: nothing leaks."""
    for turn in "xyz":
        for uid in list(r.entries):
            _drained(r, clean(r, uid, turn))
        for name, repository in list(r.repositories.items()):
            if repository.state != ACTIVE:
                _drained(r, delete(r, name, turn))
    alive = {repository.uid for repository in r.repositories.values()}
    if any(repository.state != ACTIVE for repository in r.repositories.values()) or r.entries:
        raise Broken(f"left behind: {r.repositories} {r.entries}")
    if any(owner.uid not in alive for owner in r.claims.values()):
        raise Broken(f"leaked namespaces: {r.claims}")
    if any(uid not in alive and held for uid, held in r.content.items()):
        raise Broken(f"leaked content: {r.content}")


def _drained(r: Registers, flow: Flow) -> None:
    for wait in flow:
        if wait is not None and not wait(r):
            flow.close()
            return
        check_step(r, dict(r.repositories))
