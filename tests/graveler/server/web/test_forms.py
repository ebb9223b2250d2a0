"""Login, merges, and forms that another site sends."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import uuid4

import httpx
import pytest

from graveler.server.sessions import COOKIE
from graveler.server.web.links import ROOT, link, local
from graveler_core.facade.repository import Repository
from tests.graveler.server.conftest import Place
from tests.graveler.server.web.visitor import Visitor, visitor


@pytest.fixture(scope="module")
def person(place: Place) -> Iterator[Visitor]:
    with visitor(place) as found:
        yield found


@pytest.fixture
def repo(place: Place) -> Repository:
    """A repository whose branch `dev` has a commit more than `main`."""
    made = place.server.graveler.repository(place.repository())
    made.create_branch("dev", "main")
    made.branch("dev").put("a", b"a")
    made.branch("dev").commit("Add a")
    return made


def form_of(person: Visitor, repo: Repository, source: str = "dev") -> dict[str, str]:
    fields = person.see(f"/ui/repositories/{repo.id}/compare?source={source}").fields
    return {name: fields[name] for name in ("token", "source", "into")}


def test_who_is_not_logged_in_logs_in_first(place: Place) -> None:
    with httpx.Client(base_url=place.server.url, timeout=60) as client:
        person = Visitor(client)
        wanted = "/ui/repositories/x/object?path=a%26b"
        asked = client.get(wanted)
        assert asked.status_code == 303
        page = person.see(asked.headers["location"])
        assert page.fields["next"] == wanted
        for form, status in (({"next": ""}, 400), ({"access_key_id": "x", "secret_access_key": "y"}, 403)):
            refused = person.send("/ui/login", form)
            assert (refused.status_code, COOKIE in refused.cookies) == (status, False)
        assert person.log_in(place.server.admin, wanted).headers["location"] == wanted
        assert client.get("/api/v1/user").json()["user"]["id"] == "ada"
        token = person.see("/ui").fields["token"]
        assert person.send("/ui/logout", {"token": token}, origin="http://other").status_code == 403
        assert person.send("/ui/logout", {"token": "x"}).status_code == 403
        assert person.send("/ui/logout", {"token": token}).headers["location"] == "/ui/login"
        assert client.get("/ui").status_code == 303


@pytest.mark.parametrize(
    "wanted",
    ["", "//evil", "https://evil", "/ui\\@evil", "/ui/../api", "/uix", "javascript:1", "/ui\r\nx: y", "/ui/\u2028"],
)
def test_a_login_leads_to_no_other_site(place: Place, wanted: str) -> None:
    with httpx.Client(base_url=place.server.url, timeout=60) as client:
        location = Visitor(client).log_in(place.server.admin, wanted).headers["location"]
    assert location in (ROOT, wanted)
    assert local(wanted) == location
    assert location.startswith("/ui")


def test_another_site_cannot_log_somebody_in(place: Place) -> None:
    admin = place.server.admin
    form = {"access_key_id": str(admin.access_key_id), "secret_access_key": admin.secret.get_secret_value()}
    with httpx.Client(base_url=place.server.url, timeout=60) as client:
        for headers in ({"origin": "http://evil"}, {"origin": "null"}, {"sec_fetch_site": "cross-site"}):
            assert Visitor(client).send("/ui/login", form, **headers).status_code == 403
        assert not client.cookies


def test_a_merge(person: Visitor, repo: Repository) -> None:
    form = form_of(person, repo)
    here = str(person.client.base_url).rstrip("/")
    done = person.send(
        f"/ui/repositories/{repo.id}/merge", {**form, "message": "Take a"}, origin=here, sec_fetch_site="same-origin"
    )
    assert done.status_code == 303
    assert "Take a" in person.see(done.headers["location"]).text
    assert repo.branch("main").read("a") == b"a"
    again = person.send(f"/ui/repositories/{repo.id}/merge", form)
    assert again.status_code == 400
    person.checked(again)


def test_conflicts_are_shown_and_solved_by_a_strategy(person: Visitor, repo: Repository) -> None:
    repo.branch("main").put("a", b"other")
    repo.branch("main").commit("Add another a")
    page = person.see(f"/ui/repositories/{repo.id}/compare?source=dev")
    assert "a: added in both" in page.text
    form = form_of(person, repo)
    refused = person.send(f"/ui/repositories/{repo.id}/merge", form)
    assert refused.status_code == 409
    assert "Nothing was merged" in person.checked(refused).text
    assert person.send(f"/ui/repositories/{repo.id}/merge", {**form, "strategy": "both"}).status_code == 400
    assert repo.branch("main").read("a") == b"other"
    assert person.send(f"/ui/repositories/{repo.id}/merge", {**form, "strategy": "source"}).status_code == 303
    assert repo.branch("main").read("a") == b"a"


def test_forms_of_other_sites_and_sessions_change_nothing(place: Place, person: Visitor, repo: Repository) -> None:
    form, head = form_of(person, repo), repo.commit("main").id
    target = f"/ui/repositories/{repo.id}/merge"
    with visitor(place) as other:
        assert other.send(target, {**form_of(other, repo), "token": ""}).status_code == 403
    wrong: list[tuple[dict[str, str], dict[str, str]]] = [
        ({**form, "token": ""}, {}),
        ({**form, "token": "0" * 64}, {}),
        ({**form, "token": "ä"}, {}),
        ({name: form[name] for name in ("source", "into")}, {}),
        (form, {"origin": "http://evil.example"}),
        (form, {"origin": "null"}),
        (form, {"origin": "http://["}),
        (form, {"sec_fetch_site": "cross-site"}),
        (form, {"sec_fetch_site": "same-site"}),
    ]
    for sent, headers in wrong:
        assert person.send(target, sent, **headers).status_code == 403, (sent, headers)
    with httpx.Client(base_url=place.server.url, timeout=60) as nobody:
        assert nobody.post(target, data=form).status_code == 403
    as_json = person.client.post(target, json=form)
    assert as_json.status_code == 400
    assert person.send(target, {**form, "message": "x" * 70_000}).status_code == 400
    assert person.send(target, {str(n): "" for n in range(30)}).status_code == 400
    assert person.client.get(target).status_code in (404, 405)
    assert repo.commit("main").id == head


def test_pages_show_what_the_user_may_see(place: Place, repo: Repository) -> None:
    iam, name = place.server.graveler.iam, f"user-{uuid4().hex[:8]}"
    iam.create_user(name)
    made = iam.create_credential(name)
    with visitor(place, made) as nobody:
        for page in ("", "/object?path=a", "/content?path=a", "/branches", "/tags", "/commits", "/commit?ref=dev"):
            assert nobody.client.get(f"/ui/repositories/{repo.id}{page}").status_code == 403, page
        for page in ("/compare?source=dev", "/storage"):
            assert nobody.client.get(f"/ui/repositories/{repo.id}{page}").status_code == 403, page
    iam.add_member("Viewers", name)
    reader = iam.create_credential(name)
    with visitor(place, reader) as person:
        head, form = repo.commit("main").id, form_of(person, repo)
        refused = person.send(f"/ui/repositories/{repo.id}/merge", form)
        assert refused.status_code == 403
        assert "You may not do this" in person.checked(refused).text
        assert repo.commit("main").id == head


def test_links_hold_every_name() -> None:
    assert link("repositories", "a/b", ref="x&y", path="ä +%") == "/ui/repositories/a%2Fb?ref=x%26y&path=%C3%A4+%2B%25"
    assert link() == ROOT
