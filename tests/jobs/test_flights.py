"""The transformations, on a little made-up input, against values worked out by hand."""

from __future__ import annotations

from datetime import date

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from jobs.flights import FLIGHT_KEY, cleaned, corrected, daily_delays, daily_weather, of_months, spoiled
from tests.flights_data import CANCELLED_A_DAY, DAYS, FLIGHTS_A_DAY


def test_months_are_cut_out(delivered: DataFrame) -> None:
    february = of_months(delivered, ["2013-02"])
    assert february.count() == 28 * FLIGHTS_A_DAY
    assert {row.month for row in february.select("month").distinct().collect()} == {2}
    assert of_months(delivered, ["2013-01", "2013-03"]).count() == 62 * FLIGHTS_A_DAY
    assert of_months(delivered, ["2014-01"]).count() == 0


def test_cleaning_keeps_every_row_and_marks_the_cancelled(delivered: DataFrame) -> None:
    flights = cleaned(delivered)
    assert flights.count() == DAYS * FLIGHTS_A_DAY
    assert flights.where("cancelled").count() == DAYS * CANCELLED_A_DAY
    assert flights.where("cancelled AND dep_delay IS NOT NULL").count() == 0
    first = flights.sort(*FLIGHT_KEY).first()
    assert first is not None
    assert (first.flight_date, first.carrier, first.origin, first.dep_delay) == (date(2013, 1, 1), "AA", "EWR", 0.0)


def test_cleaning_hides_no_duplicate(delivered: DataFrame) -> None:
    assert cleaned(delivered.unionByName(delivered)).count() == 2 * DAYS * FLIGHTS_A_DAY


def test_a_correction_changes_few_delays_and_can_be_made_again(spark: SparkSession, delivered: DataFrame) -> None:
    many = delivered.crossJoin(spark.range(20)).withColumn("flight", F.col("flight") + F.col("id").cast("int"))
    once, again = corrected(many, 7), corrected(many, 7)
    changed = many.exceptAll(once).count()
    assert 0 < changed < many.count() / 100
    assert once.exceptAll(again).isEmpty()
    assert total(many) - total(once) == changed
    assert total(corrected(many, 8)) != total(once)


def test_edition_zero_is_the_original(delivered: DataFrame) -> None:
    assert corrected(delivered, 0) is delivered


def total(flights: DataFrame) -> float:
    found = flights.agg(F.sum("arr_delay")).first()
    assert found is not None
    return float(found[0])


def test_a_spoiled_batch_has_duplicates_and_absurd_delays(delivered: DataFrame) -> None:
    flights = cleaned(spoiled(delivered))
    assert flights.count() > flights.select(*FLIGHT_KEY).distinct().count() == delivered.count()
    assert flights.where("dep_delay > 1440").count() > 0


def test_daily_weather_is_by_airport_and_day(weather: DataFrame) -> None:
    days = daily_weather(weather)
    assert days.count() == (DAYS - 1) * 3
    one = days.where("origin = 'JFK' AND flight_date = '2013-02-03'").first()
    assert one is not None
    assert (one.temp_mean, one.precip_sum, one.wind_max, one.visib_min) == (42.0, 0.5, 28.0, 10.0)


def test_daily_delays_by_hand(spark: SparkSession, delivered: DataFrame, weather: DataFrame) -> None:
    daily = daily_delays(cleaned(delivered), weather)
    assert daily.count() == DAYS * 3
    # 3 January, n = 2: LGA's delays are 22 and 23, its third flight is cancelled; EWR's are 2, 3, 4.
    lga = daily.where("origin = 'LGA' AND flight_date = '2013-01-03'").first()
    ewr = daily.where("origin = 'EWR' AND flight_date = '2013-01-03'").first()
    assert lga is not None
    assert ewr is not None
    assert (lga.flights, lga.cancelled, lga.dep_delay_mean, lga.arr_delay_mean, lga.delayed_share) == (
        *(3, 1, 22.5, 19.5, 1.0),
    )
    assert (ewr.flights, ewr.cancelled, ewr.dep_delay_mean, ewr.dep_delay_p90, ewr.delayed_share) == (3, 0, 3.0, 4.0, 0)
    assert (ewr.temp_mean, ewr.precip_sum) == (42.0, 0.5)


def test_a_day_without_weather_is_kept(delivered: DataFrame, weather: DataFrame) -> None:
    last = daily_delays(cleaned(delivered), weather).where("flight_date = '2013-03-31'").collect()
    assert len(last) == 3
    assert all(row.temp_mean is None and row.flights == 3 for row in last)
