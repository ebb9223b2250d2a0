"""Options of the command line as dataclasses: a field has the name, type, help and default of one option."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from typing import Annotated, Any, TypeVar, get_type_hints

import typer

T = TypeVar("T")
_PANEL = "Shared options"


@dataclass(frozen=True, slots=True)
class Options:
    """Options that all commands share, as given."""

    store: Annotated[
        str | None,
        typer.Option(
            "--store",
            metavar="URL",
            rich_help_panel=_PANEL,
            help="URL of the key-value store. Default: GRAVELER_STORE, else .graveler in the working directory.",
        ),
    ] = None
    as_json: Annotated[
        bool, typer.Option("--json", rich_help_panel=_PANEL, help="Write JSON, one document per line.")
    ] = False
    committer: Annotated[
        str | None,
        typer.Option(
            "--committer",
            metavar="NAME",
            rich_help_panel=_PANEL,
            help="Name of the committer. Default: GRAVELER_COMMITTER, else your user name.",
        ),
    ] = None
    log_level: Annotated[
        str | None,
        typer.Option(
            "--log-level",
            metavar="LEVEL",
            rich_help_panel=_PANEL,
            help="Level of the log on stderr: debug, info, warning or error. Default: GRAVELER_LOG_LEVEL, else no log.",
        ),
    ] = None
    log_format: Annotated[
        str | None,
        typer.Option(
            "--log-format",
            metavar="FORMAT",
            rich_help_panel=_PANEL,
            help="Format of the log: text or json. Default: GRAVELER_LOG_FORMAT, else text.",
        ),
    ] = None

    def over(self, outer: Options) -> Options:
        """Return these options, with missing ones taken from those before the command name.

        An empty text is not missing.
        """
        own = {each.name: getattr(self, each.name) for each in fields(self)}
        return replace(outer, **{name: value for name, value in own.items() if value not in (None, False)})


def signature(own: Iterable[inspect.Parameter], *options: type) -> inspect.Signature:
    """Return the signature of a command with its own parameters, followed by the fields of dataclasses of options."""
    keyword = inspect.Parameter.KEYWORD_ONLY
    added = [
        inspect.Parameter(field.name, keyword, annotation=hint, default=field.default)
        for each in options
        for field, hint in zip(fields(each), get_type_hints(each, include_extras=True).values(), strict=True)
    ]
    return inspect.Signature([*(parameter.replace(kind=keyword) for parameter in own), *added])


def taken(options: type[T], given: dict[str, Any]) -> T:
    """Remove the fields of a dataclass of options from the arguments of a command, and return them as the dataclass."""
    return options(**{field.name: given.pop(field.name) for field in fields(options)})  # type: ignore[arg-type]
