"""Keeps the mask image of a file that was read without it, as long as the array holds the same pixels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..values import on_cpu
from . import opened
from .source import Source

Ends = tuple[float, float, float, float]


@dataclass(frozen=True)
class FileMask:
    """The mask of a window (row0, col0, row1, col1). `ends` are the first and last coordinates of its rows and columns,
    which show whether the array was flipped; None without coordinates."""

    source: Source
    version: tuple[int, str]
    window: tuple[int, int, int, int]
    ends: Ends | None

    def read(self, row: int, column: int, height: int, width: int) -> Any:
        """Reads the mask: 255 for valid pixels of the array, 0 for others."""
        dataset = opened.dataset(self.source, level=0, version=self.version)
        place = (self.window[1] + column, self.window[0] + row, width, height)
        return dataset.read(on_cpu(layer="mask", window=place)).numpy()[0]

    def fits(self, data: Any, height: int, width: int) -> bool:
        """Returns whether an array still holds the pixels that it was read with, in their order."""
        row, column, row1, column1 = self.window
        if (row1 - row, column1 - column) != (height, width):
            return False
        return data is None or (self.ends is not None and self.ends == ends_of(data))


def ends_of(data: Any) -> Ends | None:
    """Returns the first and last coordinates of the rows and columns of a DataArray."""
    if "y" not in data.coords or "x" not in data.coords:
        return None
    y, x = data.coords["y"].values, data.coords["x"].values
    if y.ndim != 1 or x.ndim != 1:
        return None
    return float(y[0]), float(y[-1]), float(x[0]), float(x[-1])
