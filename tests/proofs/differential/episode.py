"""An episode: a fresh store, and random steps on it. Its seed and the number of a step decide what the step does."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from graveler_core.kv import open_store
from graveler_core.kv.backends.memory import MemoryStore, open_memory
from graveler_core.kv.store import Store
from tests.postgresql_server import fresh_schema
from tests.proofs.differential.steps import reading, upkeep
from tests.proofs.differential.steps.registry import STEPS
from tests.proofs.differential.world import Shape, World, shortened

SHAPES = (
    (0.60, Shape(steps=600, paths=14, rows=14)),
    (0.36, Shape(steps=600, paths=60, rows=60)),
    (0.037, Shape(steps=150, paths=600, rows=600)),
    (0.003, Shape(steps=60, paths=22_000, rows=20_000)),
)
"""How often an episode is of which size."""
LETTERS = Shape(steps=80, paths=2_704, rows=2_700)
"""Short paths, so that thousands of removals fit into an inline index."""
_STEPS, _WEIGHTS = [*STEPS], [*STEPS.values()]


@dataclass(eq=False)
class Failure(Exception):
    """A step at which library and model differ."""

    seed: str
    step: int
    said: object
    cause: BaseException

    def __str__(self) -> str:
        return f"seed {self.seed}, step {self.step}, {shortened(repr(self.said))}: {self.words}"

    @property
    def words(self) -> str:
        """What differs."""
        return f"{type(self.cause).__name__}: {self.cause}"


def shape_of(seed: str) -> Shape:
    """The size of an episode."""
    random = Random(f"{seed}/shape")
    if random.random() < 0.01:
        return LETTERS
    return random.choices([shape for _, shape in SHAPES], [weight for weight, _ in SHAPES])[0]


def play(
    seed: str,
    store: str,
    *,
    steps: int | None = None,
    shape: Shape | None = None,
    without: Collection[int] = (),
    tell: Callable[[int, object], object] | None = None,
    every: bool = False,
) -> int:
    """Run an episode; gives how many steps it took.

    Args:
        store: `memory`, `sqlite`, or the URL of a PostgreSQL.
        steps: No more than so many.
        without: Numbers of steps that are left out: to make a failure smaller.
        tell: Told of each step.
        every: Begin with each kind of step once.

    Raises:
        Failure: library and model differ.
    """
    shape = shape or shape_of(seed)
    most = shape.steps if steps is None else min(steps, shape.steps)
    first = Random(f"{seed}/order").sample(_STEPS, len(_STEPS)) if every else []
    with opened(seed, store, Random(f"{seed}/handles").randint(1, 4)) as (kvs, namespace):
        world = World(kvs, namespace, seed, shape)
        number, step = 0, _STEPS[0]
        try:
            for number in range(most):
                random = Random(f"{seed}/{number}")
                step = first[number] if number < len(first) else random.choices(_STEPS, _WEIGHTS)[0]
                if number in without:
                    continue
                world.said = (step.__name__,)
                step(world, random)
                if tell is not None:
                    tell(number, world.said)
            number = most
            reading.whole(world, Random(seed))
            world.said = ("fsck",)
            upkeep.sound(world, world.handles[0].repo, world.model, deep=True)
        except Exception as cause:
            raise Failure(seed, number, (step.__name__, *world.said), cause) from cause
        finally:
            world.close()
    return most


@contextmanager
def opened(seed: str, store: str, handles: int) -> Iterator[tuple[list[Store], str]]:
    """The key-value stores of some handles, on the same records; and a storage namespace."""
    namespace = f"memory://differential-{sha256(seed.encode()).hexdigest()[:16]}/lake"
    if store == "memory":
        shared = open_memory("memory://")
        yield [MemoryStore(shared._memory) for _ in range(handles)], namespace
    elif store == "sqlite":
        with TemporaryDirectory() as directory:
            url = f"sqlite:///{Path(directory)}/meta.db?durability=process"
            yield [open_store(url) for _ in range(handles)], namespace
    else:
        with fresh_schema(store) as url:
            yield [open_store(url) for _ in range(handles)], namespace
