"""Tests of the telemetry of a flow: one event at its end and one span around it, by outcome."""

from __future__ import annotations

import logging
import subprocess
import sys
from collections.abc import Callable
from typing import TypeVar

import pytest
import structlog
from opentelemetry import trace
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from graveler_core.engine.protocol.retry import retry
from graveler_core.errors import CorruptData, Kind, NoChanges, NotFound, OutcomeUnknown, SlowDown, Unavailable
from graveler_core.stores import Aside, RetryBudget
from graveler_core.telemetry import events, flow, flows, spans, traced
from tests.unit.engine.world import World
from tests.unit.telemetry.conftest import Log

T = TypeVar("T")
WRONG: list[tuple[BaseException, str, str, bool]] = [
    (NoChanges("nothing to commit"), "INFO", "NoChanges", False),
    (NotFound("no such branch", kind=Kind.BranchNotFound), "INFO", "BranchNotFound", False),
    (SlowDown("a compaction began", kind=Kind.CompactionUnderWay), "INFO", "CompactionUnderWay", False),
    (SlowDown("busy"), "WARNING", "StoreBusy", True),
    (OutcomeUnknown("lost"), "WARNING", "OutcomeUnknown", True),
    (Unavailable("gone"), "ERROR", "StoreUnreachable", True),
    (CorruptData("bad"), "ERROR", "CorruptRecord", True),
    (ZeroDivisionError("by zero"), "ERROR", "ZeroDivisionError", True),
    (KeyboardInterrupt(), "INFO", "KeyboardInterrupt", False),
]


def raising(error: BaseException) -> Callable[[], None]:
    def call() -> None:
        raise error

    return call


def told(name: str, repository: str, branch: str, call: Callable[[], T], changes: bool | None = None) -> T:
    return traced(name, lambda: (repository, branch), changes=changes)(call)()


def test_a_flow_that_changes_history_is_told_with_its_fields(log: Log) -> None:
    assert told("commit", "flights", "main", lambda: 7, changes=True) == 7
    (record,) = log.records
    assert (record.name, record.levelname, record.getMessage()) == ("graveler.commit", "INFO", "commit ok")
    said = record.__dict__
    assert (said["flow"], said["repository"], said["branch"]) == ("commit", "flights", "main")
    assert (said["outcome"], said["attempts"]) == ("ok", 1)
    assert 0 <= said["duration"] < 60


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        *((name, True) for name in ("commit", "merge", "create branch", "hard reset", "sweep", "cherry-pick")),
        *((name, False) for name in ("get", "stage", "stage many", "list branches", "merge base", "open branch")),
    ],
)
def test_what_is_worth_a_line_is_known_by_its_name(log: Log, name: str, changes: bool) -> None:
    told(name, "flights", "main", lambda: None)
    (record,) = log.records
    assert (record.name, record.levelname) == (f"graveler.{name.replace(' ', '_')}", "INFO" if changes else "DEBUG")


def test_one_that_reads_is_told_in_detail_only(log: Log) -> None:
    told("get", "flights", "main", lambda: None)
    assert log.told == [("DEBUG", "get ok")]
    logging.getLogger("graveler").setLevel(logging.INFO)
    told("get", "flights", "main", lambda: None)
    assert len(log.records) == 1


@pytest.mark.parametrize("level", [logging.DEBUG, logging.INFO])
def test_what_takes_long_is_told_whatever_it_does(log: Log, monkeypatch: pytest.MonkeyPatch, level: int) -> None:
    monkeypatch.setattr(flows, "LONG", 0.0)
    logging.getLogger("graveler").setLevel(level)
    told("diff", "flights", "", lambda: None)
    assert log.told == [("INFO", "diff ok")]
    assert not hasattr(log.records[0], "branch")


@pytest.mark.parametrize("level", [logging.DEBUG, logging.ERROR], ids=["all", "errors alone"])
@pytest.mark.parametrize(("error", "name", "kind", "fault"), WRONG, ids=str)
def test_an_error_is_told_by_its_kind_never_by_its_message(  # noqa: PLR0917
    log: Log, level: int, error: BaseException, name: str, kind: str, fault: bool
) -> None:
    logging.getLogger("graveler").setLevel(level)
    with pytest.raises(type(error)):
        told("merge", "flights", "main", raising(error))
    if level == logging.DEBUG or name == "ERROR":
        assert log.told == [(name, f"merge {kind}")]
        assert all(text not in repr(log.records[0].__dict__) for text in error.args)
    else:
        assert log.told == []


def test_attempts_are_counted_and_told(log: Log, exported: InMemorySpanExporter) -> None:
    stores = World().stores()
    with flow("commit", repository="flights", branch="main", changes=True):
        tries = iter([None, None, None, "done"])
        retry(stores, "commit on flights/main", lambda: next(tries))
    assert log.told == [("DEBUG", "retry"), ("INFO", "retry"), ("INFO", "retry"), ("INFO", "commit ok")]
    assert [(r.attempt, r.flow, r.branch) for r in log.records[:3]] == [  # type: ignore[attr-defined]
        (number, "commit", "main") for number in (2, 3, 4)
    ]
    assert log.records[-1].attempts == 4  # type: ignore[attr-defined]
    (span,) = exported.get_finished_spans()
    assert span.attributes is not None
    assert span.attributes["graveler.attempts"] == 4


def test_attempts_of_no_flow_are_told_by_what_they_are_for(log: Log) -> None:
    tries = iter([None, "done"])
    retry(World().stores(), "log of references of flights", lambda: next(tries))
    (record,) = log.records
    assert (record.getMessage(), record.flow) == ("retry", "log of references of flights")  # type: ignore[attr-defined]


def test_a_spent_budget_says_how_often_it_tried_to_who_listens_to_warnings_alone(log: Log) -> None:
    logging.getLogger("graveler").setLevel(logging.WARNING)
    stores = World().stores()

    def call() -> None:
        retry(stores, "commit", lambda: stores.clock.sleep(2), RetryBudget(total=1))

    with pytest.raises(SlowDown):
        told("commit", "flights", "main", call, changes=True)
    (record,) = log.records
    assert (record.getMessage(), record.attempts) == ("commit RetriesExhausted", 3)  # type: ignore[attr-defined]


@pytest.mark.parametrize(("error", "name", "kind", "fault"), WRONG, ids=str)
def test_a_span_says_how_it_ended(
    exported: InMemorySpanExporter, error: BaseException, name: str, kind: str, fault: bool
) -> None:
    with pytest.raises(type(error)):
        told("merge", "flights", "main", raising(error))
    (span,) = exported.get_finished_spans()
    assert span.name == "graveler.merge"
    expected = {
        "graveler.flow": "merge",
        "graveler.repository": "flights",
        "graveler.branch": "main",
        "graveler.outcome": kind,
        "graveler.attempts": 1,
    }
    assert dict(span.attributes or {}) == expected | ({"error.type": kind} if fault else {})
    assert (span.status.status_code is StatusCode.ERROR) is fault
    assert not span.events


def test_a_span_stands_below_the_hosts_and_flows_below_it(exported: InMemorySpanExporter) -> None:
    with trace.get_tracer("host").start_as_current_span("request") as request:
        told("merge", "flights", "", lambda: told("commit", "flights", "main", lambda: None))
    inner, outer = (s for s in exported.get_finished_spans() if s.name.startswith("graveler."))
    assert (inner.name, outer.name) == ("graveler.commit", "graveler.merge")
    assert inner.parent is not None
    assert outer.parent is not None
    assert inner.parent.span_id == outer.context.span_id
    assert outer.parent.span_id == request.get_span_context().span_id


def test_an_sdk_that_comes_later_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", None)
    monkeypatch.setattr(spans, "_sight", spans._Sight())
    assert not spans.wanted(100.0)
    from opentelemetry.sdk.trace import TracerProvider

    monkeypatch.setattr(trace, "_TRACER_PROVIDER", TracerProvider())
    assert not spans.wanted(100.0 + spans.AGAIN / 2)
    assert spans.wanted(100.0 + spans.AGAIN)


def test_spans_are_sent_before_a_process_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    monkeypatch.setattr(trace, "_TRACER_PROVIDER", None)
    monkeypatch.setattr(spans, "_sight", spans._Sight())
    spans.send_spans()  # there is no SDK
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(exporter, schedule_delay_millis=1_000_000_000))
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", provider)
    monkeypatch.setattr(spans, "_sight", spans._Sight())
    told("commit", "flights", "main", lambda: None)
    assert exporter.get_finished_spans() == ()
    spans.send_spans()
    assert [span.name for span in exporter.get_finished_spans()] == ["graveler.commit"]
    provider.shutdown()


def test_a_flow_is_in_the_context_of_what_the_host_logs(log: Log) -> None:
    with structlog.contextvars.bound_contextvars(request="r1", name="host's"):
        with flow("merge", repository="flights", into="main"):
            inside = structlog.contextvars.get_contextvars()
        assert structlog.contextvars.get_contextvars() == {"request": "r1", "name": "host's"}
    assert inside == {"request": "r1", "name": "host's", "flow": "merge", "repository": "flights", "into": "main"}
    (record,) = log.records
    # A LogRecord has a name of its own.
    assert (record.request, record.name_, record.name) == ("r1", "host's", "graveler.merge")  # type: ignore[attr-defined]


def test_no_secret_is_told(log: Log, exported: InMemorySpanExporter) -> None:
    url = "postgresql://ada:CANARY@host/db?password=CANARY"
    with pytest.raises(Unavailable), flow("commit", repository="flights", store=url, note="secret_access_key=CANARY"):
        raise Unavailable(f"cannot reach {url}", store=url)
    events.tell("retry", logging.WARNING, f"at {url}", where=url)
    assert len(log.records) == 2
    assert "CANARY" not in repr([record.__dict__ for record in log.records])
    assert "CANARY" not in "".join(span.to_json() for span in exported.get_finished_spans())


def test_work_in_the_background_tells_what_nobody_else_hears(log: Log) -> None:
    aside = Aside()
    aside.start(raising(SlowDown("busy")))
    aside.start(lambda: None)
    aside.close()
    assert log.told == [("WARNING", "background StoreBusy"), ("DEBUG", "background ok")]


SILENT = """
import sys, graveler_core
from graveler_core.errors import SlowDown
from graveler_core.telemetry import traced
def busy():
    raise SlowDown("busy")
traced("get", lambda: ("r", "b"))(lambda: None)()
print(sorted({"structlog", "opentelemetry"} & set(sys.modules)))
try:
    traced("commit", lambda: ("r", "b"), changes=True)(busy)()
except SlowDown:
    print("raised")
"""


def test_a_host_that_configures_nothing_sees_and_loads_nothing() -> None:
    done = subprocess.run([sys.executable, "-c", SILENT], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("[]\nraised\n", "")


def test_an_event_needs_nothing_that_is_not_there(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that may not read its own libraries any more still gives the answers of its flows."""
    monkeypatch.setattr(events, "_bound", {})
    monkeypatch.setitem(sys.modules, "structlog", None)
    with pytest.raises(Unavailable, match="gone"):
        told("put", "flights", "main", raising(Unavailable("gone password=hidden")))
    (record,) = log.records
    assert (record.getMessage(), record.__dict__["repository"]) == ("put StoreUnreachable", "flights")
