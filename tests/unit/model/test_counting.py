"""Numbers with their nouns."""

from __future__ import annotations

import numpy as np
import pytest

from graveler_core.model.counting import counted

CASES = [
    (1, "object", "1 object"),
    (0, "object", "0 objects"),
    (12_000, "row", "12,000 rows"),
    (np.int64(1_234_567), "branch", "1,234,567 branches"),
    (2, "repository", "2 repositories"),
    (3, "key", "3 keys"),
    (1.0, "minute", "1 minute"),
    (0.5, "minute", "0.5 minutes"),
]


@pytest.mark.parametrize(("number", "noun", "text"), CASES, ids=[text for *_, text in CASES])
def test_a_noun_agrees_with_its_number(number: float, noun: str, text: str) -> None:
    assert counted(number, noun) == text


def test_other_words_than_the_regular_plural() -> None:
    assert [counted(number, "upload of a job has", "uploads of jobs have") for number in (1, 2)] == [
        "1 upload of a job has",
        "2 uploads of jobs have",
    ]
