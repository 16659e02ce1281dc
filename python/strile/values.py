"""Provides the methods of a handle for pixels and places: samples, masks, colours, statistics, with the names of rasterio."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from . import _core, conventions
from ._core import Execution, Place, ReadOptions
from .checks import flag_of, is_listed, level_of_overview, method_of, whole, window_of
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
        def dtypes(self) -> tuple[str, ...]: ...
        @property
        def nodata(self) -> int | float | None: ...
        @property
        def transform(self) -> Transform: ...
        _facts: Facts

        def _opened(self) -> Any: ...
        def _band(self, number: Any) -> int: ...
        def _bands(self, numbers: Any) -> list[int]: ...
        def read(self, *arguments: Any, **keywords: Any) -> Any: ...

    def index(self, x: Any, y: Any) -> tuple[Any, Any]:
        """Returns row and column of the pixel at a place, or of each place of two sequences."""
        xs, ys = _coordinates(x, "x"), _coordinates(y, "y")
        if xs.shape != ys.shape:
            raise StrileError(f"x has shape {xs.shape} and y {ys.shape}: expected as many of both")
        # Those far away are as far as whole numbers reach.
        found = np.floor(np.clip(conventions.map_points(self.transform, xs, ys, inverse=True), -(2.0**40), 2.0**40)).astype(np.int64)
        columns, rows = found.tolist()
        return rows, columns

    def xy(self, row: Any, col: Any, offset: str = "center") -> tuple[Any, Any]:
        """Returns the place of a pixel's centre, or of a corner: "ul", "ur", "ll", "lr"; of each pixel of two sequences."""
        corners = {"center": (0.5, 0.5), "ul": (0.0, 0.0), "ur": (0.0, 1.0), "ll": (1.0, 0.0), "lr": (1.0, 1.0)}
        if not isinstance(offset, str) or offset not in corners:
            raise StrileError(f"offset is {offset!r}: expected one of {', '.join(corners)}")
        rows, columns = _coordinates(row, "row"), _coordinates(col, "col")
        if rows.shape != columns.shape:
            raise StrileError(f"row has shape {rows.shape} and col {columns.shape}: expected as many of both")
        down, across = rows + corners[offset][0], columns + corners[offset][1]
        xs, ys = conventions.map_points(self.transform, across, down)
        return (xs, ys) if rows.ndim else (float(xs), float(ys))

    def sample(self, xy: Iterable[Any], indexes: Any = None, masked: bool = False, *, crs: Any = None) -> Iterator[Any]:
        """Returns the values of bands at places (x, y), one array for each; outside the file its nodata value, else 0.

        `crs` is the reference system of the places, longitude before latitude: a code, "EPSG:n", WKT, a PROJ string, or an object of another package. By
        default it is the file's. `masked` masks what is outside, and what nodata, mask or alpha hide. Places are read in batches of 65,536: blocks
        that several of them share are decoded once per batch."""
        yield from self._sampled(xy, indexes, masked, crs, [])

    def _sampled(self, xy: Iterable[Any], indexes: Any, masked: bool, crs: Any, outside: list[int]) -> Iterator[Any]:
        """`sample`, which adds the number of places outside the file to `outside`, once per batch."""
        one = whole(indexes) is not None
        bands = self._bands(self.indexes if indexes is None else [indexes] if one else indexes)
        if not is_listed(xy):
            raise TypeError(f"xy is {xy!r}: expected places (x, y)")
        masked = flag_of(masked, "masked")
        for points in _batched(xy, 65_536):
            places = np.ascontiguousarray(_places(points)[:, :2], np.float64)
            dtype, found, flags, missed = _core.sample(self._opened(), places.tobytes(), bands, crs)
            outside.append(missed)
            values = np.frombuffer(bytearray(found), dtype).reshape(len(points), len(bands))
            valid = np.frombuffer(flags, bool).reshape(values.shape)
            for value, is_valid in zip(values, valid, strict=True):
                yield np.ma.MaskedArray(value, ~is_valid) if masked else value

    def colormap(self, bidx: int = 1) -> dict[int, tuple[int, int, int, int]]:
        """Returns the colours of a palette: (red, green, blue, alpha) from 0 to 255, by value."""
        table = self._opened().colour_table(self._band(bidx))
        if not table:
            raise StrileError(f"{self.name}: band {bidx} has no colour table")
        return dict(enumerate(table))

    def read_masks(self, indexes: Any = None, window: Any = None, *, overview_level: int | None = None) -> Any:
        """Reads the masks of bands: 255 for valid pixels, 0 for others, by the mask image, alpha, or the nodata value."""
        one = whole(indexes) is not None
        bands: Any = self.indexes if indexes is None else [indexes] if one else indexes
        options = on_cpu(level=level_of_overview(overview_level), window=window_of(window), bands=self._bands(bands))
        masks = self._opened().read_masks(options).numpy()
        return masks[0] if one else masks

    def dataset_mask(
        self, window: Any = None, *, overview_level: int | None = None, grid: Any = None, resampling: Any = "nearest", tolerance: Any = None
    ) -> Any:
        """Reads one mask of all bands: 255 for pixels that are valid in any band, 0 for others.

        With `grid` (as in `strile.read`, with its `resampling` and `tolerance`) it is the mask of the file on that grid: 255 where the method
        gives a value. `window` is then in pixels of the grid, and `overview_level` None takes the coarsest overview that suffices."""
        onto = None
        if grid is not None:
            from .grid_options import onto_of

            number = None if overview_level is None else level_of_overview(overview_level)
            onto, overview_level = onto_of(grid, resampling=resampling, tolerance=tolerance, level=number), None
        elif tolerance is not None or method_of(resampling) != "nearest":
            raise StrileError("resampling and tolerance are for masks on a grid: pass grid= with them, or drop them")
        options = on_cpu(level=level_of_overview(overview_level), window=window_of(window), onto=onto)
        return self._opened().read_mask_of_all(options).numpy()[0]

    def statistics(self, bidx: int = 1) -> Statistics:
        """Computes smallest, largest, mean and standard deviation of the valid pixels of a band. Reads all pixels, in pieces."""
        (band,) = _core.measure(self._opened(), bands=[self._band(bidx)], statistics=True)
        found = band["statistics"]
        if not found["valid"]:
            raise StrileError(f"{self.name}: band {bidx} has no valid pixel")
        return Statistics(found["minimum"], found["maximum"], found["mean"], found["standard_deviation"])

    def checksum(self, bidx: int = 1, window: Any = None) -> int:
        """Computes the checksum of a band by the algorithm of GDAL, from 0 to 65535."""
        (band,) = _core.measure(self._opened(), bands=[self._band(bidx)], window=window_of(window), checksum=True)
        return int(band["checksum"])


def on_cpu(**place: Any) -> ReadOptions:
    """Returns the options of a read that the CPU decodes into host memory."""
    return ReadOptions(Place(**place), execution=Execution(decode_on="cpu"))


def _batched(values: Iterable[Any], count: int) -> Iterator[list[Any]]:
    iterator = iter(values)
    while batch := list(islice(iterator, count)):
        yield batch


def _coordinates(values: Any, name: str) -> Any:
    """Returns a number, or a sequence of them."""
    try:
        found = np.asarray(values)
        numbers = found.astype(np.float64) if found.dtype.kind in "iuf" else None
    except (TypeError, ValueError):
        numbers = None
    if numbers is None or numbers.ndim > 1:
        raise TypeError(f"{name} is {values!r}: expected a number, or a sequence of numbers")
    if not np.isfinite(numbers).all():
        raise StrileError(f"{name} is {values!r}: expected finite numbers")
    return numbers


def _places(points: list[Any]) -> Any:
    """Returns x and y of pairs; a third number, a height, is ignored as in rasterio."""
    try:
        places = np.asarray([tuple(point)[:2] for point in points], np.float64)
    except (TypeError, ValueError):
        places = np.empty((0, 0))
    if places.ndim != 2 or places.shape[1] != 2:
        raise TypeError("xy holds something other than places: expected pairs of numbers (x, y)")
    wrong = np.flatnonzero(~np.isfinite(places).all(axis=1))
    if wrong.size:
        raise StrileError(f"a place of xy is {tuple(places[wrong[0]].tolist())}: expected finite numbers (x, y)")
    return places
