"""Pieces of a raster on their way to the writer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from .raster import RasterToWrite


@dataclass(slots=True)
class Piece:
    """Some pixels, all bands of them, and where their first one lies."""

    array: Any
    row: int
    column: int


def whole(raster: RasterToWrite) -> Iterator[Piece]:
    """An array that is there is one piece: the core cuts it, and copies nothing."""
    yield Piece(raster.array, 0, 0)
