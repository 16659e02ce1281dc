"""Writes on a GPU, from its memory and from the host's, on the stand-in for the CUDA driver: `STRILE_STANDIN` is its
folder, which `cargo run -p strile-emulate --example standin` prints. Real GPUs have tests of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

tifffile = pytest.importorskip("tifffile")

FOLDER = os.environ.get("STRILE_STANDIN")
pytestmark = pytest.mark.skipif(not FOLDER, reason="STRILE_STANDIN names no stand-in for the CUDA driver")

BEGIN = """
import gc, os, sys, weakref
import numpy as np
import pytest
from asking import read
from strile import _core, errors
folder = sys.argv[1]
source = _core.Dataset.open(folder + "/source.tif")
host = read(source, device="cpu").numpy()
on_device = read(source, device="cuda:0")
raster = dict(width=96, height=64, bands=2, dtype="uint16")
options = dict(tile=(32, 32), compression="deflate", encode_on="cuda:0", format="cog", reproducible=True)

class Interface:
    "Memory of a device by __cuda_array_interface__ alone."
    def __init__(self, raster, **keys):
        self.raster = raster
        self.__cuda_array_interface__ = {**raster.__cuda_array_interface__, **keys}

def write(name, array, axes="byx", keys=raster, mask=None, **chosen):
    writer = _core.Writer(f"{folder}/{name}", _core.RasterSpec(**keys), _core.WriteOptions(**{**options, **chosen}))
    writer.write(array, 0, 0, axes=axes, mask=mask)
    writer.finish()
    with open(f"{folder}/{name}", "rb") as file:
        return file.read()

def left():
    return sorted(os.listdir(folder))
"""


def run(tmp_path: Path, code: str) -> None:
    pixels = np.random.default_rng(1).integers(0, 999, (2, 64, 96)).astype("u2")
    options = {"tile": (32, 32), "photometric": "minisblack", "planarconfig": "separate"}
    tifffile.imwrite(tmp_path / "source.tif", pixels, compression="zlib", **options)
    done = subprocess.run(
        [sys.executable, "-c", BEGIN + code, str(tmp_path)],
        env={**os.environ, "LD_LIBRARY_PATH": FOLDER or "", "PYTHONPATH": str(Path(__file__).parent)}, capture_output=True, text=True, timeout=120,
    )
    assert done.returncode == 0, done.stderr


def test_one_file_from_either_memory_and_device(tmp_path: Path) -> None:
    run(tmp_path, """
expected = write("cpu.tif", host, encode_on="cpu")
assert write("host.tif", host) == expected
assert write("device.tif", on_device) == expected
assert write("interface.tif", Interface(on_device)) == expected
backwards = np.ascontiguousarray(host[:, ::-1])[:, ::-1]
assert write("backwards.tif", backwards) == expected
last = read(source, device="cuda:0", interleave="pixel")
assert write("last.tif", last, "yxb") == expected
writer = _core.Writer(folder + "/x.tif", _core.RasterSpec(**raster), _core.WriteOptions(**options))
assert writer.device == "cuda:0"
writer.abort()
with pytest.raises(errors.StrileError, match="expected an array in host memory, got one on cuda:0"):
    _core.count_missing(on_device, 1)
back = read(_core.Dataset.open(folder + "/device.tif"), device="cpu").numpy()
assert np.array_equal(back, host)
""")


def test_masks_in_either_memory(tmp_path: Path) -> None:
    run(tmp_path, """
keys = {**raster, "mask": True}
mask = np.ascontiguousarray(host[0] % 2 == 0)
expected = write("cpu.tif", host, keys=keys, mask=mask, encode_on="cpu")
assert write("device.tif", on_device, keys=keys, mask=mask) == expected
assert write("columns.tif", on_device, keys=keys, mask=np.asfortranarray(mask)) == expected
""")


def test_an_array_lives_until_it_is_written(tmp_path: Path) -> None:
    run(tmp_path, """
writer = _core.Writer(folder + "/a.tif", _core.RasterSpec(**raster), _core.WriteOptions(**options))
given = Interface(read(source, device="cuda:0"))
known = weakref.ref(given)
writer.write(given, 0, 0, axes="byx")
del given
gc.collect()
writer.finish()
del writer
_core.devices()
gc.collect()
assert known() is None
assert np.array_equal(read(_core.Dataset.open(folder + "/a.tif"), device="cpu").numpy(), host)
""")


def test_what_is_wrong_with_an_array_is_told_and_leaves_nothing(tmp_path: Path) -> None:
    run(tmp_path, """
def refused(array, words, error=errors.StrileError, **chosen):
    with pytest.raises(error, match=words):
        write("wrong.tif", array, **chosen)
    gc.collect()
    assert left() == ["source.tif"]
refused(on_device, "the array is on cuda:0, and the writer on the CPU", encode_on="cpu")
refused(Interface(on_device, strides=(12288, -192, 2)), "backwards")
refused(Interface(on_device, strides=(0, 192, 2)), "repeat samples")
refused(Interface(on_device, stream=0xdeadbeef), "stream 3735928559", errors.DeviceError)
refused(Interface(on_device, typestr=">u2"), "byte order")
refused(host, "cuda:7", errors.DeviceError, encode_on="cuda:7")
""")
