"""Repositories to look at."""

from __future__ import annotations

import base64
import io

import pyarrow as pa
from pyarrow import parquet

from graveler_core.facade.repository import Repository
from tests.graveler.server.conftest import Place

HOSTILE = "<script>alert('1')</script>\"onerror=alert(2) &amp; {{7*7777777}} \u202egnp.exe"
"""Text that a page must show as it is."""
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAIAAABLbSncAAAAEklEQVR4nGNgoAQwIhRAAAAMQAABQ9Q2OAAAAABJRU5ErkJggg=="
)


def table(**columns: list[object]) -> bytes:
    file = io.BytesIO()
    parquet.write_table(pa.table(columns), file)
    return file.getvalue()


def hostile_repository(place: Place) -> Repository:
    """Make a repository whose names and contents attack the one who looks at them."""
    repo = place.server.graveler.repository(place.repository())
    main = repo.branch("main")
    directory = HOSTILE.replace("/", "-")
    main.put(f"{directory}/{directory}", HOSTILE.encode(), content_type="text/html", metadata={HOSTILE: HOSTILE})
    main.put("t.parquet", table(**{HOSTILE: [HOSTILE, "javascript:alert(3)"]}))
    main.put("page.html", b"<html><script>alert(4)</script></html>", content_type="text/html")
    main.put("image.svg", b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(5)'/>", content_type="image/svg+xml")
    main.put("dot.png", PNG, content_type="text/html")
    main.put("name\u2028with\u202eodd characters", b"\0\1\2")
    main.commit(HOSTILE, metadata={HOSTILE: HOSTILE}, committer=HOSTILE)
    repo.create_tag("v1", "main", message=HOSTILE, tagger=HOSTILE, metadata={HOSTILE: HOSTILE})
    repo.create_branch("dev", "main")
    dev = repo.branch("dev")
    dev.put(f"new/{directory}", b"new")
    dev.put("t.parquet", b"PAR1 broken PAR1")
    dev.commit("Change\n" + HOSTILE)
    main.put("t.parquet", table(id=[1]))
    main.commit("Change it here too")
    dev.put("staged", b"staged")
    return repo
