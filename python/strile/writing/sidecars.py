"""Small files beside a raster: GDAL's `.aux.xml` (names and colours of categories, statistics) and QGIS's
`.qml` style.

The core makes both. It puts `.aux.xml` beside the file together with it. A `.qml` has another base
name, so it is written after the file.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import _core
from ..errors import StrileError
from .pixels import Statistics

Range = tuple[float, float]


def number_text(value: float) -> str:
    """Returns a number as a short text that reads back as the same number."""
    return str(int(value)) if float(value).is_integer() and abs(value) < 1e15 else repr(float(value))


def aux_xml(
    names: Sequence[str],
    colours: Sequence[Any],
    statistics: Statistics | None,
    bounds: Range | None,
    tables: tuple[str, tuple[int, ...]] | None = None,
) -> bytes | None:
    """Returns the text of `.aux.xml`; None if there is nothing to write. `bounds` replace statistics that were
    not gathered; `tables` is the text of tables that say what colours would, and which of its bands each band is."""
    figures = _figures(statistics, bounds)
    items = [(f"STATISTICS_{key}", number_text(value)) for key, value in figures.items()]
    text, bands = (None, ()) if tables is None else tables
    return _core.aux_xml([str(name) for name in names], [_rgba(colour) for colour in colours], items, text, bands)


def _figures(statistics: Statistics | None, bounds: Range | None) -> dict[str, float]:
    if bounds is not None:
        return {"MINIMUM": bounds[0], "MAXIMUM": bounds[1]}
    if statistics is None or not statistics.count:
        return {}
    return {
        "MINIMUM": statistics.minimum,
        "MAXIMUM": statistics.maximum,
        "MEAN": statistics.mean,
        "STDDEV": statistics.deviation,
    }


def _rgba(colour: Any) -> tuple[int, ...]:
    """Returns red, green, blue and alpha, from 0 to 255. Alpha is 255 by default."""
    try:
        parts = [int(part) for part in np.asarray(colour).ravel()]
    except (TypeError, ValueError):
        parts = []
    if len(parts) == 3:
        parts.append(255)
    if len(parts) != 4 or not all(0 <= part <= 255 for part in parts):
        raise StrileError(
            f"attrs['category_colors'] has {colour!r}: expected (red, green, blue, alpha) from 0 to 255"
        )
    return tuple(parts)


def style_bounds(statistics: Statistics | None, bounds: Range | None) -> Range | None:
    """Returns the range of a ramp; None for constant data or no data."""
    if bounds is None and statistics is not None and statistics.count:
        bounds = statistics.minimum, statistics.maximum
    if bounds is None or not all(map(math.isfinite, bounds)) or not bounds[0] < bounds[1]:
        return None
    return bounds
