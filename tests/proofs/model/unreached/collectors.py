"""The collector, step by step (`gc.unreached`)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from tests.proofs.model.unreached.state import HIGH, NONE, Collector, State, family


def _at(s: State, number: int, me: Collector) -> State:
    return s._replace(collectors=(*s.collectors[:number], me, *s.collectors[number + 1 :]))


def collector(s: State, number: int, without: str) -> Iterator[State]:
    """`gc.unreached`, again and again. After a crash, the next one begins from the record."""
    me = s.collectors[number]
    match me.step:
        case "begin":
            yield from _begins(s, number, without)
        case "headers":
            yield _at(s, number, me._replace(step="tag", found=s.headers))
        case "tag" | "branch" | "former":
            yield _at(s, number, _read(s, me, without))
        case _:
            yield from _decides(s, number, without)
    if me.step != "begin":
        yield _at(s, number, Collector())


def _begins(s: State, number: int, without: str) -> Iterator[State]:
    record, me = s.record, Collector(saw=s.record)
    over = not record.waits or without == "wait for the grace period"
    match record.state:
        case "":
            yield _at(s, number, me._replace(step="flag"))
        case "flagged" if not record.waits or without == "adopt after a grace period":
            yield _at(s, number, me._replace(step="headers"))
        case "adopted" if s.headers:
            yield _at(s, number, me._replace(step="headers"))
        case "announced" if not record.confirmed:
            yield _at(s, number, me._replace(step="confirm"))
        case "announced" if over:
            late = s.late or (s.before and s.writer != "end")
            yield _at(s._replace(late=late), number, me._replace(step="headers"))
        case "removing":
            yield _at(s, number, me._replace(step="delete", due=record.ids))


def _read(s: State, me: Collector, without: str) -> Collector:
    """Read the references one by one, and the former heads after them."""
    order = ["tag", "branch", "former"]
    if without == "read former heads after references":
        order = ["tag", "former", "branch"]  # the walk begins with the tag in any case
    here = {"tag": s.tag, "branch": s.at, "former": s.former}[me.step]
    at = order.index(me.step) + 1
    roots = me.roots | (frozenset({HIGH}) if here else NONE)
    return me._replace(roots=roots, step=order[at] if at < len(order) else "decide")


def _swapped(s: State, number: int, step: str = "begin", **update: object) -> State:
    """The state after a collector has swapped the record, or lost."""
    me = s.collectors[number]
    if s.record.version != me.saw.version:
        return _at(s, number, Collector())
    new = me.saw._replace(waits=s.record.waits, version=me.saw.version + 1)
    new = new._replace(**update)  # type: ignore[arg-type]
    mine = Collector() if step == "begin" else me._replace(step=step, saw=new)
    return _at(s._replace(record=new), number, mine)


def _decides(s: State, number: int, without: str) -> Iterator[State]:
    me = s.collectors[number]
    if me.step in ("flag", "announce", "confirm") or (me.step == "decide" and me.saw.state != "announced"):
        yield from _announces(s, number, without)
    else:
        yield from _verifies(s, number, without)


def _announces(s: State, number: int, without: str) -> Iterator[State]:
    me, record, won = (
        s.collectors[number],
        s.collectors[number].saw,
        s.record.version == s.collectors[number].saw.version,
    )
    swapped = partial(_swapped, s, number)
    match me.step:
        case "flag":
            skip = without == "adopt what is unreachable before the first announcement"
            yield swapped(state="adopted" if skip else "flagged", waits=s.running)
        case "decide" if record.state == "flagged":
            adopted = s._replace(former=s.former or bool(me.found - family(me.roots)))
            won_state = record._replace(state="adopted", waits=NONE, version=record.version + 1)
            yield _at(adopted._replace(record=won_state) if won else adopted, number, Collector())
        case "decide" if record.state == "adopted":
            ids = me.found - family(me.roots)
            yield _at(s, number, me._replace(step="announce", due=ids, waits=s.running) if ids else Collector())
        case "announce":
            early = without == "the grace period begins after the swap"
            new = swapped(
                "begin" if early else "confirm",
                state="announced",
                ids=me.due,
                revived=NONE,
                waits=me.waits if early else NONE,
                confirmed=early,
            )
            yield new._replace(before=new.before or s.wrote) if won else new
        case "confirm":
            yield swapped(confirmed=True, waits=s.running)


def _verifies(s: State, number: int, without: str) -> Iterator[State]:
    me = s.collectors[number]
    match me.step:
        case "decide":
            yield from _finds_due(s, number, without)
        case "renew":
            renewed = s if s.at else s._replace(branch=s.branch + 1)
            after = "enter" if without in ("read references after that", "read references again") else "tag"
            yield _at(renewed, number, me._replace(step=after, again=True))
        case _:
            yield from _removes(s, number, without)


def _finds_due(s: State, number: int, without: str) -> Iterator[State]:
    me, record = s.collectors[number], s.collectors[number].saw
    roots = me.roots | (record.revived if without != "a revived commit keeps its ancestors" else NONE)
    if without != "a commit that was not announced keeps its ancestors":
        roots |= me.found - record.ids
    due = record.ids - family(roots) - record.revived
    if without == "read references again":
        due = record.ids - record.revived
    if not due:
        yield _swapped(s, number, state="adopted", ids=NONE, revived=NONE, confirmed=False)
    elif me.again or without.startswith("change the branch records"):
        yield _at(s, number, me._replace(step="enter", due=due))
    else:
        yield _at(s, number, me._replace(step="renew", due=due))


def _removes(s: State, number: int, without: str) -> Iterator[State]:
    me, record = s.collectors[number], s.collectors[number].saw
    match me.step:
        case "enter" if without == "enter commits before they are deleted":
            yield _at(s, number, me._replace(step="delete"))
        case "enter":
            yield _swapped(s, number, "delete", state="removing", ids=me.due, revived=NONE)
        case "delete":
            here = me.due & s.headers
            one = frozenset({HIGH}) & here or here
            if one:
                yield _at(s._replace(headers=s.headers - one), number, me)
            else:
                yield _at(s, number, me._replace(step="done"))
        case "done":
            removed = NONE if without == "remember what was deleted" else record.removed | me.due
            yield _swapped(s, number, state="adopted", ids=NONE, revived=NONE, removed=removed, confirmed=False)
