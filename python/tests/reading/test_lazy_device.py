"""Lazy arrays on a GPU: `chunks=` with `gpu=True`, on the stand-in for the CUDA driver (`STRILE_STANDIN` is its folder).

The stand-in's device memory is memory of the host, so a few lines take CuPy's place. Real GPUs and the real CuPy have tests of their
own in `tests/gpu`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("dask")

FOLDER = os.environ.get("STRILE_STANDIN")
pytestmark = pytest.mark.skipif(not FOLDER, reason="STRILE_STANDIN names no stand-in for the CUDA driver")

BEGIN = """
import ctypes, sys, types
import numpy as np
import strile

taken = []

def from_dlpack(raster):
    "The device's memory as an array; where it lives is kept."
    facts = raster.__cuda_array_interface__
    dtype = np.dtype(facts["typestr"])
    size = int(np.prod(facts["shape"])) * dtype.itemsize
    taken.append(raster)
    return np.frombuffer((ctypes.c_char * size).from_address(facts["data"][0]), dtype).reshape(facts["shape"])

cupy = types.ModuleType("cupy")
cupy.from_dlpack, cupy.empty, cupy.asarray, cupy.ndarray = from_dlpack, np.empty, np.asarray, np.ndarray
runtime = types.SimpleNamespace(getDeviceCount=lambda: 1, getDevice=lambda: 0, CUDARuntimeError=RuntimeError)
cupy.cuda = types.SimpleNamespace(runtime=runtime)
sys.modules["cupy"] = cupy

pixels = np.random.default_rng(5).integers(0, 4000, (300, 400, 2), dtype="uint16")
"""


def run(tmp_path: Path, code: str) -> None:
    ended = subprocess.run(
        [sys.executable, "-W", "error::UserWarning", "-c", BEGIN + code],
        env={**os.environ, "LD_LIBRARY_PATH": FOLDER or ""},
        capture_output=True,
        text=True,
        timeout=240,
        cwd=tmp_path,
    )
    assert ended.returncode == 0, ended.stderr


@pytest.mark.parametrize("codec", ["deflate", "zstd", "lzw", "lz4", "packbits", "none"])
def test_chunks_are_decoded_on_the_device_when_they_are_computed(tmp_path: Path, codec: str) -> None:
    run(tmp_path, f"""
strile.to_geotiff(pixels, "a.tif", tile_size=64, compression={codec!r})
lazy = strile.open_geotiff("a.tif", gpu=True, chunks=128, on_gpu_failure="strict")
assert lazy.chunks[:2] == ((128, 128, 44), (128, 128, 128, 16)) and taken == []
assert np.array_equal(lazy.compute(scheduler="threads"), pixels)
assert len(taken) == 12 and {{raster.device for raster in taken}} == {{"cuda:0"}}
""")


def test_a_part_reads_its_chunks_alone(tmp_path: Path) -> None:
    run(tmp_path, """
strile.to_geotiff(pixels, "a.tif", tile_size=64, compression="deflate")
lazy = strile.open_geotiff("a.tif", gpu=True, chunks=128)
part = lazy[130:140, 100:140].compute(scheduler="synchronous")
assert np.array_equal(part, pixels[130:140, 100:140]) and len(taken) == 2
""")
