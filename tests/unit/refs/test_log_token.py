"""Tokens of a log: every place comes back, everything else is one clear refusal."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graveler_core.errors import InvalidInput
from graveler_core.model.ids import CommitId
from graveler_core.refs.log import WIDEST, LogPosition
from graveler_core.refs.log_token import MAX_TOKEN_CHARS, decode, encode
from tests.unit.refs.graphs import name, names

LINE = LogPosition((name(1),))


@st.composite
def places(draw: st.DrawFn) -> LogPosition:
    commits = st.binary(min_size=32, max_size=32).map(lambda data: CommitId(data.hex()))
    found = draw(st.lists(commits, max_size=WIDEST))
    split = draw(st.integers(0, len(found)))
    return LogPosition(tuple(found[:split]), tuple(found[split:]), draw(st.none() | commits))


@given(places(), st.binary(max_size=50))
def test_every_place_comes_back(place: LogPosition, question: bytes) -> None:
    token = encode(place, question)
    assert decode(token, question) == place
    assert len(token) <= MAX_TOKEN_CHARS


def test_the_token_of_one_line_is_short_and_stays_as_it_is() -> None:
    token = encode(LINE, b"main")
    assert token == "AQEAAJLN9XjEcIWlmSJW8Nz5fQsZ8fHJ3k1f4ww6zmGRtuXbT0ji58CoY34"
    widest = LogPosition(tuple(names(range(WIDEST))), (), name(0))
    assert len(encode(widest, b"")) == MAX_TOKEN_CHARS


@given(st.text(max_size=80) | st.binary(max_size=80).map(lambda data: urlsafe_b64encode(data).decode()))
def test_any_text_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="must be a token of a log"):
        decode(text, b"main")


@given(places(), st.data())
def test_a_changed_character_is_refused(place: LogPosition, data: st.DataObject) -> None:
    token = encode(place, b"main")
    at = data.draw(st.integers(0, len(token) - 1))
    other = data.draw(st.sampled_from("AZaz09-_=. é\n").filter(lambda c: c != token[at]))
    for wrong in (token[:at] + other + token[at + 1 :], token[:at], token + other, other + token):
        with pytest.raises(InvalidInput):
            decode(wrong, b"main")


@pytest.mark.parametrize("token", ["", "=", "A", "x" * MAX_TOKEN_CHARS, "x" * 10_000_000, name(1), None, 5, b"AQEAAA"])
def test_what_is_no_token(token: object) -> None:
    with pytest.raises(InvalidInput) as caught:
        decode(token, b"main")  # type: ignore[arg-type]
    assert len(caught.value.message) < 200


def test_a_token_is_good_for_its_own_question_only() -> None:
    token = encode(LINE, b"main")
    for other in (b"", b"dev", b"main "):
        with pytest.raises(InvalidInput):
            decode(token, other)


@pytest.mark.parametrize(
    "body",
    [
        bytes([2, 1, 0, 0]) + bytes(32),
        bytes([1, 2, 0, 0]) + bytes(32),
        bytes([1, 0, 0, 0]) + bytes(32),
        bytes([1, 0, 0, 2]) + bytes(64),
        bytes([1, 255, 255, 1]),
        bytes([1, 1, 0]),
        b"",
    ],
)
def test_a_body_that_does_not_add_up_is_refused_also_with_a_right_check(
    body: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = urlsafe_b64decode(encode(LogPosition(()), b"") + "=")
    assert right[:4] == bytes([1, 0, 0, 0])
    monkeypatch.setattr("graveler_core.refs.log_token._check", lambda body, question, key: bytes(8))
    with pytest.raises(InvalidInput):
        decode(urlsafe_b64encode(body + bytes(8)).rstrip(b"=").decode(), b"")


@given(places(), st.binary(min_size=32, max_size=32), st.binary(min_size=32, max_size=32))
def test_a_token_is_valid_only_with_the_key_that_signed_it(place: LogPosition, key: bytes, other: bytes) -> None:
    token = encode(place, b"main", key)
    assert decode(token, b"main", key) == place
    if other != key:
        with pytest.raises(InvalidInput):
            decode(token, b"main", other)
    for wrong in (encode(place, b"main"), encode(place, b"main", b"0" + key)):
        with pytest.raises(InvalidInput):
            decode(wrong, b"main", key)
