"""Collectors that pause while they delete."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta
from itertools import count
from pathlib import Path

import pytest

from graveler_core.errors import CorruptData, NotFound
from graveler_core.gc import collection
from graveler_core.gc.sweep import GRACE
from tests.unit.engine.interposed import Interposed
from tests.unit.engine.templates import Template
from tests.unit.gc.lake import NOW, Lake


def _with_lost_content(root: Path) -> Lake:
    """A repository in which five objects are condemned, and due."""
    lake = Lake(root)
    for number in range(5):
        lake.branch().put("x", b"%d" % number)
    lake.branch().reset()
    lake.sleep(GRACE)
    lake.collect()
    lake.sleep(GRACE)
    return lake


def _restore_files(lake: Lake, contents: dict[str, bytes]) -> None:
    for name, content in contents.items():
        (lake.root / name).parent.mkdir(parents=True, exist_ok=True)
        (lake.root / name).write_bytes(content)


@pytest.mark.parametrize("what", ["ended", "deleted", "another repository"])
def test_a_collector_that_pauses_while_it_deletes_gives_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    """Before any of its calls, another collector ends the collection, the repository is deleted, or another one owns
    the namespace. Then somebody copies objects with the same names into the namespace. It deletes none of them.
    """
    monkeypatch.setattr(collection, "DELETED_AT_ONCE", 1)
    made = _with_lost_content(tmp_path / "lake")
    contents = {name: (made.root / name).read_bytes() for name in made.objects}
    template = Template(made)
    for at in count():
        lake = template.copy()

        def overtake(lake: Lake = lake) -> None:
            g = lake.world.graveler()
            lake.collect()
            if what != "ended":
                g.delete_repository("repo")
            if what == "another repository":
                g.clean(undelete_within=timedelta(0), late=timedelta(0))
                list(g.empty_namespaces(grace=timedelta(0), alone=True))
                g.create_repository("other", lake.root.as_uri())
            _restore_files(lake, contents)

        kv = Interposed(lake.world.kv)
        kv.before[at] = overtake
        with suppress(NotFound, CorruptData):
            lake.collect(None, kv)
        if at >= len(kv.verbs):
            break
        assert contents.keys() <= lake.objects, at
    assert at > 10


def test_a_collection_with_many_batches_deletes_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collection, "DELETED_AT_ONCE", 2)
    lake = _with_lost_content(tmp_path)
    assert lake.collect().deleted == 5
    assert not lake.objects
    assert lake.collect(NOW).deleted == 0
