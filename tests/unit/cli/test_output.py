"""Results in their three shapes, and lazily."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator

import pytest

from graveler_core.cli.output import PAGE_ROWS, Column, Output, Shape, View

NUMBERED: View[tuple[int, str]] = View(
    columns=(Column("number", people=lambda n: f"<{n}>", right=True), Column("name", style="bold")),
    cells=lambda row: row,
    document=lambda row: {"number": row[0], "name": row[1]},
    empty="no numbers",
)
HOSTILE = "[bold]\x1b[2J\n[/]"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def _wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("TERM", "dumb")


def test_writes_tabs_in_a_pipe() -> None:
    stream = io.StringIO()
    out = Output(stream=stream)
    assert out.shape is Shape.PLAIN
    assert out.rows([(1, "a"), (2, HOSTILE)], NUMBERED) == 2
    assert stream.getvalue() == "1\ta\n2\t[bold]\\x1b[2J\\n[/]\n"


def test_writes_a_table_on_a_terminal() -> None:
    stream = Terminal()
    out = Output(stream=stream)
    assert out.rows([(1, "a"), (2, HOSTILE)], NUMBERED) == 2
    lines = [line.split() for line in stream.getvalue().splitlines()]
    assert lines[0] == ["number", "name"]
    assert lines[1:] == [["<1>", "a"], ["<2>", "[bold]\\x1b[2J\\n[/]"]]


def test_writes_one_document_a_line_as_json_even_on_a_terminal() -> None:
    stream = Terminal()
    Output(as_json=True, stream=stream).rows([(1, "a"), (2, HOSTILE + "\u202e")], NUMBERED)
    lines = stream.getvalue().splitlines()
    assert [json.loads(line) for line in lines] == [
        {"number": 1, "name": "a"},
        {"number": 2, "name": HOSTILE + "\u202e"},
    ]
    assert stream.getvalue().isascii()


def test_tells_people_that_there_is_nothing_and_programs_nothing() -> None:
    terminal, pipe = Terminal(), io.StringIO()
    Output(stream=terminal).rows([], NUMBERED)
    Output(stream=pipe).rows([], NUMBERED)
    assert terminal.getvalue() == "no numbers\n"
    assert pipe.getvalue() == ""


def test_later_pages_keep_the_columns_in_line_and_have_no_head() -> None:
    stream = Terminal()
    rows = [(n, "name") for n in range(PAGE_ROWS)] + [(7, "name")]
    Output(stream=stream).rows(rows, NUMBERED)
    lines = stream.getvalue().splitlines()
    assert len(lines) == len(rows) + 1
    assert {line.index("name") for line in lines if "name" in line} == {lines[0].index("name")}


class Closed(Exception):
    """The reader has gone."""


@pytest.mark.parametrize("terminal", [False, True])
def test_fetches_rows_only_as_they_are_written(terminal: bool) -> None:
    fetched = 0

    def endless() -> Iterator[tuple[int, str]]:
        nonlocal fetched
        while True:
            fetched += 1
            yield fetched, "name"

    class Full(io.StringIO):
        def isatty(self) -> bool:
            return terminal

        def write(self, text: str, /) -> int:
            raise Closed

    with pytest.raises(Closed):
        Output(stream=Full()).rows(endless(), NUMBERED)
    assert fetched == (PAGE_ROWS if terminal else 1)


def test_unknown_values_are_empty_cells() -> None:
    view: View[None] = View(NUMBERED.columns, lambda _: (None, None), lambda _: {}, "")
    pipe, terminal = io.StringIO(), Terminal()
    Output(stream=pipe).rows([None], view)
    Output(stream=terminal).rows([None], view)
    assert pipe.getvalue() == "\t\n"
    assert "None" not in terminal.getvalue()


def test_a_result_is_a_line_or_a_document() -> None:
    pipe, machine = io.StringIO(), io.StringIO()
    Output(stream=pipe).result({"deleted": "x"}, "deleted \x1b x")
    Output(as_json=True, stream=machine).result({"deleted": "x"}, "deleted x")
    assert pipe.getvalue() == "deleted \\x1b x\n"
    assert json.loads(machine.getvalue()) == {"deleted": "x"}
