"""A headless Chromium. Without Chromium on the machine, that of Debian is unpacked."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from selenium import webdriver
from selenium.webdriver.chrome.service import Service

from tests.servers.packages import programs

OPTIONS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage")


@contextmanager
def chromium(width: int = 1_700, height: int = 1_200) -> Iterator[webdriver.Chrome]:
    """Open a browser.

    Args:
        width: Width of its window in pixels.
        height: Height of its window in pixels.
    """
    found = programs("chromedriver", "chromium", "chromium-driver")
    options = webdriver.ChromeOptions()
    if found.root is None:
        options.binary_location = found.path("chromium")
    else:
        options.binary_location = str(found.root / "usr/lib/chromium/chromium")
    for option in (*OPTIONS, f"--window-size={width},{height}"):
        options.add_argument(option)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    service = Service(found.path("chromedriver"), env={**os.environ, **found.environment})
    driver = webdriver.Chrome(options=options, service=service)
    try:
        yield driver
    finally:
        driver.quit()
