"""The fixtures of lakeFS in a small world, and what the server of lakeFS said of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

from graveler_core.facade.graveler import Graveler
from graveler_core.facade.repository import Repository
from graveler_core.model.entry import AddressType, Entry
from graveler_core.transfer.lakefs.report import LakefsMigrated
from tests.foreign import fixtures
from tests.foreign.lakefs_history import REPOSITORY
from tests.unit.engine.world import World

SOURCE = fixtures.NAMESPACE.as_uri()


def migrate(graveler: Graveler, state: str, world: World, **options: Any) -> LakefsMigrated:
    """Migrate a state of the fixtures."""
    manifest = fixtures.manifest(state)
    return graveler.migrate_lakefs(REPOSITORY, SOURCE, world.namespace("own"), manifest=manifest, **options)


def differences(graveler: Graveler, state: str) -> list[str]:
    """What a verification finds."""
    return [str(each) for each in graveler.verify_lakefs(REPOSITORY, SOURCE, manifest=fixtures.manifest(state))]


def address(said: str) -> str:
    """The address in graveler of an object of the server, which puts its own directory before all paths."""
    path = said.removeprefix(f"local://{fixtures.PLACE}/blocks/")
    return f"{fixtures.PLACE.as_uri()}/blocks/{path}" if path.startswith(REPOSITORY) else f"file:///{quote(path)}"


def entry(said: Mapping[str, Any]) -> dict[str, Any]:
    """An entry as the server describes it."""
    return {
        "address": address(said["physical_address"]),
        "checksum": said["checksum"],
        "size": said["size_bytes"],
        "mtime": said["mtime"],
        "content_type": said["content_type"] or None,
        "metadata": said.get("metadata", {}),
    }


def entries(found: Iterable[Entry]) -> dict[str, dict[str, Any]]:
    """Entries of graveler in the same form, by path."""
    shown = {}
    for each in found:
        assert each.address_type is AddressType.FULL
        assert each.mtime is not None
        shown[each.path] = {
            "address": each.address,
            "checksum": each.checksum,
            "size": each.size,
            "mtime": int(each.mtime.timestamp()),
            "content_type": each.content_type,
            "metadata": dict(each.metadata),
        }
    return shown


def require_equal(repo: Repository, ids: Mapping[str, str], commits: Mapping[str, Any]) -> None:
    """Compare commits and their entries with what the server says."""
    for id, said in commits.items():
        found = repo.commit(ids[id])
        assert found.message == said["message"]
        assert found.committer == said["committer"]
        assert found.metadata == {**(said["metadata"] or {}), "graveler.migrated-from": id}
        assert found.creation_date.replace(microsecond=0) == datetime.fromtimestamp(said["creation_date"], UTC)
        assert found.generation == said["generation"]
        assert list(found.parents) == [ids[parent] for parent in said["parents"]]
        assert entries(repo.at(ids[id]).list()) == {each["path"]: entry(each) for each in said["entries"]}
