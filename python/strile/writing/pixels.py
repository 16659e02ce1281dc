"""Converts pixels on their way from the array to the core: memory, type, packing, inversion,
statistics.

One `Steps` serves every route, so that a whole array, a chunk of dask and a chunk on a GPU are written as the
same bytes. Steps never change what they are given; where nothing is to be done the array itself goes on.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..errors import StrileError
from ..reading.mask import FileMask
from .layout import Axes
from .missing import Missing
from .nodata import Number
from .pack import Packing

CUDA = (2, 13)
"""DLPack's numbers of CUDA memory, own and managed."""

WIDENED = {"float16": "float32", "bool": "uint8"}


def device_of(array: Any) -> int | None:
    """Returns the number of the CUDA device that an array is on; None for host memory. Of a dask array: that its
    chunks are on, as far as it says."""
    array = getattr(array, "_meta", array)
    if isinstance(array, np.ndarray):
        return None
    if hasattr(array, "__dlpack_device__"):
        kind, number = array.__dlpack_device__()
        return int(number) if int(kind) in CUDA else None
    if hasattr(array, "__cuda_array_interface__"):
        return int(getattr(getattr(array, "device", None), "id", 0))
    return None


def dtype_of(array: Any) -> np.dtype[Any]:
    """Returns the type of an array's samples, in numpy's terms."""
    dtype = getattr(array, "dtype", None)
    if isinstance(dtype, np.dtype):
        return dtype
    if hasattr(array, "__cuda_array_interface__"):
        return np.dtype(array.__cuda_array_interface__["typestr"])
    try:
        # torch and others name their types as numpy does, behind the name of the package.
        return np.dtype(str(dtype).rpartition(".")[2])
    except TypeError:
        raise StrileError(f"cannot write an array of {dtype}: expected integers, floats or complex numbers") from None


def stored_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Returns the type that pixels are stored as: float32 for half floats, uint8 for booleans."""
    native = dtype.newbyteorder("=")
    wide = np.dtype(WIDENED.get(native.name, native))
    if wide.kind not in "iufc" or wide.itemsize > (16 if wide.kind == "c" else 8):
        raise StrileError(
            f"cannot write an array of {dtype}: expected integers or floats of up to 64 bits, or complex64 or complex128"
        )
    return wide


def stream_of(array: Any) -> int | None:
    """Returns the stream that the caller's library works on, if it is known."""
    package = type(array).__module__.partition(".")[0]
    if package == "cupy" and "cupy" in sys.modules:
        return int(sys.modules["cupy"].cuda.get_current_stream().ptr) or 1
    if package == "torch" and "torch" in sys.modules:
        return int(sys.modules["torch"].cuda.current_stream(array.device).cuda_stream) or 1
    return None


def to_host(array: Any) -> np.ndarray[Any, Any]:
    """Returns a copy in host memory of an array on a device; the array itself where it is there already."""
    if isinstance(array, np.ndarray):
        return array
    for name in ("get", "cpu"):
        if device_of(array) is not None and hasattr(array, name):
            array = getattr(array, name)()
            break
    return np.asarray(array.numpy() if hasattr(array, "numpy") and not hasattr(array, "__array__") else array)


def array_module(array: Any) -> tuple[Any, Any]:
    """Returns an array for computing, and the module to compute with: numpy, or CuPy for an array on a device."""
    if device_of(array) is None:
        return to_host(array), np
    try:
        import cupy
    except ImportError:
        raise StrileError(
            "an array on a GPU must be converted before it is written, which needs CuPy: install it, convert the array "
            "first, or give it in host memory"
        ) from None
    return (array if isinstance(array, cupy.ndarray) else cupy.from_dlpack(array)), cupy


@dataclass(slots=True)
class Statistics:
    """Smallest, largest, mean and deviation of the values that count, gathered piece by piece."""

    nodata: Number | None
    count: int = 0
    minimum: float = math.inf
    maximum: float = -math.inf
    mean: float = 0.0
    squares: float = 0.0

    def add(self, values: Any, xp: Any) -> None:
        valid = values.ravel()
        if values.dtype.kind == "f":
            valid = valid[xp.isfinite(valid)]
        if self.nodata is not None and not (isinstance(self.nodata, float) and math.isnan(self.nodata)):
            valid = valid[valid != self.nodata]
        if valid.size == 0:
            return
        exact = valid.astype(np.float64)
        count, mean = int(valid.size), float(exact.mean())
        squares = float(((exact - mean) ** 2).sum())
        # Chan's way to join two sets: no sum of squares that outgrows the differences.
        total, apart = self.count + count, mean - self.mean
        self.squares += squares + apart * apart * self.count * count / total
        self.mean += apart * count / total
        self.count = total
        self.minimum = min(self.minimum, float(valid.min()))
        self.maximum = max(self.maximum, float(valid.max()))

    @property
    def deviation(self) -> float:
        """Returns the standard deviation of the whole population."""
        return math.sqrt(self.squares / self.count) if self.count else 0.0


@dataclass(frozen=True, slots=True)
class Mask:
    """The mask of valid pixels: that of a file, or, without one, of pixels that are not NaN."""

    file: FileMask | None
    axes: Axes

    def of(self, piece: Any, row: int, column: int) -> Any:
        """Returns the mask of a piece that begins at a pixel of the array."""
        height, width = (int(piece.shape[self.axes.index(axis)]) for axis in "yx")
        if self.file is not None:
            return self.file.read(row, column, height, width)
        array = to_host(piece)
        valid = ~np.isnan(array)
        return np.ascontiguousarray(valid.any(axis=self.axes.index("b")) if "b" in self.axes else valid).astype(np.uint8)


@dataclass(slots=True)
class Steps:
    """The conversions of pixels between the caller's array and the file."""

    dtype: np.dtype[Any]
    axes: Axes
    declared: np.dtype[Any] | None = None
    """The type that a dask array says its chunks have."""
    device: str = "cpu"
    """The device of the writer's engine."""
    packing: Packing | None = None
    inverted: bool = False
    statistics: Statistics | None = field(default=None)
    missing: Missing | None = field(default=None)

    def apply(self, piece: Any, own: tuple[slice, ...] | None = None) -> Any:
        """Converts a piece. `own` is the part of it that is counted here; other pieces count the rest."""
        number = device_of(piece)
        if number is None and not isinstance(piece, np.ndarray):
            piece = np.asarray(piece)
        elif number is not None and f"cuda:{number}" != self.device:
            # A chunk may be on another device than the first: by the host it comes to any.
            piece = to_host(piece)
        if isinstance(piece, np.ma.MaskedArray):
            raise StrileError(
                "a masked array cannot be written: fill it with a nodata value, `.filled(…)`, first"
            )
        if self.declared is not None and not _is_kept(dtype_of(piece), self.declared):
            raise StrileError(
                f"a chunk is {dtype_of(piece)} and its dask array says {self.declared}, which cannot hold every value of "
                f"it: set dtype={dtype_of(piece).name!r} where the array is made (map_blocks, apply_ufunc), or convert "
                "the chunks there"
            )
        plain = self.statistics is None and self.packing is None and not self.inverted
        if plain and _is_stored(piece, self.dtype):
            if self.missing is not None:
                self.missing.add(piece if own is None else piece[own])
            return piece
        piece, xp = array_module(piece)
        if self.statistics is not None:
            self.statistics.add(piece, xp)
        if self.packing is not None:
            piece = self.packing.apply(piece, xp, self.missing, own)
        if not _is_stored(piece, self.dtype):
            piece = piece.astype(self.dtype)
        if self.missing is not None and self.packing is None:
            self.missing.add(piece if own is None else piece[own])
        if self.inverted:
            piece = -piece if self.dtype.kind == "f" else xp.invert(piece)
        return piece


def _is_kept(found: np.dtype[Any], declared: np.dtype[Any]) -> bool:
    """Returns whether a type holds every value of another. For numpy doubles hold integers of 64 bits."""
    exact = declared.kind != "f" or found.kind == "f" or found.itemsize < declared.itemsize
    return np.can_cast(found, declared) and exact


def _is_stored(piece: Any, dtype: np.dtype[Any]) -> bool:
    found = dtype_of(piece)
    return found == dtype and found.isnative
