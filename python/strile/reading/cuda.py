"""Calls CuPy, only after arguments were
checked.

The rest of the package works without CuPy; this module imports it inside its functions.
"""

from __future__ import annotations

import warnings
from typing import Any

from .._core import Execution
from ..errors import DeviceError, GeoTIFFFallbackWarning


def require(asked: str = "gpu=True") -> None:
    """Raises if results cannot be on a GPU: without CuPy, or without a working device. `asked` are the
    words of the caller for messages."""
    try:
        import cupy
    except ImportError as problem:
        raise ImportError(
            f"{asked} gives CuPy arrays and CuPy is not installed: pip install 'strile[cupy]' (CUDA 12) or "
            "'strile[cupy13]' (CUDA 13), or use strile.read"
        ) from problem
    try:
        count = cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as problem:
        raise RuntimeError(
            f"{asked} needs a CUDA device and the driver has none ready: {problem}"
        ) from problem
    if count == 0:
        raise RuntimeError(f"{asked} needs a CUDA device and this machine has none")


def current() -> str:
    """Returns the current device of CuPy, by its name in the core."""
    import cupy

    return f"cuda:{cupy.cuda.runtime.getDevice()}"


def place(gpu: bool) -> str:
    """Returns the device that holds the pixels of a request."""
    return current() if gpu else "cpu"


def execution(request: Any, alone: bool = True) -> Execution:
    """Returns how a request is carried out, with `gpu`, `max_pixels` and `max_cloud_bytes` is carried out: by the processor that holds the result, `alone` or
    unless the CPU and a copy are estimated to be clearly faster."""
    on_gpu = "cuda" if alone else "auto"
    return Execution(
        decode_on=on_gpu if request.gpu else "cpu", max_pixels=request.max_pixels, max_cloud_bytes=request.max_cloud_bytes
    )


def report(reason: str | None, source: str, strict: bool, stacklevel: int) -> None:
    """Warns if the GPU will not do all of the work; with `strict` that is an error."""
    if reason is None:
        return
    if strict:
        raise DeviceError(f"{source} cannot be decoded on the GPU alone: {reason}")
    warnings.warn(f"{source}: {reason}", GeoTIFFFallbackWarning, stacklevel=stacklevel)


def array(raster: Any) -> Any:
    """Returns a raster in the memory of a device as a CuPy array, without a copy."""
    import cupy

    return cupy.from_dlpack(raster)


def meta(dimensions: int, dtype: Any) -> Any:
    """Returns an empty array, as which dask shows its blocks."""
    import cupy

    return cupy.empty((0,) * dimensions, dtype=dtype)


def like(array: Any, host: Any) -> Any:
    """Returns a numpy array on the device of a CuPy array."""
    import cupy

    with array.device:
        return cupy.asarray(host)
