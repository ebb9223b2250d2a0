"""Paths, prefixes, refs and entries that steps draw from: few at once, so that they meet, and nasty ones among them."""

from __future__ import annotations

import itertools
import string
from datetime import UTC, datetime, timedelta
from random import Random
from uuid import UUID

from graveler_core.model.entry import AddressType, Entry

NASTY = (
    *("a", "a/", "a//", "a/b", "a/b/", "a/b/c", "a/b0", "a0", "a\x7f", "a\x7f/b", "a.", "a-", "ab", "A", "b", "a\xa0"),
    *(
        "a\u0300",
        "á",
        "a\u0301",
        "é",
        "e\u0301",
        "e",
        "\u0301",
        "ÿ",
        "\x01",
        "\x7f",
        " ",
        "\t",
        "\\",
        "%",
        "_",
        "'",
        '"',
    ),
    *("\U0001f600", "\U0001f600/x", "\ud7ff", "\ue000", "\uffff", "\U00010000", "\U0010ffff", "\U0010ffff/a"),
    *(
        "x" * 1_000,
        "x" * 999 + "y",
        "é" * 500,
        "\U0001f600" * 250,
        "a/" * 500,
        "zz",
        "z",
        "~",
        "a\n",
        "\x00"[:0] + "\x02",
    ),
)
PREFIXES = (
    *("", "", "a", "a/", "a/b", "a0", "a\x7f", "a.", "e", "é", "e\u0301", "\x01", "\x7f", "\x02", "~", "z", "n/"),
    *("\U0001f600", "\uffff", "\U0010ffff", "x" * 999, "é" * 499, "p/", "p/0", "p/00", "nothing/", "\ud7ff", "A"),
)
LETTERS = tuple("".join(pair) for pair in itertools.product(string.ascii_letters, repeat=2))
START = datetime(2025, 1, 1, tzinfo=UTC)


class Names:
    """What an episode draws from."""

    def __init__(self, random: Random, paths: int) -> None:
        family = random.choice(("nasty", "mixed", "mixed", "numbered", "letters"))
        nasty = random.sample(NASTY, min(len(NASTY), max(4, paths // 2 if family == "mixed" else paths)))
        numbered = [f"p/{n // 7:02}/{n:05}" for n in range(paths)]
        pools = {"nasty": nasty, "mixed": nasty + numbered, "numbered": numbered, "letters": list(LETTERS[:paths])}
        self.paths = pools[family][: max(4, paths)]
        self.entries = [_entry(random, n) for n in range(random.choice((3, 8)))]
        self.branches = ["main", "dev", "b2", "B2", "_1.x"][: random.randint(2, 5)]
        self.tags = ["v1", "v2", "t-3"]
        self.messages = ["", "some", "é \U0001f600\nmore", "x" * 300]
        self.metadata: list[dict[str, str]] = [{}, {"k": "v"}, {"é": "", "a": "\U0001f600"}]
        self.delimiters = ["", "", "/", "/", "//", "0", "a", "é", "\U0001f600"]

    def path(self, random: Random) -> str:
        return random.choice(self.paths)

    def prefix(self, random: Random) -> str:
        """One of the list, or how a path begins."""
        if random.random() < 0.5:
            return random.choice(PREFIXES)
        path = self.path(random)
        return path[: random.randint(0, min(len(path), 6))] if random.random() < 0.8 else path

    def after(self, random: Random) -> str:
        """Mostly none."""
        return self.path(random) if random.random() < 0.3 else ""

    def limit(self, random: Random) -> int | None:
        return random.choice((None, None, 0, 1, 2, 5, 1_000))

    def entry(self, random: Random) -> Entry:
        """One of few, whose modification time is one of few."""
        entry = random.choice(self.entries)
        time = random.choice((None, START, START + timedelta(microseconds=1), START - timedelta(days=20_000)))
        given = (entry.content_type, entry.metadata, entry.data, entry.payload, entry.content_id, entry.address_type)
        return Entry(entry.address, entry.size, entry.checksum, time, *given)


def _entry(random: Random, number: int) -> Entry:
    kind = random.choice(("relative", "relative", "unchecked", "full", "inline", "inline"))
    data = b"%d" % number * random.choice((1, 1, 10, 400)) if kind == "inline" else None
    address = {"full": f"s3://other/{number}", "inline": None}.get(kind, f"data/{number % 3}")
    return Entry(
        address=address,
        size=0 if kind == "inline" else number,
        checksum=None if kind in ("unchecked", "inline") else f"sum{number}",
        content_type=random.choice((None, "text/plain")),
        metadata=random.choice(({}, {}, {"n": str(number), "é": "ü"})),
        data=data,
        payload=random.choice((0, 0, 0, 7)),
        content_id=UUID(int=number + 1) if random.random() < 0.1 else None,
        address_type={"full": AddressType.FULL, "inline": AddressType.INLINE}.get(kind, AddressType.RELATIVE),
    )
