"""Read, write, read: every file of the list comes back as it was, to the last bit, and rasterio sees the same in both."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

rasterio = pytest.importorskip("rasterio")

import made  # noqa: E402
import strile  # noqa: E402
from described import described  # noqa: E402

REFUSED = {"rotated"}
"""A grid that no axes describe: its refusal is tested where it belongs."""
NAMES = [name for name in made.MAKERS if name not in REFUSED]


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("parity")


def opened(path: Path, **options: Any) -> Any:
    return strile.open_geotiff(path, default_name="raster", **options)


@pytest.mark.parametrize("chunks", [None, 32], ids=["eager", "lazy"])
@pytest.mark.parametrize("name", NAMES)
def test_what_was_read_is_written_again(name: str, chunks: int | None, folder: Path, tmp_path: Path) -> None:
    source = made.make(name, folder)
    with warnings.catch_warnings():
        # A system without a code is written as text, which is said each time.
        warnings.simplefilter("ignore")
        first = opened(source, chunks=chunks)
        strile.to_geotiff(first, str(tmp_path / "first.tif"))
        second = opened(tmp_path / "first.tif", chunks=chunks)
        strile.to_geotiff(second, str(tmp_path / "second.tif"))
    assert described(second) == described(first)
    assert (tmp_path / "second.tif").read_bytes() == (tmp_path / "first.tif").read_bytes()
    with rasterio.open(source) as before, rasterio.open(tmp_path / "first.tif") as after:
        pixels = before.read()
        assert np.array_equal(after.read(), pixels, equal_nan=pixels.dtype.kind in "fc")
        assert (
            after.crs == before.crs and after.transform == before.transform and after.dtypes == before.dtypes
        )
        assert after.nodata == before.nodata or after.nodata != after.nodata
        assert after.scales == before.scales and after.descriptions == before.descriptions
        assert after.colorinterp == before.colorinterp


@pytest.mark.parametrize("name", ["scaled", "nodata_int16", "nodata_uint8", "nodata_float32", "nodata_nan"])
def test_what_was_masked_or_unpacked_is_packed_again(name: str, folder: Path, tmp_path: Path) -> None:
    source = made.make(name, folder)
    strile.to_geotiff(opened(source, unpack=True), str(tmp_path / "packed.tif"), pack=True)
    strile.to_geotiff(opened(source), str(tmp_path / "plain.tif"))
    with rasterio.open(tmp_path / "plain.tif") as plain, rasterio.open(tmp_path / "packed.tif") as packed:
        assert np.array_equal(plain.read(), packed.read(), equal_nan=name == "nodata_nan")
        assert (
            packed.dtypes == plain.dtypes
            and packed.scales == plain.scales
            and packed.offsets == plain.offsets
        )
