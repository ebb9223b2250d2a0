"""Clusters by name: which entry points there are, and what is told where one cannot be used."""

from __future__ import annotations

from importlib.metadata import EntryPoint, EntryPoints

import pytest

from graveler_core import clusters
from graveler_core.clusters import ClusterRequest, open_cluster
from graveler_core.errors import InvalidInput, Unavailable

REQUEST = ClusterRequest("commit", print)


class Plugged:
    """A cluster command of a plug-in."""

    def __init__(self, request: ClusterRequest) -> None:
        self.request = request


@pytest.fixture
def plugged(monkeypatch: pytest.MonkeyPatch) -> None:
    """Registers a plug-in, and an entry point whose module is missing."""
    found = EntryPoints(
        EntryPoint(name, value, clusters.GROUP)
        for name, value in (("other", f"{__name__}:Plugged"), ("spark", "absent_module:Absent"))
    )
    monkeypatch.setattr(clusters, "entry_points", found.select)


def test_an_unknown_name_is_refused_with_those_that_are_known(plugged: None) -> None:
    with pytest.raises(InvalidInput, match="no cluster has the name 'flink'; known are: other, spark"):
        open_cluster("flink", REQUEST)


def test_a_missing_extra_is_named(plugged: None) -> None:
    with pytest.raises(Unavailable, match=r"absent_module is not installed: pip install 'graveler\[spark\]'"):
        open_cluster("spark", REQUEST)


def test_a_plug_in_gets_the_request(plugged: None) -> None:
    command = open_cluster("other", REQUEST)
    assert getattr(command, "request", None) is REQUEST
