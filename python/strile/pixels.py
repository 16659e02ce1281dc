"""The pixels of one level as xarray's lazy array: an index becomes one read of a window.

A `PixelArray` says where pixels are and what becomes of them, and opens the file (found again in this
process's open sources) when it is indexed, so it can be pickled and sent to workers. Bands that are not asked
for are not read; steps and lists of indices are taken out of the window that holds them. Decoding follows
rioxarray: masked pixels become NaN in the smallest float that holds the stored type, then scale and offset
are applied in that type."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from xarray.backends import BackendArray
from xarray.core import indexing

from ._core import Execution, Meaning, Onto, Place, ReadOptions
from .reading import opened
from .reading.source import Source


def float_type(stored: np.dtype[Any]) -> np.dtype[Any]:
    """Returns the float type of decoded values: float32 or float64 by the size of integers; floats stay."""
    if stored.kind in "fc":
        return stored if stored.itemsize > 2 else np.dtype(np.float32)
    return np.dtype(np.float32 if stored.itemsize <= 2 else np.float64)


@dataclass(frozen=True)
class Decoding:
    """How stored values are decoded. `masked`: missing pixels become NaN, in the core. `scales` and `offsets` are one per
    band, or None."""

    masked: bool
    scales: tuple[float, ...] | None
    offsets: tuple[float, ...] | None


@dataclass(eq=False, repr=False)
class PixelArray(BackendArray):
    """(band, y, x) of a level."""

    source: Source
    level: int
    reduce: int
    shape: tuple[int, int, int]
    dtype: np.dtype[Any]
    decoding: Decoding
    device: str
    decode_on: str
    version: tuple[int, str]
    max_pixels: int | None = None
    onto: Onto | None = None
    masked_outside: bool = False

    def __getitem__(self, key: indexing.ExplicitIndexer) -> Any:
        return indexing.explicit_indexing_adapter(key, self.shape, indexing.IndexingSupport.OUTER, self.read)

    def check(self) -> None:
        """Refuses what has no lower resolution, by the plan of a pixel."""
        if self.reduce == 0:
            return
        dataset = opened.dataset(self.source, level=self.level, version=self.version)
        place = Place(level=self.level, reduce=self.reduce, window=(0, 0, 1, 1))
        dataset.plan(ReadOptions(place, Meaning(masked=self.decoding.masked), execution=Execution(decode_on="cpu")))

    def read(self, key: tuple[Any, ...]) -> Any:
        """Reads the pixels of one index per axis: slices, numbers or lists."""
        spans = [Span.of(index, length) for index, length in zip(key, self.shape, strict=True)]
        bands, rows, columns = spans
        if any(span.count == 0 for span in spans):
            pixels = np.empty([span.count for span in spans], self.dtype)
        else:
            window = (columns.start, rows.start, columns.count, rows.count)
            pixels = self._window(range(bands.start, bands.start + bands.count), window)
        for axis in (2, 1, 0):
            pixels = spans[axis].take(pixels, axis)
        return pixels

    def _window(self, bands: range, window: tuple[int, int, int, int]) -> Any:
        """Reads and decodes neighbouring bands (from 0) of a window (column, row, width, height)."""
        dataset = opened.dataset(self.source, level=self.level, version=self.version)
        how = self.decoding
        samples = len(bands) * window[2] * window[3]
        dataset.check_size(samples, samples * self.dtype.itemsize, max_pixels=self.max_pixels)
        is_scaled = how.scales is not None and how.offsets is not None and (set(how.scales) != {1.0} or set(how.offsets) != {0.0})
        numbers = [band + 1 for band in bands]
        if self.onto is None:
            place = Place(level=self.level, reduce=self.reduce, window=window, bands=numbers)
            masked, unpack = how.masked, False
        else:
            # On a grid, whose pixels the window counts, values are scaled before they are resampled.
            place = Place(window=window, bands=numbers, onto=self.onto)
            masked, unpack = how.masked or self.masked_outside, is_scaled
        floats = self.dtype.name if self.dtype.kind == "f" and (masked or unpack) else None
        meaning = Meaning(masked=masked, unpack=unpack, float_type=floats)
        execution = Execution(decode_on=self.decode_on, max_pixels=self.max_pixels)
        pixels = _array(dataset.read(ReadOptions(place, meaning, execution=execution, device=self.device)))
        if self.onto is not None:
            return pixels.astype(self.dtype, copy=False)
        if pixels.dtype != self.dtype:
            pixels = pixels.astype(self.dtype)
        for number, band in enumerate(bands):
            if how.scales is not None and how.scales[band] != 1.0:
                pixels[number] *= how.scales[band]
            if how.offsets is not None and how.offsets[band] != 0.0:
                pixels[number] += how.offsets[band]
        return pixels


@dataclass(frozen=True)
class Span:
    """The pixels of an index along one axis: `count` of them from `start` are read, of which `then` selects."""

    start: int
    count: int
    then: Any = None

    @staticmethod
    def of(index: Any, length: int) -> Span:
        if isinstance(index, slice):
            places = range(length)[index]
            if len(places) == 0:
                return Span(0, 0)
            first, last = min(places[0], places[-1]), max(places[0], places[-1])
            return Span(first, last - first + 1, None if places.step == 1 else slice(None, None, places.step))
        if isinstance(index, (int, np.integer)):
            return Span(int(index) % length, 1, 0)
        listed: np.ndarray[Any, Any] = np.asarray(index)
        listed = np.where(listed < 0, listed + length, listed)
        if listed.size == 0:
            return Span(0, 0)
        first = int(listed.min())
        return Span(first, int(listed.max()) - first + 1, listed - first)

    def take(self, pixels: Any, axis: int) -> Any:
        if self.then is None:
            return pixels
        return pixels[(slice(None),) * axis + (self.then,)]


def _array(raster: Any) -> Any:
    if raster.device == "cpu":
        return raster.numpy()
    import cupy

    return cupy.from_dlpack(raster)
