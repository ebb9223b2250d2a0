"""A browser without scripts: it keeps cookies, follows links, and refuses pages that could run a script."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from html.parser import HTMLParser
from typing import Final

import httpx

from graveler_core.model.iam import NewCredential
from tests.graveler.server.conftest import Place

TAGS: Final = re.compile(
    "html|head|meta|title|link|body|header|nav|main|a|form|input|button|select|option|label|span|p|h[123]|dl|dt|dd|"
    "table|thead|tbody|tr|th|td|ul|li|div|pre|bdi|img"
)
ATTRIBUTES: Final = re.compile(
    "lang|charset|name|content|rel|href|class|method|action|type|value|required|autofocus|autocomplete|title|src|alt|"
    "download|colspan|placeholder|role"
)
POLICY: Final = (
    "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)


class Seen(HTMLParser):
    """What a page consists of."""

    def __init__(self, page: httpx.Response) -> None:
        super().__init__()
        self.links: list[str] = []
        self.images: list[str] = []
        self.fields: dict[str, str] = {}
        self.text = ""
        self.status = page.status_code
        self._ignored = False
        self.feed(page.text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert TAGS.fullmatch(tag), tag
        given = dict(attrs)
        assert all(ATTRIBUTES.fullmatch(name) for name in given), given
        for name in ("href", "src", "action"):
            assert given.get(name) is None or str(given[name]).startswith("/ui"), given
        if tag == "a":
            self.links.append(str(given["href"]))
        if tag == "img":
            self.images.append(str(given["src"]))
        if tag == "input":
            self.fields[str(given["name"])] = str(given.get("value") or "")

    def handle_data(self, data: str) -> None:
        self.text += data


class Visitor:
    """A person in front of the pages."""

    def __init__(self, client: httpx.Client) -> None:
        self.client = client

    def log_in(self, made: NewCredential, wanted: str = "") -> httpx.Response:
        secret = made.secret.get_secret_value()
        form = {"access_key_id": str(made.access_key_id), "secret_access_key": secret, "next": wanted}
        return self.client.post("/ui/login", data=form)

    def see(self, address: str, status: int = 200) -> Seen:
        """Open a page, and check its status and its headers."""
        found = self.client.get(address)
        assert found.status_code == status, (address, found.status_code, found.text)
        return self.checked(found)

    def checked(self, found: httpx.Response) -> Seen:
        assert found.headers.get_list("content-security-policy") == [POLICY]
        assert found.headers.get_list("referrer-policy") == ["same-origin"]
        assert (found.headers["x-frame-options"], found.headers["x-content-type-options"]) == ("DENY", "nosniff")
        return Seen(found)

    def send(self, address: str, form: dict[str, str], **headers: str) -> httpx.Response:
        return self.client.post(address, data=form, headers={name.replace("_", "-"): v for name, v in headers.items()})


@contextmanager
def visitor(place: Place, made: NewCredential | None = None) -> Iterator[Visitor]:
    """Open a browser, and log in."""
    with httpx.Client(base_url=place.server.url, timeout=60) as client:
        person = Visitor(client)
        assert person.log_in(made or place.server.admin).status_code == 303
        yield person
