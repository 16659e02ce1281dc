"""What a handle tells of single pixels and of all: places, samples, masks, colours, statistics, in rasterio's words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .asked import level_of, window_of
from .errors import StrileError
from .facts import Facts, Transform

class Statistics(NamedTuple):
    """Figures of the valid pixels of a band; `std` is that of all of them (population), as in GDAL."""

    min: float
    max: float
    mean: float
    std: float


class Values:
    """The methods; a `Dataset` has the rest."""

    if TYPE_CHECKING:
        name: str
        @property
        def width(self) -> int: ...
        @property
        def height(self) -> int: ...
        @property
        def count(self) -> int: ...
        @property
        def indexes(self) -> tuple[int, ...]: ...
        @property
        def nodata(self) -> int | float | None: ...
        @property
        def transform(self) -> Transform: ...
        _facts: Facts

        def _opened(self) -> Any: ...
        def _band(self, number: Any) -> int: ...
        def read(self, *arguments: Any, **keywords: Any) -> Any: ...

    def index(self, x: Any, y: Any) -> tuple[Any, Any]:
        """Row and column of the pixel that holds a place, or of each place of two sequences."""
        a, b, c, d, e, f = self.transform
        across, down = np.asarray(x, np.float64) - c, np.asarray(y, np.float64) - f
        scale = a * e - b * d
        rows = np.floor((a * down - d * across) / scale).astype(np.int64)
        columns = np.floor((e * across - b * down) / scale).astype(np.int64)
        return (int(rows), int(columns)) if rows.ndim == 0 else (rows.tolist(), columns.tolist())

    def xy(self, row: Any, col: Any, offset: str = "center") -> tuple[Any, Any]:
        """The place of a pixel's centre, or of a corner: "ul", "ur", "ll", "lr"; of each pixel of two sequences."""
        places = {"center": (0.5, 0.5), "ul": (0.0, 0.0), "ur": (0.0, 1.0), "ll": (1.0, 0.0), "lr": (1.0, 1.0)}
        if offset not in places:
            raise StrileError(f"offset is {offset!r}: expected one of {', '.join(places)}")
        a, b, c, d, e, f = self.transform
        down = np.asarray(row, np.float64) + places[offset][0]
        across = np.asarray(col, np.float64) + places[offset][1]
        xs, ys = a * across + b * down + c, d * across + e * down + f
        return (float(xs), float(ys)) if xs.ndim == 0 else (xs, ys)

    def sample(self, xy: Iterable[Any], indexes: Any = None, masked: bool = False) -> Iterator[Any]:
        """Returns the values of bands at places (x, y), one array for each; outside the file its nodata value, else 0.

        `masked` masks what is outside, and what nodata, mask or alpha hide. Places are read in batches of 65,536: blocks
        that several of them share are decoded once per batch."""
        from . import _core

        one = isinstance(indexes, (int, np.integer))
        chosen: Any = [indexes] if one else indexes
        bands = list(self.indexes) if chosen is None else [self._band(number) for number in chosen]
        for points in _batched(xy, 65_536):
            places = np.asarray([point[:2] for point in points], np.float64)
            dtype, found, flags = _core.sample(self._opened(), places.tobytes(), bands)
            values = np.frombuffer(bytearray(found), dtype).reshape(len(points), len(bands))
            valid = np.frombuffer(flags, bool).reshape(values.shape)
            for value, is_valid in zip(values, valid, strict=True):
                yield np.ma.MaskedArray(value, ~is_valid) if masked else value

    def _missing(self, array: Any) -> Any:
        nodata = self.nodata
        if nodata is None:
            return np.zeros(array.shape, bool)
        return np.isnan(array) if nodata != nodata else array == nodata

    def colormap(self, bidx: int = 1) -> dict[int, tuple[int, int, int, int]]:
        """The colours of a palette: (red, green, blue, alpha) from 0 to 255, by value."""
        self._band(bidx)
        stored = {tag: value for tag, _, _, value in self._opened().tags(tables=False)} if self._facts.kind == "tiff" else {}
        table = stored.get(320)
        if table is None or bidx != 1:
            raise StrileError(f"{self.name}: band {bidx} has no colour table")
        entries = np.asarray(table, np.int64).reshape(3, -1)
        # 16 bits a colour, made from 8 by one of two factors; some writers left them at 8.
        factor = 1 if entries.max() < 256 else 257 if (entries % 257 == 0).all() else 256
        nodata = self.nodata
        return {
            value: (int(red), int(green), int(blue), 0 if value == nodata else 255)
            for value, (red, green, blue) in enumerate((entries // factor).T)
        }

    def read_masks(self, indexes: Any = None, window: Any = None, *, overview_level: int | None = None) -> Any:
        """255 where pixels of a band are valid, 0 where they are not: by the mask image, alpha, or the nodata value."""
        one = isinstance(indexes, (int, np.integer))
        bands = list(self.indexes) if indexes is None else [indexes] if one else list(indexes)
        request = {"level": level_of(overview_level), "window": window_of(window), "device": "cpu", "out_memory": "host"}
        core = self._opened()
        numbers = [self._band(band) for band in bands]
        if self.nodata is None and self._facts.mask_source in ("image", "alpha"):
            layer = core.read(layer="mask", **request).numpy()[0]
            alpha = core.mask_beside_nodata(0, request["level"])
            spared = alpha[1] if alpha is not None else None
            masks = np.stack([np.full_like(layer, 255) if number == spared else layer for number in numbers])
        else:
            pixels = core.read(bands=numbers, **request).numpy()
            masks = np.where(self._missing(pixels), 0, 255).astype(np.uint8)
        return masks[0] if one else masks

    def dataset_mask(self, window: Any = None, *, overview_level: int | None = None) -> Any:
        """255 where a pixel of any band is valid, 0 where none is."""
        masks = self.read_masks(None, window, overview_level=overview_level)
        if self.nodata is None and self._facts.mask_source == "alpha":
            alpha = self._opened().mask_beside_nodata(0, level_of(overview_level))
            spared = None if alpha is None else alpha[1]
            masks = masks[[number for number in range(self.count) if number + 1 != spared]]
        return masks.max(axis=0)

    def statistics(self, bidx: int = 1) -> Statistics:
        """Smallest, largest, mean and standard deviation of the valid pixels of a band, all of them read, in pieces."""
        from . import _core

        (band,) = _core.measure(self._opened(), bands=[self._band(bidx)], statistics=True)
        found = band["statistics"]
        if not found["valid"]:
            raise StrileError(f"{self.name}: band {bidx} has no valid pixel")
        return Statistics(found["minimum"], found["maximum"], found["mean"], found["standard_deviation"])

    def checksum(self, bidx: int = 1, window: Any = None) -> int:
        """The checksum of a band that GDAL and rasterio compute, from 0 to 65535."""
        from . import _core

        (band,) = _core.measure(self._opened(), bands=[self._band(bidx)], window=window_of(window), checksum=True)
        return int(band["checksum"])


def _batched(values: Iterable[Any], count: int) -> Iterator[list[Any]]:
    iterator = iter(values)
    while batch := list(islice(iterator, count)):
        yield batch
