"""Reads any window of a described result: for the eager array, a dask chunk, and on a GPU; of a file's own pixels, or of files onto
a grid.

A `Request` is small and can be pickled; it finds or opens its sources in the process where it runs. The core decodes, picks bands, turns,
inverts, masks and scales; numpy or CuPy, whichever holds the pixels, casts them. On a GPU the pixels come to the device that is current
there and then. """

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from .. import _core
from .._core import Layout, Meaning, Onto, Place, ReadOptions
from ..errors import GeoTIFFFallbackWarning
from . import cuda, opened
from .arguments import Arguments
from .source import Source

Window = tuple[int, int, int, int]
"""(row0, col0, row1, col1), half open, after the orientation is applied."""


@dataclass(frozen=True)
class Request:
    """One window of a source, or of a grid that sources are read onto."""

    sources: tuple[Source, ...]
    versions: tuple[tuple[int, str], ...]
    types: tuple[str | None, ...]
    """The type that the bands of a mosaic are read as, for each source."""
    level: int
    """The level that is read; the highest that may be needed for a grid."""
    reduce: int
    bands: tuple[int, ...]
    turn: tuple[int, int, int] | None
    """Orientation, and the height and width as stored, of an image that is turned."""
    onto: Onto | None
    masked: bool
    scaling: tuple[float, float] | None
    made: np.dtype
    """The type of the pixels as the core gives them."""
    searched_value: int | float | Literal["nodata"] | None
    dtype: np.dtype
    max_pixels: int | None
    max_cloud_bytes: int | None
    missing: str
    gpu: bool

    @staticmethod
    def of(calls: Sequence[Arguments], datasets: Sequence[Any], **own: Any) -> Request:
        """Makes the request of calls that differ only in their sources. `own` are the other fields."""
        call = calls[0]
        # A chunk may be read by a process that works in another folder.
        sources = tuple(one.source if one.chunks is None else one.source.anywhere() for one in calls)
        versions = tuple(tuple(dataset.version) for dataset in datasets)
        limits: dict[str, Any] = {"max_pixels": call.max_pixels, "max_cloud_bytes": call.max_cloud_bytes}
        return Request(sources=sources, versions=versions, missing=call.missing_sources, gpu=call.gpu, **limits, **own)

    @property
    def source(self) -> Source:
        return self.sources[0]

    @property
    def flat(self) -> bool:
        """Returns whether the result has no band axis."""
        return len(self.bands) == 1

    def identity(self) -> tuple[Any, ...]:
        """Returns a key that differs between requests. It has the whole location: URLs are shown without their queries."""
        facts = tuple((key, repr(value)) for key, value in sorted(vars(self).items()))
        places = tuple((str(source.location), source.storage, source.store) for source in self.sources)
        grid = () if self.onto is None else (self.onto.grid.crs, self.onto.grid.transform, self.onto.grid.shape)
        return (places, grid, *facts)

    def datasets(self) -> list[Any]:
        """Opens the sources; a file that has changed since is an error."""
        return [
            opened.dataset(source, level=self.level, missing=self.missing if source.is_vrt else "raise", dtype=dtype, version=version)
            for source, dtype, version in zip(self.sources, self.types, self.versions, strict=True)
        ]

    def check(self, dataset: Any, window: Window) -> None:
        """Refuses a result that is too large, by the rule of the core: it may be larger than what is read for it."""
        row, column, row1, column1 = window
        samples = (row1 - row) * (column1 - column) * len(self.bands)
        dataset.check_size(samples, samples * max(self.made.itemsize, self.dtype.itemsize), max_pixels=self.max_pixels)

    def options(
        self, window: Window, look_for: int | float | Literal["nodata"] | None = None, *, alone: bool = False
    ) -> ReadOptions:
        """Returns the options of the core's `read` and `plan`; with `alone`, a GPU that holds the result always decodes."""
        part = _core.stored_window(window, self.turn or (1, 0, 0))
        if self.onto is None:
            place = Place(level=self.level, reduce=self.reduce, window=part, bands=self.bands)
        else:
            place = Place(window=part, bands=self.bands, onto=self.onto)
        unpack = self.scaling is not None and not self._is_complex
        converted = (self.masked or unpack) and not self._is_complex
        meaning = Meaning(
            masked=self.masked,
            unpack=unpack,
            # Files on a grid have their own.
            scaling=self.scaling if self.onto is None else None,
            float_type=self.made.name if converted else None,
            invert_white=self.onto is None and not self.source.is_vrt,
            look_for=look_for,
        )
        layout = Layout(interleave="band" if self.flat else "pixel", apply_orientation=self.turn is not None)
        return ReadOptions(place, meaning, layout, cuda.execution(self, alone), device=cuda.place(self.gpu))

    def fallback(self, dataset: Any, window: Window) -> str | None:
        """Returns why the GPU will not do all of the work; None if it will. That depends on the layout of the file and on the request, not on the
        number of pixels: one pixel is planned, and only once for equal requests of a file. Mosaics have other sources elsewhere."""
        memo = {} if self.source.is_vrt else dataset.memo
        key = ("fallback", cuda.current(), self.level, self.reduce, self.bands, self.masked, self.scaling, self.made)
        if key not in memo:
            row, column = window[:2]
            memo[key] = dataset.plan(self.options((row, column, row + 1, column + 1), alone=True)).fallback
        reason: str | None = memo[key]
        return reason

    def read(self, window: Window) -> Any:
        """Reads the final pixels of a window: the work of one dask task."""
        datasets = self.datasets()
        if self.onto is None:
            self.check(datasets[0], window)
        return self.decoded(window, datasets)[0].astype(self.dtype, copy=False)

    def decoded(
        self,
        window: Window,
        datasets: Sequence[Any],
        *,
        progress: Any = None,
        holes: dict[str, str] | None = None,
        look: bool = False,
    ) -> tuple[Any, bool | None]:
        """Reads pixels of open sources before they are cast, and with `look` whether they hold nodata, masked or not.
        `holes` receives the names of sources that a mosaic skipped, and why."""
        options = self.options(window, self.searched_value if look else None)
        first, *others = datasets
        raster = _core.read_onto(list(datasets), options, progress=progress) if others else first.read(options, progress=progress)
        if self.missing == "warn" and self.onto is None:
            warn_of_holes(self.source, raster.holes, stacklevel=6)
            if holes is not None:
                holes.update(raster.holes)
        array = cuda.array(raster) if self.gpu else raster.numpy()
        if self.scaling is not None and self._is_complex:
            # The core scales real numbers.
            scale, offset = self.scaling
            array *= scale
            array += offset
        return array[0] if self.flat else array, raster.found

    @property
    def _is_complex(self) -> bool:
        return self.made.kind == "c"


def warn_of_holes(source: Source, holes: Iterable[tuple[str, str]], stacklevel: int) -> None:
    """Warns about each missing source of a mosaic, of (name, problem)."""
    for name, problem in holes:
        text = f"{source}: the source {name} leaves a hole ({problem}); see attrs['vrt_holes']"
        warnings.warn(text, GeoTIFFFallbackWarning, stacklevel=stacklevel + 1)
