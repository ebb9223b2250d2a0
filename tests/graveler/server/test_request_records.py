"""Bodies of requests with many wrong values: the server reports the first one, and does not collect the others."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, get_args, get_origin

import pytest
from pydantic import BaseModel, ValidationError

from graveler.server.api.access.records import StatementRecord
from graveler.server.api.routes import ROUTES


def _records(annotation: Any) -> Iterator[type[BaseModel]]:
    """Yield the records in a type."""
    for part in get_args(annotation):
        yield from _records(part)
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
        for field in annotation.model_fields.values():
            yield from _records(field.annotation)


FIELDS = sorted(
    {
        (record, name)
        for route in ROUTES
        for record in _records(route.body)
        for name, field in record.model_fields.items()
        if get_origin(field.annotation) in (list, dict)
    },
    key=str,
)


def _errors(record: type[BaseModel], name: str, value: object) -> list[tuple[int | str, ...]]:
    """Return the places of the errors in a field."""
    with pytest.raises(ValidationError) as refused:
        record.model_validate(value if name == "root" else {name: value})
    places = [error["loc"] for error in refused.value.errors()]
    return places if name == "root" else [place for place in places if place[0] == name]


@pytest.mark.parametrize(("record", "name"), FIELDS, ids=lambda value: getattr(value, "__name__", value))
def test_one_wrong_value_is_reported(record: type[BaseModel], name: str) -> None:
    is_list = get_origin(record.model_fields[name].annotation) is list
    wrong: object = [None] * 3 if is_list else dict.fromkeys("abc")
    place = (0 if is_list else "a",)
    assert _errors(record, name, wrong) == [place if name == "root" else (name, *place)]


@pytest.mark.parametrize(
    ("condition", "place"),
    [
        ({"a": {"b": ["x"]}, "c": {"d": ["x", None, None], "e": None}, "f": None}, ("c", "d", 1)),
        ({"a": {"b": ["x"], "c": None, "d": None}, "e": {"f": [None]}}, ("a", "c")),
    ],
)
def test_one_wrong_value_of_a_condition_is_reported(condition: dict[str, object], place: tuple[int | str, ...]) -> None:
    assert _errors(StatementRecord, "condition", condition) == [("condition", *place)]
