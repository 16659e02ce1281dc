"""The read of any window of a described result: for the eager array, a dask chunk, and on a GPU.

A `Request` is small and can be pickled; it finds or opens its source in the process where it runs. The core
decodes, picks bands, turns, inverts and masks what it can; numpy or CuPy, whichever holds the pixels, do the
rest in place. On a GPU the pixels come to the device that is current there and then. """

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from .._core import Layout, Meaning, Place, ReadOptions
from ..errors import GeoTIFFFallbackWarning
from . import cuda, opened
from .nodata import holds
from .source import Source

Window = tuple[int, int, int, int]
"""(row0, col0, row1, col1), half open, after the orientation is applied."""


@dataclass(frozen=True)
class Masking:
    """How pixels without data become NaN: by the core while it decodes, or by comparing with `values`, one for all bands or
    one for each."""

    how: Literal["core", "values"]
    values: tuple[int | float | None, ...] = ()


@dataclass(frozen=True)
class Turn:
    """An orientation and the size as stored: where a window of the turned image lies in the file."""

    orientation: int
    height: int
    width: int

    def stored(self, window: Window) -> Window:
        row, column, row1, column1 = window
        if self.orientation > 4:
            row, column, row1, column1 = column, row, column1, row1
        if self.orientation in (3, 4, 6, 7):
            row, row1 = self.height - row1, self.height - row
        if self.orientation in (2, 3, 7, 8):
            column, column1 = self.width - column1, self.width - column
        return row, column, row1, column1


@dataclass(frozen=True)
class Request:
    """One window of a source, ready to be read."""

    source: Source
    version: tuple[int, str]
    level: int
    reduce: int
    bands: tuple[int, ...]
    flat: bool
    turn: Turn
    inverted_from: int | None
    stored: np.dtype
    floating: np.dtype | None
    masking: Masking | None
    looked_for: int | float | Literal["nodata"] | None
    scaling: tuple[float, float] | None
    dtype: np.dtype
    max_pixels: int | None
    max_cloud_bytes: int | None
    missing: str
    gpu: bool

    def identity(self) -> tuple[Any, ...]:
        """What tells this request from others. By the whole location: what is shown of a URL is the same for different queries."""
        facts = tuple((key, repr(value)) for key, value in sorted(vars(self).items()))
        return (str(self.source.location), self.source.storage, self.source.store, *facts)

    def dataset(self) -> Any:
        """The open source; an error where it is another file than the one that was described."""
        return opened.dataset(
            self.source,
            level=self.level,
            missing=self.missing,
            dtype=self.stored.name if self.source.is_vrt else None,
            version=self.version,
        )

    def check(self, dataset: Any, window: Window) -> None:
        """Refuses a result that is too large, by the rule of the core: it may be larger than what is read for it."""
        row, column, row1, column1 = window
        samples = (row1 - row) * (column1 - column) * len(self.bands)
        size = max(dtype.itemsize for dtype in (self.stored, self.floating or self.stored, self.dtype))
        dataset.check_size(samples, samples * size, max_pixels=self.max_pixels)

    def options(self, window: Window, look_for: int | float | Literal["nodata"] | None = None) -> ReadOptions:
        """Those of the core's `read` and `plan`."""
        row, column, row1, column1 = self.turn.stored(window)
        by_core = self._by_core
        place = Place(level=self.level, reduce=self.reduce, window=(column, row, column1 - column, row1 - row), bands=self.bands)
        meaning = Meaning(
            masked=by_core,
            float_type=self.floating.name if by_core and self.floating is not None else None,
            invert_white=self.inverted_from is not None and not self._inverted_here,
            look_for=look_for,
        )
        layout = Layout(interleave="band" if self.flat else "pixel", apply_orientation=self.turn.orientation != 1)
        return ReadOptions(place, meaning, layout, cuda.execution(self), device=cuda.place(self.gpu))

    def fallback(self, dataset: Any, window: Window) -> str | None:
        """Why the GPU will not do all of the work; None where it will. That depends on the layout of the file and on the request, not on the
        number of pixels: one pixel is planned, and only once for equal requests of a file. Mosaics have other sources elsewhere."""
        memo = {} if self.source.is_vrt else dataset.memo
        key = ("fallback", cuda.current(), self.level, self.reduce, self.bands, self._by_core, self.floating)
        if key not in memo:
            row, column = window[:2]
            memo[key] = dataset.plan(self.options((row, column, row + 1, column + 1))).fallback
        reason: str | None = memo[key]
        return reason

    def read(self, window: Window, *, dataset: Any = None, progress: Any = None) -> Any:
        """The pixels of a window, as the result has them."""
        source = self.dataset() if dataset is None else dataset
        self.check(source, window)
        return self.finished(self.decoded(window, source, progress=progress)[0])

    def decoded(
        self,
        window: Window,
        source: Any,
        *,
        progress: Any = None,
        holes: dict[str, str] | None = None,
        look: bool = False,
    ) -> tuple[Any, bool | None]:
        """The pixels of an open source as the core gives them, before anything is compared, scaled or cast, and with `look` whether
        they hold nodata, masked or not. `holes` takes the names of sources that a mosaic went on without, and why."""
        raster = source.read(self.options(window, self.looked_for if look else None), progress=progress)
        array = cuda.array(raster) if self.gpu else raster.numpy()
        if self.missing == "warn":
            self._warn_of_holes(raster.holes)
            if holes is not None:
                holes.update(raster.holes)
        if self._inverted_here:
            array = self.inverted_from - array
        return array[0] if self.flat else array, raster.found

    def finished(self, array: Any, *, promoted: bool = True, complete: bool = False) -> Any:
        """Masked, scaled and cast. `promoted=False` leaves pixels as they are; `complete`: none is without data, so that none is masked."""
        raw = array
        if promoted and self.floating is not None and array.dtype != self.floating:
            array = array.astype(self.floating)
        if promoted and not complete and self.masking is not None and self.masking.how == "values":
            values = self.masking.values
            if len(values) == 1:
                _mask(array, raw, values[0])
            else:
                for band, value in enumerate(values):
                    _mask(array[..., band], raw[..., band], value)
        if self.scaling is not None:
            scale, offset = self.scaling
            array *= scale
            array += offset
        return array.astype(self.dtype, copy=False) if promoted else array

    @property
    def _by_core(self) -> bool:
        return self.masking is not None and self.masking.how == "core"

    @property
    def _inverted_here(self) -> bool:
        """The core inverts whole numbers that it does not mask at the same time."""
        return self.inverted_from is not None and (self._by_core or self.stored.kind == "f")

    def _warn_of_holes(self, holes: list[tuple[str, str]]) -> None:
        for name, problem in holes:
            warnings.warn(
                f"{self.source}: the source {name} leaves a hole ({problem}); see attrs['vrt_holes']",
                GeoTIFFFallbackWarning,
                stacklevel=4,
            )


def _mask(array: Any, raw: Any, value: Any) -> None:
    """NaN where the raw pixels have a value; compared at their own width."""
    if value is None or value != value or (raw.dtype.kind in "iu" and not holds(raw.dtype, value)):
        return
    array[raw == raw.dtype.type(value)] = float("nan")
