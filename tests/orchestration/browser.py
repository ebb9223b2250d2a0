"""A headless Chromium that clicks in the Dagster UI, as a person does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from selenium import webdriver
from selenium.common.exceptions import TimeoutException, WebDriverException
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

from tests.servers.chromium import chromium

PATIENCE_SECONDS = 120
TRIES = 3
"""Number of times that partitions are chosen before a test fails. On a busy machine, the UI sometimes draws its dialog
anew, and closes the list of partitions.
"""
DIALOG = "//*[@role='dialog']"
POPOVER = "//*[@data-radix-popper-content-wrapper]"


class Browser:
    """Pages of one web server."""

    def __init__(self, driver: webdriver.Chrome, url: str) -> None:
        self._driver = driver
        self._url = url

    def materialize(self, page: str, partitions: Sequence[str]) -> None:
        """Press the button of a page, choose partitions, and launch.

        Args:
            page: Path of the page of an asset or of a group.
            partitions: Partition keys.
        """
        for left in reversed(range(TRIES)):
            try:
                self._choose(page, partitions)
                break
            except TimeoutException:
                if not left:
                    raise
        self._click(f"{DIALOG}//button[starts-with(normalize-space(.), 'Launch')]")

    def _choose(self, page: str, partitions: Sequence[str]) -> None:
        """Open the dialog of a page, and choose partitions in it."""
        self._driver.get(f"{self._url}/{page}")
        self._driver.execute_script("localStorage.clear(); sessionStorage.clear()")  # the UI remembers partitions
        self._driver.get(f"{self._url}/{page}")
        self._click("//button[starts-with(normalize-space(.), 'Materialize')]")
        partition = f"{DIALOG}//*[starts-with(normalize-space(text()), 'Select a partition')]"
        if self._click(f"{DIALOG}//button[normalize-space(.)='Confirm'] | {partition}") == "Confirm":
            self._click(partition)  # the UI has asked, because tables of the group are not materialized yet
        for key in partitions:
            self._click(f"{POPOVER}//*[normalize-space(text())='{key}']")
        self._driver.switch_to.active_element.send_keys(Keys.ESCAPE)

    def execute_from_failure(self, run_id: str) -> None:
        """Execute a failed run again from the menu of its page."""
        self._driver.get(f"{self._url}/runs/{run_id}")
        button = "//button[contains(normalize-space(.), 'Re-execute')]"
        self._click(f"{button}/following::button[1]")
        self._click("//*[@role='menuitem'][contains(normalize-space(.), 'From failure')]")

    def _click(self, xpath: str) -> str:
        """Click the first element that can be clicked, as soon as there is one. Return its text."""

        def clicked(driver: webdriver.Chrome) -> str:
            for element in driver.find_elements(By.XPATH, xpath):
                try:
                    if element.is_displayed() and element.is_enabled():
                        text = element.text.strip() or xpath
                        element.click()
                        return text
                except WebDriverException:  # the page has drawn it anew, or something covers it
                    continue
            return ""

        return WebDriverWait(self._driver, PATIENCE_SECONDS).until(clicked, xpath)


@contextmanager
def browser(url: str) -> Iterator[Browser]:
    """Open a browser.

    Args:
        url: Address of the web server.
    """
    with chromium() as driver:
        yield Browser(driver, url)
