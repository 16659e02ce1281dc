"""`.strile` on arrays and datasets."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import strile
import xarray as xr
from strile.backend import StrileBackend

PIXELS = np.linspace(0, 100, 50 * 70, dtype=np.float32).reshape(50, 70)


def array() -> xr.DataArray:
    coords = {"y": 4600000 - 30.0 * np.arange(50), "x": 500000 + 30.0 * np.arange(70)}
    return xr.DataArray(PIXELS, coords, ("y", "x"), attrs={"crs": 32633})


def test_arrays_write_themselves_as_the_function_does(tmp_path: Path) -> None:
    given = array()
    assert given.strile.to_geotiff(str(tmp_path / "a.tif"), cog=True) == str(tmp_path / "a.tif")
    strile.to_geotiff(given, str(tmp_path / "b.tif"), cog=True)
    assert (tmp_path / "a.tif").read_bytes() == (tmp_path / "b.tif").read_bytes()
    with pytest.raises(TypeError, match="compresion"):
        given.strile.to_geotiff(str(tmp_path / "c.tif"), compresion="zstd")


def test_datasets_write_their_raster(tmp_path: Path) -> None:
    array().strile.to_geotiff(str(tmp_path / "a.tif"))
    dataset = xr.open_dataset(tmp_path / "a.tif", engine=StrileBackend, chunks={})
    dataset.strile.to_geotiff(str(tmp_path / "b.tif"))
    again = strile.open(tmp_path / "b.tif")
    assert np.array_equal(again.read(1), PIXELS)
    before = strile.open(tmp_path / "a.tif")
    assert (again.crs, again.transform) == (before.crs, before.transform)
    two = xr.Dataset({"a": array(), "b": array()})
    with pytest.raises(ValueError, match="2 variables"):
        two.strile.to_geotiff(str(tmp_path / "c.tif"))
    two.strile.to_geotiff(str(tmp_path / "c.tif"), variable="b")
    assert (tmp_path / "c.tif").exists()


@pytest.mark.parametrize("chunks", [None, 16])
def test_arrays_know_where_they_came_from(tmp_path: Path, chunks: int | None) -> None:
    array().strile.to_geotiff(str(tmp_path / "a.tif"))
    opened = strile.open_geotiff(tmp_path / "a.tif", chunks=chunks)
    assert "block" in opened.strile.plan().explain()
    dataset = xr.open_dataset(tmp_path / "a.tif", engine=StrileBackend)
    assert "block" in dataset.strile.plan(window=(0, 0, 16, 16)).explain()
    with pytest.raises(ValueError, match="which file it was opened from"):
        array().strile.plan()


def test_quicklooks_of_arrays() -> None:
    imagecodecs = pytest.importorskip("imagecodecs")
    shown = imagecodecs.png_decode(array().strile.quicklook())
    assert shown.shape == (50, 70, 2) and shown[0, 0, 0] == 0 and shown[-1, -1, 0] == 255
    colours = xr.concat([array()] * 3, "band")
    assert imagecodecs.png_decode(colours.strile.quicklook(width=35)).shape == (25, 35, 4)
    lazy = array().chunk({"y": 10}).to_dataset(name="height")
    assert imagecodecs.png_decode(lazy.strile.quicklook()).shape == (50, 70, 2)


def test_xarrays_own_plots_work(tmp_path: Path) -> None:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    array().strile.to_geotiff(str(tmp_path / "a.tif"))
    opened = strile.open_geotiff(tmp_path / "a.tif")
    drawn = opened.plot()
    assert drawn.get_array().size == PIXELS.size
