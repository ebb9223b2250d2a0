"""Remove many entries one by one, and watch the sensor have the branch compacted.

    ./run ui                                          in one terminal
    .venv/bin/python docs/examples/compaction.py      in another, in the same directory

The store and the place for data are those of `GRAVELER_STORE` and `GRAVELER_DATA`, or of `./run demo`.
"""

from __future__ import annotations

import argparse
import time

import pyarrow as pa

from graveler import AddressType, connect
from graveler_core.errors import NotFound
from graveler_core.facade.branch import Branch
from graveler_core.facade.graveler import Graveler
from graveler_core.settings import Settings

REPOSITORY, BRANCH = "flights", "many-files"
POLL_SECONDS = 1.0


def prepare(graveler: Graveler, data: str, files: int) -> Branch:
    """A new branch of the demo's repository, with so many committed files below `old/`."""
    try:
        repository = graveler.repository(REPOSITORY)
    except NotFound:
        repository = graveler.create_repository(REPOSITORY, f"{data}/{REPOSITORY}")
    branch = repository.create_branch(BRANCH, source="main")
    keys = [f"old/{number:07}.parquet" for number in range(files)]
    rows = len(keys)
    branch.stage_many(
        pa.table(
            {
                "key": keys,
                "address": [f"data/{key}" for key in keys],
                "address_type": pa.array([AddressType.RELATIVE] * rows, pa.int8()),
                "size": [1_000] * rows,
                "checksum": [f"md5:{number:032x}" for number in range(rows)],
            }
        )
    )
    branch.commit(f"{files:,} files")
    return branch


def remove_one_by_one(branch: Branch, files: int) -> None:
    """Remove the files of a directory one by one, as a program does that knows no prefixes."""
    for number in range(files):
        branch.remove(f"old/{number:07}.parquet")


def first_page(branch: Branch) -> tuple[list[str], float]:
    """The first page of a listing, and how many milliseconds it took when it was asked for again."""
    list(branch.list(limit=1_000))
    began = time.perf_counter()
    paths = [item.path for item in branch.list(limit=1_000)]
    return paths, 1_000 * (time.perf_counter() - began)


def tell(branch: Branch, when: str) -> None:
    """Print what is staged, and what a listing costs."""
    load, (paths, milliseconds) = branch.pressure().load, first_page(branch)
    staged = f"{load.tombstones:,} tombstones, {load.layers} layers"
    print(f"{when:>9}: {staged}; first page, {len(paths):,} entries: {milliseconds:.1f} ms")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--files", type=int, default=100_000)
    parser.add_argument("--patience", type=float, default=900.0, help="seconds to wait for the sensor")
    options = parser.parse_args()
    settings = Settings()
    with connect(settings.store.get_secret_value()) as graveler:
        branch = prepare(graveler, settings.data, options.files)
        tell(branch, "before")
        remove_one_by_one(branch, options.files)
        tell(branch, "removed")
        patience = time.monotonic() + options.patience
        while branch.pressure().pressure.over:
            if time.monotonic() > patience:
                raise SystemExit("the branch was not compacted: is the sensor running?")
            time.sleep(POLL_SECONDS)
        tell(branch, "compacted")
        branch.commit("remove what is old")
        changes = graveler.repository(REPOSITORY).diff_summary(f"{BRANCH}~1", BRANCH)
        print(f"committed: {changes.removed:,} removed, {changes.added} added, {changes.changed} changed")


if __name__ == "__main__":
    main()
