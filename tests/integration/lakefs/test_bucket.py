"""A migration from a storage namespace in a bucket: everything is read over S3, and the objects stay there."""

from __future__ import annotations

from pathlib import Path

import graveler_core
from tests.foreign import fixtures
from tests.foreign.lakefs_history import REPOSITORY
from tests.s3_server import S3Server


def _filled(server: S3Server) -> None:
    """Put the storage namespace into a bucket, as lakeFS would have written it there."""
    server.make_bucket("lake")
    for path in fixtures.NAMESPACE.rglob("*"):
        if path.is_file():
            server.put("lake", f"flights/{path.relative_to(fixtures.NAMESPACE).as_posix()}", path.read_bytes())
    for state in ("first", "second"):
        server.put("lake", f"refs-{state}.json", Path(fixtures.PLACE, f"refs-{state}.json").read_bytes())


def test_a_repository_in_a_bucket_comes_over_and_follows(s3: S3Server) -> None:
    _filled(s3)
    with graveler_core.connect("memory://", storage_options=s3.options) as g:
        for state, commits in (("first", 6), ("second", 1)):
            source, manifest = "s3://lake/flights", f"s3://lake/refs-{state}.json"
            done = g.migrate_lakefs(REPOSITORY, source, "s3://lake/own", manifest=manifest)
            assert done.commits == commits
            assert list(g.verify_lakefs(REPOSITORY, source, manifest=manifest)) == []
        repo, main = g.repository(REPOSITORY), g.repository(REPOSITORY).branch("main")
        entry = main.get("raw/2024-05-01.csv")
        assert entry.address.startswith("s3://lake/flights/data/")
        assert main.read("raw/2024-05-01.csv") == b"carrier,flights\nAA,1000\n"
        assert repo.at("v1").read("raw/2024-05-01.csv") == b"carrier,flights\nAA,1\n"
        main.put("own.csv", b"own")
        main.commit("Work on the copy")
        assert main.uri("own.csv").startswith("s3://lake/own/")
        lost = [found.id for found in repo.fsck(data=True) if found.damage]
        assert all(id.startswith("file:///outside/") for id in lost), "only objects that were never in the bucket"
