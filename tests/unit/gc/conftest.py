"""Repositories to damage: made once, and a copy of them for each test."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace

import pytest

from tests.unit.engine.templates import Template
from tests.unit.engine.world import FakeClock
from tests.unit.gc.checked_lake import CheckedLake
from tests.unit.gc.places import Place, create, fill


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Place:
    place = create(tmp_path_factory.mktemp("template") / "data")
    fill(place)
    return place


@pytest.fixture
def place(template: Place) -> Iterator[Place]:
    """The same again for each test: namespaces are absolute, so files are damaged in place and put back."""
    saved = template.root.with_name("saved")
    shutil.copytree(template.root, saved)
    clock = FakeClock()
    clock.time = template.world.clock.time
    yield replace(template, world=replace(template.world.fork(), clock=clock))
    shutil.rmtree(template.root)
    saved.rename(template.root)


@pytest.fixture(scope="session")
def checked_lakes(tmp_path_factory: pytest.TempPathFactory) -> Template[CheckedLake]:
    return Template(CheckedLake(tmp_path_factory.mktemp("checked") / "lake"), shared=False)


@pytest.fixture
def lake(checked_lakes: Template[CheckedLake]) -> CheckedLake:
    """The same again for each test of checks of data."""
    lake = checked_lakes.copy()
    lake.entries = {**lake.entries}
    return lake
