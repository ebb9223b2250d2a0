"""The plot: a picture that needs no server."""

from __future__ import annotations

import base64
import re
from datetime import date

import polars as pl

from orchestration.display.plot import delays_plot

PICTURE = re.compile(r"^!\[[a-z ]+\]\(data:image/png;base64,([A-Za-z0-9+/=]+)\)$")


def table(*rows: tuple[str, date, float | None]) -> pl.DataFrame:
    schema = {"origin": pl.String, "flight_date": pl.Date, "dep_delay_mean": pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def picture(daily: pl.DataFrame) -> bytes:
    shown = PICTURE.match(str(delays_plot(daily).value))
    assert shown is not None
    return base64.b64decode(shown[1])


def test_the_plot_is_a_png_inside_markdown() -> None:
    one = picture(
        table(("JFK", date(2013, 1, 1), 5.0), ("JFK", date(2013, 1, 2), 50.0), ("LGA", date(2013, 1, 1), None))
    )
    other = picture(table(("JFK", date(2013, 1, 1), 5.0), ("JFK", date(2013, 1, 2), 5.0)))
    assert one.startswith(b"\x89PNG\r\n")
    assert one != other


def test_no_days_are_an_empty_plot() -> None:
    assert picture(table()).startswith(b"\x89PNG\r\n")
