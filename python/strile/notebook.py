"""Shows an open file in a notebook: the main metadata, and a small picture."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .dataset import Dataset


def of_dataset(dataset: Dataset) -> str:
    from . import quicklook

    if dataset.closed:
        return f"<pre>{escape(repr(dataset))}</pre>"
    rows = "".join(
        f"<tr><th style='text-align:left'>{escape(name)}</th>"
        f"<td style='text-align:left'>{escape(value)}</td></tr>"
        for name, value in facts(dataset).items()
    )
    picture = quicklook.html(dataset.quicklook, " style='image-rendering:pixelated'")
    return (
        f"<div><strong>{escape(dataset.name)}</strong>"
        "<div style='display:flex;gap:1em;align-items:flex-start'>"
        f"<table>{rows}</table>{picture}</div></div>"
    )


def facts(dataset: Dataset) -> dict[str, str]:
    """Names and values, in the order they are shown."""
    block = dataset.block_shapes[0]
    shown = {
        "size": f"{dataset.width:,} × {dataset.height:,}, {dataset.count} band{'s' * (dataset.count > 1)}",
        "type": dataset.dtypes[0],
        "blocks": f"{block[1]} × {block[0]}, {dataset.compression}",
        "overviews": ", ".join(str(factor) for factor in dataset.overviews()) or "none",
        "nodata": "none" if dataset.nodata is None else str(dataset.nodata),
        "reference system": _system(dataset),
        "pixel": " × ".join(f"{number:g}" for number in dataset.res),
        "bounds": ", ".join(f"{number:g}" for number in dataset.bounds),
    }
    names = [name for name in dataset.descriptions if name]
    if names:
        shown["bands"] = ", ".join(names)
    return shown


def _system(dataset: Dataset) -> str:
    crs = dataset.facts.crs
    if crs is None:
        return "none"
    return (
        " ".join(part for part in (f"EPSG:{crs.epsg}" if crs.epsg else "", crs.name or "") if part)
        or "given as WKT"
    )
