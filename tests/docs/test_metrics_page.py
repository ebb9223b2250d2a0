"""The page on metrics and the dashboard name what is exported, and nothing else."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pyarrow as pa
import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.metrics_core import Metric
from prometheus_client.parser import text_string_to_metric_families

import graveler_core as graveler
from graveler_core.errors import NotUnique
from graveler_core.metrics import MetricsServer
from graveler_core.metrics.collector import MOST_BRANCHES
from graveler_core.metrics.server import PORT
from graveler_core.model.compaction import CompactionOutcome

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "guides" / "metrics.md").read_text()
DASHBOARD: dict[str, Any] = json.loads((DOCS / "grafana" / "compaction.json").read_text())
PANELS: list[dict[str, Any]] = DASHBOARD["panels"]
EXPRESSIONS = [target["expr"] for panel in PANELS for target in panel["targets"]]
VARIABLES = [v["query"]["query"] for v in DASHBOARD["templating"]["list"] if v["type"] == "query"]
_ROW = re.compile(r"^\| `(graveler_\w+)` \| (\w+) \|([^|]*)\|", re.MULTILINE)
_NAME = re.compile(r"graveler_(?!core)[a-z_]*[a-z]")


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Metric]:
    """Each family of a store in which everything happened, by the name that it has in text."""
    registry, place = CollectorRegistry(), tmp_path_factory.mktemp("store")
    with graveler.connect(f"sqlite:///{place}/meta.db", metrics=registry) as g:
        repo = g.create_repository("flights", storage_namespace=(place / "data").as_uri())
        repo.create_branch("dev", source="main").remove_many(f"{number}" for number in range(300))
        with pytest.raises(NotUnique):
            repo.create_branch("dev", source="main")
        repo.branch("main").stage_many(entries())
        repo.branch("main").compact()
        with MetricsServer(g, port=0, registry=registry) as server, urlopen(server.url, timeout=60) as answer:
            families = list(text_string_to_metric_families(answer.read().decode()))
    named = {f"{family.name}_total" if family.type == "counter" else family.name: family for family in families}
    # When the client library made a metric is its own affair.
    return {name: family for name, family in named.items() if not name.endswith("_created")}


def entries() -> pa.Table:
    keys = [f"{number:04}" for number in range(1_500)]
    return pa.table({"key": keys, "address": keys})


def samples(exported: dict[str, Metric]) -> set[str]:
    return {sample.name for family in exported.values() for sample in family.samples}


def test_the_page_lists_every_metric_with_its_type_and_labels(exported: dict[str, Metric]) -> None:
    listed = {
        name: (kind, {label for label in labels.replace(" ", "").split(",") if label})
        for name, kind, labels in _ROW.findall(PAGE)
    }
    assert listed == {
        name: (family.type, {label for sample in family.samples for label in sample.labels} - {"le"})
        for name, family in exported.items()
    }
    assert all(family.samples for family in exported.values())


def test_the_page_names_no_other_metric_and_every_outcome(exported: dict[str, Metric]) -> None:
    named = {name for name in _NAME.findall(PAGE) if name != "graveler_kv"}
    assert named <= samples(exported) | exported.keys()
    outcomes = PAGE.split("**Outcomes**")[1].split("\n* ")[0]
    assert all(f"`{outcome.value}`" in outcomes for outcome in CompactionOutcome)


def test_the_page_says_what_is_taken_where_nothing_is_given() -> None:
    assert f"The default port is {PORT}." in PAGE
    assert f"the {MOST_BRANCHES:,} branches with the highest pressure" in PAGE


def test_the_dashboard_asks_for_metrics_that_there_are(exported: dict[str, Metric]) -> None:
    asked = {name for text in [*EXPRESSIONS, *VARIABLES] for name in _NAME.findall(text)}
    assert asked
    assert asked <= samples(exported)


def test_the_dashboard_shows_every_metric(exported: dict[str, Metric]) -> None:
    asked = {name for expression in EXPRESSIONS for name in _NAME.findall(expression)}
    assert not [name for name, family in exported.items() if not asked & {sample.name for sample in family.samples}]


@pytest.mark.parametrize("panel", PANELS, ids=lambda panel: panel["title"])
def test_a_panel_groups_and_selects_by_labels_that_there_are(
    panel: dict[str, Any], exported: dict[str, Metric]
) -> None:
    for target in panel["targets"]:
        names = set(_NAME.findall(target["expr"]))
        there = {
            label
            for family in exported.values()
            for sample in family.samples
            if sample.name in names
            for label in sample.labels
        }
        grouped = {label for by in re.findall(r"by \(([^)]*)\)", target["expr"]) for label in by.split(", ")}
        selected = set(re.findall(r"(\w+)=~?\"", target["expr"]))
        shown = set(re.findall(r"{{(\w+)}}", target["legendFormat"]))
        assert grouped | selected | shown <= there, target["expr"]
        assert shown <= grouped


def test_panels_have_places_of_their_own() -> None:
    taken = [
        (x, y)
        for grid in (panel["gridPos"] for panel in PANELS)
        for x in range(grid["x"], grid["x"] + grid["w"])
        for y in range(grid["y"], grid["y"] + grid["h"])
    ]
    assert len(taken) == len(set(taken))
    assert max(x for x, _ in taken) < 24
    assert len({panel["id"] for panel in PANELS}) == len(PANELS)
