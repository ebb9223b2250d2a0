"""Everything a use case needs from outside, as one frozen value: stores, time, chance, workers, caches.

Use cases are functions `f(stores, …)`. The package `wiring` makes the value of production. Tests and the simulator make
their own values.
"""

from graveler_core.stores.background import Aside, AtOnce, Background, HookCalls
from graveler_core.stores.cluster import Cluster, SortedRows
from graveler_core.stores.executor import Executor, Threads
from graveler_core.stores.hooks import Hook, HookAnswer, Hooks, TagVerifier
from graveler_core.stores.opening import Reopening, portable
from graveler_core.stores.registers import RegisterCache, Registers
from graveler_core.stores.shared_reads import SharedReads
from graveler_core.stores.stores import RetryBudget, Stores
from graveler_core.stores.turns import Turns

__all__ = [
    "Aside",
    "AtOnce",
    "Background",
    "Cluster",
    "Executor",
    "Hook",
    "HookAnswer",
    "HookCalls",
    "Hooks",
    "RegisterCache",
    "Registers",
    "Reopening",
    "RetryBudget",
    "SharedReads",
    "SortedRows",
    "Stores",
    "TagVerifier",
    "Threads",
    "Turns",
    "portable",
]
