"""What strile asks of CuPy, where the device is the stand-in for the CUDA driver: its memory is memory of the host.

Found instead of CuPy only where a test puts this folder first on the path."""

import ctypes
import types

import numpy as np

ndarray, empty, asarray = np.ndarray, np.empty, np.asarray
cuda = types.SimpleNamespace(
    runtime=types.SimpleNamespace(getDeviceCount=lambda: 1, getDevice=lambda: 0, CUDARuntimeError=RuntimeError)
)
_kept = []


def from_dlpack(raster):
    """The device's memory as an array; it lives as long as the process."""
    facts = raster.__cuda_array_interface__
    dtype = np.dtype(facts["typestr"])
    size = int(np.prod(facts["shape"])) * dtype.itemsize
    _kept.append(raster)
    return np.frombuffer((ctypes.c_char * size).from_address(facts["data"][0]), dtype).reshape(facts["shape"])


def asnumpy(array):
    return np.array(array)
