"""The pages in Chromium: what a person does, without a script, and what attacks the person does not run.

Screenshots are saved below the directory that the variable `SCREENSHOTS` names, or in the directory of the test.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import Select

from graveler_core.facade.repository import Repository
from tests.graveler.server.conftest import Place
from tests.graveler.server.web.scenes import HOSTILE, PNG, hostile_repository, table
from tests.servers.chromium import chromium

pytestmark = [pytest.mark.slow, pytest.mark.parametrize("place", ["sqlite"], indirect=True)]


class Person:
    """A person in front of Chromium, who is logged in as the administrator."""

    def __init__(self, driver: webdriver.Chrome, place: Place, shots: Path) -> None:
        self.driver = driver
        self._url = place.server.url
        self._shots = shots
        admin = place.server.admin
        self.open("/ui")
        driver.find_element(By.NAME, "access_key_id").send_keys(str(admin.access_key_id))
        driver.find_element(By.NAME, "secret_access_key").send_keys(admin.secret.get_secret_value())
        self.press("Log in")

    def open(self, address: str) -> None:
        self.driver.get(self._url + address)

    def press(self, name: str) -> None:
        self.driver.find_element(By.XPATH, f"//button[normalize-space(.)='{name}']").click()

    def follow(self, name: str) -> None:
        self.driver.find_element(By.LINK_TEXT, name).click()

    @property
    def place(self) -> str:
        """Path of the page."""
        return urlsplit(self.driver.current_url).path

    @property
    def text(self) -> str:
        return self.driver.find_element(By.TAG_NAME, "body").text

    def shoot(self, name: str) -> None:
        assert self.driver.save_screenshot(str(self._shots / f"{name}.png"))


@pytest.fixture
def person(place: Place, tmp_path: Path) -> Iterator[Person]:
    shots = Path(os.environ.get("SCREENSHOTS", tmp_path))
    with chromium(1_100, 760) as driver:
        yield Person(driver, place, shots)
        assert driver.get_log("browser") == []  # no refused script or style, no failed request


@pytest.fixture
def shop(place: Place) -> Repository:
    """A repository of a shop, with a branch to merge."""
    repo = place.server.graveler.create_repository("shop", f"{place.server.root}/shop")
    main = repo.branch("main")
    for day in range(1, 4):
        rows = table(order=[day * 10 + n for n in range(5)], city=["Ulm", "Bern", "Graz", "Lyon", "Turin"])
        main.put(f"orders/day={day}/part-0.parquet", rows, content_type="application/vnd.apache.parquet")
    main.put("README.md", b"# Shop\n\nOrders by day.\n", content_type="text/markdown")
    main.put("logo.png", PNG, content_type="image/png")
    main.commit("Load three days of orders", metadata={"source": "till"})
    repo.create_tag("v1", "main")
    dev = repo.create_branch("dev", "main")
    dev.put("orders/day=4/part-0.parquet", table(order=[41], city=["Ulm"]))
    dev.remove("orders/day=1/part-0.parquet")
    dev.put("README.md", b"# Shop\n\nOrders by day, without the first.\n")
    dev.commit("Add the fourth day, drop the first")
    main.put("orders/day=5/part-0.parquet", table(order=[51], city=["Bern"]))
    return repo


def test_a_person_looks_around_and_merges(person: Person, shop: Repository) -> None:
    person.open("/ui")
    person.follow("shop")
    assert "orders/" in person.text
    person.shoot("server-files")
    person.follow("orders/")
    person.follow("day=1/")
    person.follow("part-0.parquet")
    assert "First rows" in person.text
    assert "Turin" in person.text
    person.shoot("server-preview")
    person.follow("Commits")
    person.follow(shop.commit("main").id[:12])
    assert "Load three days of orders" in person.text
    person.follow("Storage")
    assert shop.storage_namespace in person.text
    assert [row.text for row in person.driver.find_elements(By.CSS_SELECTOR, "tbody td:first-child")] == ["dev", "main"]
    shop.branch("main").commit("Load the fifth day")
    person.follow("Branches")
    person.driver.find_element(By.XPATH, "//tr[td/a/bdi='dev']//a[text()='Compare']").click()
    assert "1 added, 1 changed, 1 removed." in person.text
    person.shoot("server-compare")
    Select(person.driver.find_element(By.NAME, "strategy")).select_by_visible_text("dev wins")
    person.press("Merge")
    assert person.place == "/ui/repositories/shop/commit"
    assert "Merge 'dev' into 'main'" in person.text
    assert shop.branch("main").read("README.md").endswith(b"without the first.\n")
    person.press("Log out")
    person.open("/ui/repositories/shop")
    assert person.place == "/ui/login"


def test_attacks_are_shown_and_not_run(place: Place, person: Person) -> None:
    repo = hostile_repository(place)
    directory = HOSTILE.replace("/", "-")
    for page in ("", "/commits", "/compare?source=dev", "/object?path=page.html", "/object?path=image.svg", "/tags"):
        person.open(f"/ui/repositories/{repo.id}{page}")
        assert person.driver.execute_script("return document.scripts.length") == 0
    person.open(f"/ui/repositories/{repo.id}")
    person.driver.find_element(By.XPATH, "//main//tbody//a[contains(., 'onerror')]").click()
    person.driver.find_element(By.XPATH, "//main//tbody//a[contains(., 'onerror')]").click()
    assert person.driver.find_element(By.TAG_NAME, "h1").get_attribute("textContent") == directory
    assert person.driver.find_element(By.TAG_NAME, "pre").get_attribute("textContent") == HOSTILE
    person.open(f"/ui/repositories/{repo.id}/object?path=dot.png")
    assert person.driver.execute_script("return document.images[0].naturalWidth") == 8
