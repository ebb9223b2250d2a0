"""Limits of values that users give: a value at the limit is accepted, one above it is refused with its own kind.

The table of `docs/limits.md` has the same rows.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from graveler_core.codec.records import encode
from graveler_core.errors import Kind, LimitExceeded, PermissionDenied
from graveler_core.facade.graveler import Graveler
from graveler_core.facade.repository import Repository
from graveler_core.model.entry import Entry
from graveler_core.model.permission import FS_ARN
from tests.unit.engine.world import World, entry

PAGE = (Path(__file__).parents[3] / "docs" / "limits.md").read_text()


@dataclass(frozen=True)
class Limit:
    """A row of the page, and a call with a value of some size."""

    value: str
    maximum: int
    unit: str
    kind: Kind
    call: Callable[[Graveler, Repository, int], object]


def _statements(count: int, text: str = "*") -> list[object]:
    return [{"effect": "allow", "actions": ["fs:ReadObject"], "resources": [text]}] * count


def _resource(size: int) -> str:
    start = FS_ARN + "repository/repo/object/"
    return start + "x" * (size - len(start))


def _metadata(size: int) -> dict[str, str]:
    return {"k": "x" * (size - len('{"k": ""}'))}


def _erased_paths(size: int) -> list[str]:
    """Return paths whose JSON list has a size: "a", many of 920 bytes, and one that fills the rest."""
    full, rest = divmod(size - len('["a"]'), 920 + len(', ""'))
    return ["a", *(f"{number:03}{'x' * 917}" for number in range(full)), "z" * (rest - len(', ""'))]


def _head(repo: Repository) -> str:
    return repo.at("main").commit_id


def _record(size: int) -> dict[str, str]:
    return {"k": "x" * size}


def _fill(repo: Repository, size: int) -> None:
    """Require checks with which the record of the repository has a size."""
    empty = len(encode(repo._record)) + len(',"required_checks":[{"pattern":"main","checks":[]}]')
    full, rest = divmod(size - empty + len(","), 200 + len('"",'))
    rest += 200 + len('"",')
    lengths = rest // 2 - len('"",'), rest - rest // 2 - len('"",')
    names = [*(f"{number:03}{'x' * 197}" for number in range(full - 1)), "y" * lengths[0], "z" * lengths[1]]
    repo.require_checks("main", names)


def _tag_chain(repo: Repository, length: int) -> None:
    repo.create_tag("t1", "main")
    for number in range(2, length + 1):
        repo.create_tag(f"t{number}", f"t{number - 1}", target="tag")


NAMES = Kind.NameTooLong
TEXTS = Kind.TextTooLong
ITEMS = Kind.TooManyItems
LIMITS = [
    Limit(
        "name of a repository",
        63,
        "characters",
        NAMES,
        lambda g, r, n: g.create_repository("r" * n, f"memory://limits/{id(g)}-{n}", ephemeral=True),
    ),
    Limit("name of a branch or a tag", 255, "characters", NAMES, lambda g, r, n: r.create_branch("b" * n, "main")),
    Limit("name of a branch or a tag", 255, "characters", NAMES, lambda g, r, n: r.create_tag("t" * n, "main")),
    Limit("name of a user, a group or a policy", 127, "characters", NAMES, lambda g, r, n: g.iam.create_user("u" * n)),
    Limit("name of a user, a group or a policy", 127, "characters", NAMES, lambda g, r, n: g.iam.create_group("g" * n)),
    Limit(
        "name of a user, a group or a policy",
        127,
        "characters",
        NAMES,
        lambda g, r, n: g.iam.create_policy("p" * n, _statements(1)),
    ),
    Limit("name of a check", 255, "characters", NAMES, lambda g, r, n: r.require_checks("main", ["c" * n])),
    Limit("name of a check", 255, "characters", NAMES, lambda g, r, n: r.report_check("c" * n, True, commit=_head(r))),
    Limit(
        "name of a webhook",
        63,
        "characters",
        NAMES,
        lambda g, r, n: r.set_hook("h" * n, "http://example.org", ["pre-commit"]),
    ),
    Limit("pattern of branch names", 255, "characters", NAMES, lambda g, r, n: r.protect("p" * n)),
    Limit("pattern of branch names", 255, "characters", NAMES, lambda g, r, n: r.set_retention(1, {"p" * n: 1})),
    Limit("path", 1_000, "bytes", Kind.PathTooLong, lambda g, r, n: r.branch("main").put("p" * n, b"")),
    Limit("path", 1_000, "bytes", Kind.PathTooLong, lambda g, r, n: r.branch("main").remove_many(["a", "p" * n])),
    Limit("path", 1_000, "bytes", Kind.PathTooLong, lambda g, r, n: list(r.branch("main").list("p" * n))),
    Limit(
        "message of a commit",
        32_000,
        "bytes",
        TEXTS,
        lambda g, r, n: r.branch("main").commit("m" * (n - 2), allow_empty=True),
    ),
    Limit(
        "message, committer, idempotency key and metadata of a commit together",
        32_768,
        "bytes",
        Kind.MetadataTooLarge,
        lambda g, r, n: r.branch("main").commit("m", metadata={"k": "x" * (n - 12)}, allow_empty=True),
    ),
    Limit(
        "message, signature, tagger and metadata of a tag together",
        32_768,
        "bytes",
        TEXTS,
        lambda g, r, n: r.create_tag("t", "main", message="m" * (n - 9), signature="s" * 5),
    ),
    Limit(
        "message, signature, tagger and metadata of all tags of a chain together",
        32_768,
        "bytes",
        TEXTS,
        lambda g, r, n: (
            r.create_tag("t1", "main", message="m" * 9_998),
            r.create_tag("t2", "t1", target="tag", message="m" * (n - 10_006)),
        ),
    ),
    Limit("tags of a chain", 16, "tags", ITEMS, lambda g, r, n: _tag_chain(r, n)),
    Limit(
        "metadata of a repository",
        32_768,
        "bytes",
        Kind.MetadataTooLarge,
        lambda g, r, n: r.update_metadata(_metadata(n)),
    ),
    Limit(
        "description of a repository",
        4_096,
        "bytes",
        TEXTS,
        lambda g, r, n: r.update_settings(description="ä" * (n // 2) + "x" * (n % 2)),
    ),
    Limit(
        "URL or message of a report of a check",
        2_000,
        "characters",
        TEXTS,
        lambda g, r, n: r.report_check("c", True, commit=_head(r), message="ä" * n),
    ),
    Limit(
        "URL or message of a report of a check",
        2_000,
        "characters",
        TEXTS,
        lambda g, r, n: r.report_check("c", True, commit=_head(r), url="x" * n),
    ),
    Limit("reason of an erasure", 1_000, "characters", TEXTS, lambda g, r, n: r.erase(prefix="a", why="y" * n)),
    Limit(
        "address of a webhook",
        1_000,
        "characters",
        TEXTS,
        lambda g, r, n: r.set_hook("h", "http://example.org/" + "x" * (n - 19), ["pre-commit"]),
    ),
    Limit(
        "text in a policy, such as a resource",
        2_048,
        "characters",
        TEXTS,
        lambda g, r, n: g.iam.create_policy("p", _statements(1, _resource(n))),
    ),
    Limit(
        "statements of a policy, or actions, resources or values of a statement",
        100,
        "items",
        ITEMS,
        lambda g, r, n: g.iam.create_policy("p", _statements(n)),
    ),
    Limit(
        "statements of a policy, or actions, resources or values of a statement",
        100,
        "items",
        ITEMS,
        lambda g, r, n: g.iam.create_policy(
            "p", [{"effect": "allow", "actions": ["fs:ReadObject"] * n, "resources": ["*"]}]
        ),
    ),
    Limit(
        "rules of protection, of required checks or of retention of a repository",
        100,
        "rules",
        ITEMS,
        lambda g, r, n: r.set_retention(None, {f"b{number}": 1 for number in range(n)}),
    ),
    Limit(
        "rules of protection, of required checks or of retention of a repository",
        100,
        "rules",
        ITEMS,
        lambda g, r, n: [r.protect(f"b{number}") for number in range(n)],
    ),
    Limit(
        "rules of protection, of required checks or of retention of a repository",
        100,
        "rules",
        ITEMS,
        lambda g, r, n: [r.require_checks(f"b{number}", ["c"]) for number in range(n)],
    ),
    Limit(
        "names of required checks of a repository",
        500,
        "names",
        ITEMS,
        lambda g, r, n: r.require_checks("main", [f"c{number}" for number in range(n)]),
    ),
    Limit(
        "webhooks of a repository",
        50,
        "webhooks",
        ITEMS,
        lambda g, r, n: [r.set_hook(f"h{number}", "http://example.org", ["pre-commit"]) for number in range(n)],
    ),
    Limit(
        "record of a repository, which contains its rules, webhooks and description",
        90_112,
        "bytes",
        Kind.ValueTooLarge,
        lambda g, r, n: _fill(r, n),
    ),
    Limit(
        "paths of one erasure together",
        65_536,
        "bytes",
        ITEMS,
        lambda g, r, n: r.erase(_erased_paths(n), why="asked for"),
    ),
    Limit(
        "record of an entry (address, checksum, metadata, inline data)",
        73_728,
        "bytes",
        Kind.ValueTooLarge,
        lambda g, r, n: r.branch("main").stage("p", Entry(address="a", size=1, checksum="c", metadata=_record(n - 84))),
    ),
]
SPARK = "files of a directory that Spark reads as a table"
"""`tests/graveler/spark/source/test_content.py` tests this one."""


def _begun() -> tuple[World, Repository]:
    world = World()
    repo = world.repository()
    repo.branch("main").stage("a", entry(1))
    repo.branch("main").commit("Begin")
    return world, repo


def _id(limit: Limit) -> str:
    return f"{limit.value.replace(' ', '-')[:40]}-{LIMITS.index(limit)}"


@pytest.mark.parametrize("limit", LIMITS, ids=_id)
def test_the_limit_is_accepted_and_one_more_is_refused(limit: Limit) -> None:
    world, repo = _begun()
    head = repo.at("main").commit_id
    with pytest.raises(LimitExceeded) as refused:
        limit.call(world.graveler(), repo, limit.maximum + 1)
    assert refused.value.kind is limit.kind
    assert (refused.value.details["size"], refused.value.details["limit"]) == (limit.maximum + 1, limit.maximum)
    assert f"{limit.maximum:,}" in refused.value.message
    assert len(refused.value.message) < 300
    assert repo.at("main").commit_id == head
    world, repo = _begun()
    limit.call(world.graveler(), repo, limit.maximum)


def test_a_full_record_of_a_repository_leaves_room_for_a_deletion() -> None:
    """The entry of the deleted repository contains the record. Settings that make the record smaller are accepted."""
    world, repo = _begun()
    _fill(repo, 90_112)
    for number in range(3):
        with pytest.raises(LimitExceeded, match="description"):
            repo.update_settings(description=f"{number}")
        world.graveler().delete_repository("repo")
        world.graveler().undelete_repository("repo")
    repo.require_checks("main", ["one"])
    repo.update_settings(description="d")


def test_a_repository_with_a_full_record_can_be_made_read_only() -> None:
    world, repo = _begun()
    _fill(repo, 90_112)
    repo.set_read_only(True)
    with pytest.raises(PermissionDenied):
        repo.branch("main").put("a", b"1")
    repo.set_read_only(False)
    world.graveler().delete_repository("repo")


def test_the_page_has_the_same_limits() -> None:
    section = PAGE.partition("## Values that users give")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (.+?) \| ([\d,]+) (\w+) \| `(\w+)` \|$", section, re.MULTILINE)
    said = {(value, int(maximum.replace(",", "")), unit, kind) for value, maximum, unit, kind in rows}
    assert len(rows) == len(said)
    tested = {(limit.value, limit.maximum, limit.unit, str(limit.kind)) for limit in LIMITS}
    assert said - {(SPARK, 65_536, "files", "TooManyItems")} == tested
    kinds = re.findall(r"^\| `(\w+)` \| .* \| `\w+` \|$", PAGE, re.MULTILINE)
    assert {kind for *_, kind in rows} == {*kinds}
