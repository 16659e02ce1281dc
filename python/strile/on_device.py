"""Variables of the xarray engine whose pixels are a GPU's: dask arrays of CuPy blocks.

xarray makes numpy arrays of what it cuts into chunks itself. So the chunks are made here, as many blocks each as the
engine prefers, and `chunks` of `xr.open_dataset` cuts them anew."""

from __future__ import annotations

from typing import Any

import xarray as xr
from xarray.core import indexing

from .pixels import PixelArray
from .reading import cuda


def require() -> None:
    """Raises where there can be no such variables: said when a file is opened, not in a worker."""
    cuda.require("device='cuda'")
    try:
        import dask.array  # noqa: F401
    except ImportError as problem:
        raise ImportError(
            "device='cuda' gives dask arrays of CuPy blocks and dask is not installed: install strile[dask], or use "
            "strile.open_geotiff(gpu=True)"
        ) from problem


def variable(
    pixels: PixelArray, dims: tuple[str, ...], attrs: dict[str, Any], encoding: dict[str, Any]
) -> xr.Variable:
    import dask.array
    from dask.base import tokenize

    chunks = tuple(encoding["preferred_chunks"][dim] for dim in dims)
    token = tokenize(str(pixels.source), pixels.version, pixels.level, pixels.reduce, pixels.decoding, pixels.device, pixels.onto, chunks)
    array = dask.array.from_array(
        Blocks(pixels),
        chunks=chunks,
        name=f"strile-{token}",
        asarray=False,
        meta=cuda.meta(len(dims), pixels.dtype),
    )
    return Chunked(dims, array, attrs, encoding)


class Blocks:
    """Pixels by slices, as dask asks for them."""

    def __init__(self, pixels: PixelArray) -> None:
        self.pixels = pixels
        self.shape, self.dtype, self.ndim = pixels.shape, pixels.dtype, len(pixels.shape)

    def __getitem__(self, key: tuple[Any, ...]) -> Any:
        return self.pixels.read(key)


class Chunked(xr.Variable):
    """A variable that stays a dask array when xarray guards what an engine gives against being written to: such an
    array cannot be, and the guard would read it through numpy."""

    __slots__ = ()

    @property
    def data(self) -> Any:
        return xr.Variable.data.fget(self)  # type: ignore[attr-defined]

    @data.setter
    def data(self, data: Any) -> None:
        if not isinstance(data, (indexing.CopyOnWriteArray, indexing.MemoryCachedArray)):
            xr.Variable.data.fset(self, data)  # type: ignore[attr-defined]
