"""A store to make ill: what its records say, what the doctor says of it, and the command that it prints, run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from typing import Any

import graveler_core
from graveler_core.codec.elements import decode_elements, encode_elements
from graveler_core.committed.index.layer import aged
from graveler_core.diagnostics.doctor.diagnosis import Ailment
from graveler_core.facade.graveler import Graveler
from graveler_core.kv import open_store
from graveler_core.kv.store import Store
from graveler_core.model.entities import RepositoryRecord
from graveler_core.model.ids import CommitId, RepositoryId
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.refs import repositories
from tests.integration.command_line import Cli, Ran

REPOSITORY, MAIN = "graveler://flights", "graveler://flights/main"
STORE = "sqlite:///.graveler/meta.db"


@contextmanager
def records() -> Iterator[Store]:
    with closing(open_store(STORE)) as kv:
        yield kv


@contextmanager
def opened() -> Iterator[Graveler]:
    with graveler_core.connect(STORE) as graveler:
        yield graveler


def record(kv: Store) -> RepositoryRecord:
    held = repositories.find(kv, RepositoryId("flights"))
    assert held is not None
    return held.value


def found(cli: Cli, ailment: Ailment, *arguments: str) -> list[dict[str, Any]]:
    """What the doctor says of an ailment."""
    ran = cli("doctor", *arguments, "--json")
    rows = [row for row in ran.documents if row["type"] == "diagnosis"]
    assert ran.code == (1 if rows else 0), ran
    return [row for row in rows if row["ailment"] == ailment]


def ill(cli: Cli, ailment: Ailment, *arguments: str) -> dict[str, Any]:
    """The one finding of an ailment."""
    (row,) = found(cli, ailment, *arguments)
    assert all(row[name] for name in ("severity", "where", "what", "why", "remedy"))
    return row


def cured(cli: Cli, ailment: Ailment, *arguments: str) -> Ran:
    """Run the command that is printed, and see the finding gone."""
    program, *words = ill(cli, ailment, *arguments)["command"]
    assert program == "graveler"
    ran = cli(*words)
    assert ran.code == 0, ran
    gone(cli, ailment, *arguments)
    return ran


def gone(cli: Cli, ailment: Ailment, *arguments: str) -> None:
    assert found(cli, ailment, *arguments) == []


def stage_layers(branch: str, number: int) -> None:
    with opened() as graveler:
        staged = graveler.repository("flights").branch(branch)
        for each in range(number):
            staged.remove_prefix(f"nothing/{each}/")


def head() -> CommitId:
    with opened() as graveler:
        return graveler.repository("flights").branch("main").record().commit_id


def forget_marks(commit: CommitId) -> None:
    """Have the inline index of a commit mark no change as the commit's own."""
    with records() as kv:
        where = keys.commit_layout(record(kv), commit)
        held = access.read(kv, where)
        assert held is not None
        index = held.value.index
        inline = encode_elements(aged(decode_elements(index.inline, "test")))
        access.write(kv, where, held.value.model_copy(update={"index": replace(index, inline=inline)}))
