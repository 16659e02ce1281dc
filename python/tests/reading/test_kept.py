"""What calls on one open file have in common is found out once; what differs between them, and what each has to say, is not."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rasterio
import strile
import xarray as xr

TRANSFORM = (2.0, 0.0, 100.0, 0.0, -2.0, 500.0)


@pytest.fixture
def path(gtiff: Any) -> Path:
    array = np.arange(2 * 40 * 50, dtype="int16").reshape(2, 40, 50)
    return gtiff(array, crs="EPSG:32633", transform=TRANSFORM, nodata=7, after=lambda file: file.update_tags(A="b"))


def test_calls_of_every_kind_in_any_order(path: Path) -> None:
    kinds: list[dict[str, Any]] = [
        {},
        {"masked": True},
        {"band": 1},
        {"dtype": "float64"},
        {"parse_coordinates": False},
        {"default_name": "other"},
        {"chunks": 16},
        {"max_pixels": 10**6},
    ]
    windows = [None, (0, 0, 8, 9), (3, 5, 20, 30), (20, 0, 40, 50)]
    first = [strile.open_geotiff(path, window=window, **kind) for window in windows for kind in kinds]
    again = [strile.open_geotiff(path, window=window, **kind) for window in reversed(windows) for kind in reversed(kinds)]
    for one, other in zip(first, reversed(again), strict=True):
        assert one.identical(other) and one.encoding == other.encoding and one.name == other.name
    with rasterio.open(path) as file:
        for one, window in zip(first[:: len(kinds)], windows, strict=True):
            row, column, row1, column1 = window or (0, 0, 40, 50)
            part = rasterio.windows.Window(column, row, column1 - column, row1 - row)
            np.testing.assert_array_equal(one.values, np.moveaxis(file.read(window=part), 0, -1))
            assert one.attrs["transform"] == tuple(file.window_transform(part))[:6]
            assert one.x.values[0] == 100 + 2 * column + 1 and one.y.values[-1] == 500 - 2 * row1 + 1


def test_the_array_is_one_of_xarray(path: Path) -> None:
    """It is made by xarray's fast path, which checks nothing."""
    for array in (strile.open_geotiff(path), strile.open_geotiff(path, band=0), strile.open_geotiff(path, chunks=16)):
        coords = {name: array.coords[name].values for name in array.coords}
        made = xr.DataArray(array.data, dims=array.dims, coords=coords, attrs=array.attrs, name=array.name)
        assert array.identical(made) and list(array.coords) == list(made.coords)
        assert array.indexes.keys() == made.indexes.keys() == set(array.dims)
        for name, index in made.xindexes.items():
            assert array.xindexes[name].equals(index)
        assert array.isel(y=slice(3, 9)).identical(made.isel(y=slice(3, 9)))
        assert array.sel(x=105.0, method="nearest").identical(made.sel(x=105.0, method="nearest"))
        assert xr.align(array, made, join="exact")[0].identical(array)


def test_arrays_share_labels_and_nothing_else(path: Path) -> None:
    window = (3, 5, 20, 30)
    one, other = (strile.open_geotiff(path, window=window) for _ in range(2))
    assert one.indexes["x"] is other.indexes["x"]
    one.x.attrs["units"] = "m"
    one["y"] = one.y + 1
    assert other.x.attrs == {} and other.identical(strile.open_geotiff(path, window=window))
    with pytest.raises(ValueError):
        other.x.values[0] = 0
    whole = strile.open_geotiff(path)
    assert whole.isel(y=slice(3, 20), x=slice(5, 30)).x.equals(other.x)


def test_an_axis_too_long_to_keep_has_the_same_labels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "long.tif"
    strile.to_geotiff(np.zeros((2, 90), "uint8"), path, transform=TRANSFORM, tiled=False)
    short = strile.open_geotiff(path, window=(0, 7, 2, 80))
    monkeypatch.setattr("strile.reading.description.MOST_SHARED", 50)
    long = strile.open_geotiff(path, window=(0, 7, 2, 80))
    assert long.identical(short) and long.indexes["x"] is not short.indexes["x"]


def test_the_engine_keeps_the_words_of_cf_apart(path: Path) -> None:
    one, other = (xr.open_dataset(path, engine="strile") for _ in range(2))
    one.spatial_ref.attrs["grid_mapping_name"] = "changed"
    assert other.spatial_ref.attrs["grid_mapping_name"] == "transverse_mercator"
    assert list(one.coords) == ["band", "x", "y", "spatial_ref"]


def test_a_file_that_was_replaced_is_described_anew(path: Path, gtiff: Any) -> None:
    before = strile.open_geotiff(path)
    other = gtiff(np.zeros((3, 4), "uint8"), name="other.tif", crs="EPSG:4326", transform=(1.0, 0.0, 5.0, 0.0, -1.0, 9.0))
    Path(other).replace(path)
    after = strile.open_geotiff(path)
    assert before.shape == (40, 50, 2) and after.shape == (3, 4)
    assert after.attrs["crs"] == 4326 and "nodata" not in after.attrs


def test_every_call_warns_of_a_bad_sidecar(gtiff: Any) -> None:
    path = Path(gtiff(np.zeros((3, 4), "uint8")))
    Path(f"{path}.aux.xml").write_text("<PAMDataset><PAMRasterBand")
    for _ in range(3):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            strile.open_geotiff(path)
        assert [str(warning.message) for warning in caught if ".aux.xml" in str(warning.message)]
        assert all(warning.filename == __file__ for warning in caught)
