"""`strile.Window`: a rectangle of pixels."""

from __future__ import annotations

from typing import NamedTuple


class Window(NamedTuple):
    """A rectangle of pixels: (column, row, width, height), in pixels of the level that is read.

    Every `window` argument of this package takes it. strile's own functions also take a plain tuple of these four
    numbers; `open_geotiff` reads a plain tuple as (row0, col0, row1, col1)."""

    column: int
    row: int
    width: int
    height: int
