"""Collection of all documents of an archive: surroundings, repositories, and each repository."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from graveler_core.diagnostics.budget import Budget
from graveler_core.diagnostics.plan import DiagnosticsPlan
from graveler_core.diagnostics.repositories import records, repositories, repository
from graveler_core.diagnostics.section import Section
from graveler_core.diagnostics.surroundings import Part, caches, settings, store, versions
from graveler_core.model.entities import RepositoryRecord
from graveler_core.stores import Stores

_PARTS: dict[str, Part] = {
    "versions": versions,
    "settings": settings,
    "store": store,
    "repositories": repositories,
    "caches": caches,
}


def collect(stores: Stores, plan: DiagnosticsPlan | None = None) -> Iterator[Section]:
    """Yield the documents of an archive, one at a time. Never writes. Source: seed 000, `pkg/diagnostics`.

    Raises:
        InvalidInput: The budget is not positive.
    """
    plan = plan or DiagnosticsPlan()
    budget = Budget(stores.clock, plan.budget)
    return _collected(stores, plan, budget)


def _collected(stores: Stores, plan: DiagnosticsPlan, budget: Budget) -> Iterator[Section]:
    for name, part in _PARTS.items():
        yield _filled(stores, Section(name), partial(part, stores, plan, budget))
    # Records that cannot be listed are reported in the document that lists repositories.
    listing = Section("repositories")
    found: Iterator[RepositoryRecord] = iter(())
    with listing.trying("repositories"):
        found = iter(list(listing.first(records(stores, plan, listing), plan.most_repositories, budget)))
    for repo in found:
        section = Section(f"repositories/{repo.id}")
        yield _filled(stores, section, partial(_repository, stores, plan, budget, repo=repo))


def _repository(
    stores: Stores, plan: DiagnosticsPlan, budget: Budget, section: Section, *, repo: RepositoryRecord
) -> None:
    repository(stores, plan, budget, section, repo)


def _filled(stores: Stores, section: Section, fill: Callable[[Section], None]) -> Section:
    began = stores.clock.monotonic()
    with section.trying(section.name):
        fill(section)
    section.seconds = stores.clock.monotonic() - began
    return section
