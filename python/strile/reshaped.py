"""A window of a handle in another shape, or beyond its bounds: which pixels are read, and which of the result are missing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .asked import level_of_overview, sides_of, whole
from .errors import StrileError

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
        if not dataset._has_layer:
            return dataset._missing(array) | outside
        if str(getattr(resampling, "name", resampling)) != "nearest":
            raise StrileError(
                f"{dataset.name} has a mask in place of a nodata value, which is resampled by nearest only: read it with "
                "resampling='nearest', or read dataset_mask() apart"
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
            request = {"level": read, "window": (*first, *extent), "decode_on": "cpu"}
            mask = dataset._opened().read(layer="mask", **request).numpy()[0]
            column, row = (np.clip(part - start, 0, size - 1) for part, start, size in zip(picked, first, extent, strict=True))
            layer = np.where(outside, 0, mask[np.ix_(row, column)])
        return (dataset._by_layer(layer, bands or dataset.indexes, read) == 0) | outside

    def _centres(self, axis: int, scale: float) -> Any:
        """Where the centres of the result's pixels lie along an axis, in pixels of a level that is `scale` as long."""
        start, extent, count = self.window[axis], self.window[axis + 2], self.size[axis]
        return (start + (np.arange(count) + 0.5) * (extent / count)) * scale


def mosaic_in(
    handle: Dataset, window: tuple[int, int, int, int], bands: Any, size: tuple[int, int], resampling: str, keywords: dict[str, Any]
) -> Raster:
    """A window of a VRT, which may leave it, in another size: the pixels of the window are read, and the nearest taken."""
    from ._core import Raster
    from .asked import bands_of
    from .reading.arguments import pixel_limit
    from .writing.nodata import fits

    shape = Shape(window, size, 0)
    device, decode_on = str(keywords.get("device", "cpu")), keywords.get("decode_on", "auto")
    if device != "cpu" or decode_on not in ("auto", "cpu"):
        problem = f"got device={device!r} and decode_on={decode_on!r}"
        raise StrileError(f"{handle.name} is a VRT, which the CPU reads into host memory: expected device='cpu', {problem}")
    if resampling != "nearest" and size != window[2:]:
        raise StrileError(
            f"{handle.name} is a VRT, which is resampled by nearest only, got resampling={resampling!r}: convert it first, "
            "or resample the array"
        )
    if keywords.get("masked") or keywords.get("unpack"):
        raise StrileError(f"{handle.name} is a VRT, and size cannot be combined with masked and unpack: read it without size")
    count, dtype = len(bands or handle.indexes), handle.dtypes[0]
    fill = keywords.get("fill")
    fill = (0 if handle.nodata is None else handle.nodata) if fill is None else fill
    found = Raster.zeros(dtype, (count, size[1], size[0]))
    array = found.numpy()
    picked = [np.floor(shape._centres(axis, 1.0)).astype(np.int64) for axis in (0, 1)]
    inside = [(part >= 0) & (part < side) for part, side in zip(picked, (handle.width, handle.height), strict=True)]
    if not (inside[0].all() and inside[1].all()):
        if array.dtype.kind != "c" and not fits(fill, array.dtype):
            raise StrileError(f"fill_value is {fill}, which pixels of {array.dtype} cannot hold")
        array[...] = fill
    if inside[0].any() and inside[1].any():
        first = [int(part[there].min()) for part, there in zip(picked, inside, strict=True)]
        extent = [int(part[there].max()) - at + 1 for part, there, at in zip(picked, inside, first, strict=True)]
        pixels = handle._opened().read(
            window=(*first, *extent), bands=bands_of(bands), decode_on="cpu",
            max_pixels=pixel_limit(keywords.get("max_pixels")),
        )  # fmt: skip
        columns, rows = (part[there] - at for part, there, at in zip(picked, inside, first, strict=True))
        array[np.ix_(range(count), inside[1], inside[0])] = pixels.numpy()[np.ix_(range(count), rows, columns)]
    return found
