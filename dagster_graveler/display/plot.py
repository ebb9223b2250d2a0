"""Plots as images embedded in markdown, which need no file server."""

from __future__ import annotations

import base64
import io
from typing import TYPE_CHECKING

import dagster as dg

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def in_markdown(figure: Figure, description: str) -> dg.MarkdownMetadataValue:
    """Return a figure as an image embedded in markdown.

    Args:
        figure: The figure.
        description: Alternative text of the image.
    """
    picture = io.BytesIO()
    figure.savefig(picture, format="png", dpi=80)
    encoded = base64.b64encode(picture.getvalue()).decode("ascii")
    return dg.MetadataValue.md(f"![{description}](data:image/png;base64,{encoded})")
