"""The xarray engine with `device="cuda"`: CuPy arrays, eager and in dask chunks, equal to the CPU's."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import strile
import xarray as xr
from strile.backend import StrileBackend
from terrain import terrain


@pytest.fixture
def path(tmp_path: Path) -> Path:
    pixels = np.moveaxis(terrain((3, 700, 900), "int16"), 0, -1).copy()
    pixels[30:60, 40:90] = -999
    where = tmp_path / "made.tif"
    strile.to_geotiff(pixels, str(where), compression="deflate", nodata=-999, crs=32633, cog=True)
    return where


@pytest.mark.parametrize("decoding", [{}, {"mask_and_scale": False}], ids=["decoded", "stored"])
@pytest.mark.parametrize("chunks", [None, {}, {"y": 300, "x": 400}], ids=["eager", "preferred", "chunked"])
def test_pixels_stay_on_the_device_and_equal_the_cpus(
    path: Path, decoding: dict, chunks: dict | None
) -> None:
    import cupy

    host = xr.open_dataset(path, engine=StrileBackend, device="cpu", **decoding).band_data
    found = xr.open_dataset(
        path, engine=StrileBackend, device="cuda", chunks=chunks, **decoding
    ).band_data.load()
    assert isinstance(found.data, cupy.ndarray) and found.dtype == host.dtype
    assert np.array_equal(cupy.asnumpy(found.data), host.values, equal_nan=host.dtype.kind == "f")


@pytest.mark.parametrize(
    "key",
    [
        (0, slice(3, 300), slice(10, 600, 7)),
        (slice(None, None, -1), 5, slice(None)),
        ([2, 0], [5, 1, 5], [8]),
    ],
    ids=str,
)
def test_any_index(path: Path, key: tuple) -> None:
    import cupy

    select = dict(zip(("band", "y", "x"), key, strict=True))
    host = xr.open_dataset(path, engine=StrileBackend, device="cpu").band_data.isel(select)
    found = xr.open_dataset(path, engine=StrileBackend, device="cuda:0").band_data.isel(select).load()
    assert np.array_equal(cupy.asnumpy(found.data), host.values, equal_nan=True)


def test_what_was_computed_there_is_written_there(path: Path, tmp_path: Path) -> None:
    lazy = xr.open_dataset(
        path, engine=StrileBackend, device="cuda", chunks={}, mask_and_scale=False
    ).band_data
    (lazy + 1).strile.to_geotiff(str(tmp_path / "out.tif"), crs=32633)
    assert np.array_equal(strile.open(tmp_path / "out.tif").read(), strile.open(path).read() + 1)
