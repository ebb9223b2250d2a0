"""The table of planted bugs in `docs/simulation.md` is that of the code."""

from __future__ import annotations

from tests.proofs.simulation.mutants.find import PAGE, ROW, rows


def test_the_table_lists_every_mutant_with_its_seed() -> None:
    assert [row.group() for row in ROW.finditer(PAGE.read_text())] == list(rows())
