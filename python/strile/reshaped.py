"""A window of a handle in another shape, or beyond its bounds: which pixels are read, and which of the result are missing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .asked import level_of_overview, sides_of, whole
from .errors import StrileError
from .values import lacking, on_cpu

if TYPE_CHECKING:
    from ._core import Raster
    from .dataset import Dataset


@dataclass(frozen=True, slots=True)
class Shape:
    """`window` (column, row, width, height) of a level, the full one unless an overview was named, in `size` pixels."""

    window: tuple[int, int, int, int]
    size: tuple[int, int]
    level: int

    @staticmethod
    def of(dataset: Dataset, bands: list[int] | None, window: Any, shape: Any, overview: Any) -> Shape:
        level = level_of_overview(overview)
        levels = dataset.level_shapes
        if level >= len(levels):
            raise StrileError(f"{dataset.name} has {len(levels) - 1} overviews, and overview_level is {overview}")
        place = window or (0, 0, *levels[level])
        if shape is None:
            return Shape(place, sides_of(place[2:], "window"), level)
        expected = "expected (rows, columns) or (bands, rows, columns)"
        if isinstance(shape, str | bytes) or not hasattr(shape, "__len__") or len(shape) not in (2, 3):
            raise StrileError(f"out_shape is {shape!r}: {expected}")
        numbers = [whole(side) for side in shape]
        if None in numbers:
            raise StrileError(f"out_shape is {shape!r}: {expected}, in whole numbers")
        count = dataset.count if bands is None else len(bands)
        if len(numbers) == 3 and numbers[0] != count:
            raise StrileError(f"out_shape is {shape!r}: expected {count} bands, as many as are read")
        return Shape(place, sides_of((numbers[-1], numbers[-2]), "out_shape"), level)

    def missing(self, dataset: Dataset, array: Any, bands: list[int] | None, pixels: Raster, resampling: Any) -> Any:
        """True where pixels of the result are outside the file or not valid; `pixels` say which level they come from."""
        read = pixels.levels[0] if dataset.facts.kind == "tiff" else 0
        width, height = dataset.level_shapes[self.level]
        across, down = self._centres(0, 1.0), self._centres(1, 1.0)
        outside = np.logical_or.outer((down < 0) | (down >= height), (across < 0) | (across >= width))
        rules = dataset._rules(read, bands)
        if "layer" not in rules:
            return lacking(array, rules, None) | outside
        if str(getattr(resampling, "name", resampling)) != "nearest":
            raise StrileError(
                f"{dataset.name} has a mask in place of a nodata value, which is resampled by nearest only: read it with "
                "resampling='nearest', or read dataset_mask() separately"
            )
        layer = np.zeros(outside.shape, np.uint8)
        if not outside.all():
            columns, rows = dataset.level_shapes[read]
            picked = [
                np.clip(np.floor(self._centres(axis, side / full)).astype(np.int64), 0, side - 1)
                for axis, side, full in ((0, columns, width), (1, rows, height))
            ]
            inside = [part[~gone] for part, gone in zip(picked, (outside.all(axis=0), outside.all(axis=1)), strict=True)]
            first = [int(part.min()) for part in inside]
            extent = [int(part.max()) - start + 1 for part, start in zip(inside, first, strict=True)]
            mask = dataset._opened().read(on_cpu(level=read, window=(*first, *extent), layer="mask")).numpy()[0]
            column, row = (np.clip(part - start, 0, size - 1) for part, start, size in zip(picked, first, extent, strict=True))
            layer = np.where(outside, 0, mask[np.ix_(row, column)])
        return lacking(array, rules, layer) | outside

    def _centres(self, axis: int, scale: float) -> Any:
        """Where the centres of the result's pixels lie along an axis, in pixels of a level that is `scale` as long."""
        start, extent, count = self.window[axis], self.window[axis + 2], self.size[axis]
        return (start + (np.arange(count) + 0.5) * (extent / count)) * scale
