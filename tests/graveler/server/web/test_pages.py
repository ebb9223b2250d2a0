"""Every page, with names and contents that attack the one who looks at them."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pyarrow as pa
import pytest

from graveler.server.web.application import PAGES
from graveler_core.model.entities import Commit, Tag
from tests.graveler.server.conftest import Place
from tests.graveler.server.web.scenes import HOSTILE, PNG, hostile_repository, table
from tests.graveler.server.web.visitor import Visitor, visitor


@pytest.fixture(scope="module")
def person(place: Place) -> Iterator[Visitor]:
    with visitor(place) as found:
        yield found


def test_every_page_escapes_everything_and_needs_no_script(place: Place, person: Visitor) -> None:
    repo = hostile_repository(place)
    compared = f"/ui/repositories/{repo.id}/compare?source=dev&into=main"
    waiting, seen, text = ["/ui", f"/ui/repositories/{repo.id}", compared], set[str](), ""
    while waiting:
        address = waiting.pop()
        if address in seen or (repo.id not in address and address != "/ui"):
            continue
        seen.add(address)
        if "/content?" in address:
            assert person.client.get(address).status_code == 200
            continue
        page = person.see(address)
        text += page.text
        waiting += [*page.links, *page.images]
    assert len(seen) > 40
    visited = {re.sub(r"repositories/[^/?]+", "repositories/{repository}", each.partition("?")[0]) for each in seen}
    assert visited == {page.path for page in PAGES if page.method == "GET"}
    directory = HOSTILE.replace("/", "-")
    assert text.count(HOSTILE) > 10
    assert text.count(directory) > 10
    assert "7*7777777" in text
    assert str(7 * 7_777_777) not in text  # no template inside of the data was run


def test_tags_show_who_made_them(place: Place, person: Visitor) -> None:
    repo = hostile_repository(place)
    repo.create_tag("audited", "main", message="Second quarter", tagger="ada", metadata={"ticket": "DQ-7"})
    text = person.see(f"/ui/repositories/{repo.id}/tags?prefix=audited").text
    assert all(shown in text for shown in ("audited", "ada", "Second quarter", "ticket", "DQ-7"))
    repo.create_tag("of-tag", "audited", target="tag")
    repo.create_tag("of-tree", "main", target="tree")
    text = person.see(f"/ui/repositories/{repo.id}/tags?prefix=of-t").text
    assert "tag audited\nDetailsCommitsCompare" in text
    assert "tree\nDetailsCompare" in text, "a tree has no log"
    assert "dot.png" in person.see(f"/ui/repositories/{repo.id}?ref=of-tree").text


def test_a_tag_is_verified_on_its_page(place: Place, person: Visitor) -> None:
    """With the function that the server was given, each time that the page is shown."""
    repo = hostile_repository(place)
    repo.create_tag("audited", "main", message="Second quarter", tagger="ada", signature="by ada")
    repo.create_tag("approved", "audited", target="tag", message="For the board", signature="by eve")
    repo.create_tag("content", "approved", target="tree")
    hooks = place.server.graveler._stores.hooks

    def signed(tag: Tag, commit: Commit) -> None:
        if not tag.signature.startswith("by "):
            raise ValueError(f"tag {tag.id} is not signed")

    page = f"/ui/repositories/{repo.id}/tag?name="
    assert "not verified: tag 'audited': there is no hook to verify it" in person.see(f"{page}audited").text
    object.__setattr__(hooks, "verify_tag", signed)
    try:
        found = [person.see(f"{page}{name}").text for name in ("approved", "content", "v1")]
    finally:
        object.__setattr__(hooks, "verify_tag", None)
    assert all(shown in found[0] for shown in ("valid", "For the board", "by eve", "Names the tag audited", "by ada"))
    assert "not verified: tag content is not signed" in found[1]
    assert repo.tag("content").tree in found[1]
    assert "not verified: tag v1 is not signed" in found[2]


def test_contents_are_shown_only_if_they_are_images(place: Place, person: Visitor) -> None:
    repo = hostile_repository(place)
    for path, kind, shown in (
        ("dot.png", "image/png", "inline"),
        ("page.html", "application/octet-stream", "attachment"),
        ("image.svg", "application/octet-stream", "attachment"),
        ("t.parquet", "application/octet-stream", "attachment"),
    ):
        found = person.client.get(f"/ui/repositories/{repo.id}/content", params={"path": path})
        assert (found.headers["content-type"], found.headers["content-disposition"]) == (kind, shown), path
        assert found.headers.get_list("content-security-policy") == ["default-src 'none'; sandbox"]
        assert found.headers["x-content-type-options"] == "nosniff"
        assert found.content == repo.branch("main").read(path)


def test_previews(place: Place, person: Visitor) -> None:
    repo = place.server.graveler.repository(place.repository())
    main = repo.branch("main")
    for path, data, expected in (
        ("a.csv", b"id,name\n1,x\n", ["id,name\n1,x"]),
        ("empty", b"", ["0 bytes"]),
        ("long.txt", ("ä" * 50_000 + "end").encode(), ["the first 64 KiB", "ää"]),
        ("binary", bytes(range(256)), ["there is no preview"]),
        ("a.parquet", table(id=[1, 2], name=["x", None]), ["int64", "rows: 2, row groups: 1", "First rows", "x"]),
        ("none.parquet", table(), ["rows: 0"]),
        ("times.parquet", table(id=[1], at=pa.array([1]).view(pa.timestamp("us", "Nowhere"))), ["rows: 1", "…"]),
        ("dates.parquet", table(id=[1], at=pa.array([2**31 - 1], pa.int32()).view(pa.date32())), ["rows: 1", "…"]),
        ("short.parquet", b"PAR1" + b"abc", ["PAR1abc"]),
        ("broken.parquet", b"PAR1" + b"\xff" * 100, ["the footer has more than 4 MiB"]),
        ("broken2.parquet", b"PAR1" + bytes(100) + b"PAR1", ["is not a Parquet file that can be read"]),
        ("dot.png", PNG, ["Preview"]),
    ):
        main.put(path, data)
        page = person.see(f"/ui/repositories/{repo.id}/object?path={path}")
        assert all(each in page.text for each in expected), (path, page.text)
        assert bool(page.images) == (path == "dot.png")
    assert "end" not in person.see(f"/ui/repositories/{repo.id}/object?path=long.txt").text.partition("Preview")[2]


def test_lists_have_pages_that_hold_everything_once(place: Place, person: Visitor) -> None:
    repo = place.server.graveler.repository(place.repository())
    main = repo.branch("main")
    for number in range(60):
        main.put(f"d{number:02}/x", b"x")
        main.put(f"d{number:02}.txt", b"x")
    found: list[str] = []
    address = f"/ui/repositories/{repo.id}"
    while address:
        links = person.see(address).links
        found += [link for link in links if "prefix=" in link or "/object?" in link]
        address = next((link for link in links if "after=" in link), "")
        found = [link for link in found if "after=" not in link]
    assert len(found) == len(set(found)) == 120


def test_what_is_not_there(place: Place, person: Visitor) -> None:
    repo = place.repository()
    for address in (
        "/ui/nothing",
        "/ui/repositories/nothing-here",
        f"/ui/repositories/{repo}?ref=nothing",
        f"/ui/repositories/{repo}/object?path=nothing",
        f"/ui/repositories/{repo}/commit?ref=nothing",
        f"/ui/repositories/{repo}/compare?source=nothing",
    ):
        person.see(address, 404)
    for address in (
        f"/ui/repositories/{repo}/object",
        f"/ui/repositories/{repo}/commits?ref=main&after=nonsense",
        f"/ui/repositories/{repo}?ref=%ff",
    ):
        person.see(address, 400)


def test_the_root_leads_to_the_pages(person: Visitor) -> None:
    found = person.client.get("/")
    assert (found.status_code, found.headers["location"]) == (307, "/ui")
    style = person.client.get("/ui/style.css")
    assert style.headers["content-type"].startswith("text/css")
    assert "url(" not in style.text
    assert "@import" not in style.text
