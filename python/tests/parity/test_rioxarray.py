"""The engine `strile` against rioxarray's, value for value, on every file of the list."""

from __future__ import annotations

import pickle
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

rioxarray = pytest.importorskip("rioxarray")

import made  # noqa: E402
import xarray as xr  # noqa: E402
from strile.backend import StrileBackend  # noqa: E402

DECODING: dict[str, dict[str, Any]] = {
    "decoded": {},
    "stored": {"mask_and_scale": False},
    "masked": {"mask_and_scale": False, "masked": True},
}


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("parity")


def both(path: Path, **options: Any) -> tuple[xr.Dataset, xr.Dataset]:
    with warnings.catch_warnings():
        # rioxarray and rasterio warn of scales that differ and of missing georeferencing; that is theirs.
        warnings.simplefilter("ignore")
        return xr.open_dataset(path, engine=StrileBackend, **options), xr.open_dataset(
            path, engine="rasterio", **options
        )


def equal(ours: Any, theirs: Any) -> bool:
    if isinstance(theirs, (float, np.floating)) and theirs != theirs:
        return ours != ours
    return bool(np.all(ours == theirs))


@pytest.mark.parametrize("decoding", DECODING)
@pytest.mark.parametrize("name", made.MAKERS)
def test_a_dataset_is_what_rioxarray_makes_of_it(name: str, decoding: str, folder: Path) -> None:
    ours, theirs = both(made.make(name, folder), **DECODING[decoding])
    mine, other = ours.band_data, theirs.band_data
    assert (mine.dims, mine.shape, mine.dtype) == (other.dims, other.shape, other.dtype)
    assert np.array_equal(mine.values, other.values, equal_nan=mine.dtype.kind in "fc")
    assert set(ours.coords) == set(theirs.coords)
    for coord in ours.coords:
        assert ours[coord].dims == theirs[coord].dims
        assert np.array_equal(ours[coord].values, theirs[coord].values), coord
    # What `to_geotiff` needs and rioxarray has no words for.
    mine.encoding.pop("strile", None)
    for what in ("attrs", "encoding"):
        mine_said, other_said = getattr(mine, what), getattr(other, what)
        # Chunks are larger on purpose, and names of files are absolute.
        names = (set(mine_said) | set(other_said)) - {"preferred_chunks", "source"}
        for key in names:
            assert key in mine_said and key in other_said, f"{what} {key}"
            assert equal(mine_said[key], other_said[key]), (
                f"{what} {key}: {mine_said[key]}, {other_said[key]}"
            )


@pytest.mark.parametrize("name", made.MAKERS)
def test_the_rio_accessor_answers_the_same(name: str, folder: Path) -> None:
    ours, theirs = (dataset.band_data for dataset in both(made.make(name, folder)))
    assert ours.rio.crs == theirs.rio.crs
    assert ours.rio.transform() == theirs.rio.transform()
    assert equal(ours.rio.nodata, theirs.rio.nodata)
    assert equal(ours.rio.encoded_nodata, theirs.rio.encoded_nodata)
    assert ours.rio.grid_mapping == theirs.rio.grid_mapping
    if "x" in ours.coords:
        assert ours.rio.bounds() == theirs.rio.bounds() and ours.rio.resolution() == theirs.rio.resolution()
    mapping = {
        key: value for key, value in theirs.spatial_ref.attrs.items() if key not in ("crs_wkt", "spatial_ref")
    }
    for key, value in mapping.items():
        said = ours.spatial_ref.attrs[key]
        assert said == value or (isinstance(value, float) and said == pytest.approx(value, rel=1e-12)), key


@pytest.mark.parametrize("level", [0, 1])
def test_overviews_count_as_in_rasterio(level: int, folder: Path) -> None:
    path = made.make("overviews", folder)
    ours = xr.open_dataset(path, engine=StrileBackend, overview_level=level)
    theirs = xr.open_dataset(path, engine="rasterio", open_kwargs={"overview_level": level})
    xr.testing.assert_equal(
        ours.band_data.drop_vars("spatial_ref"), theirs.band_data.drop_vars("spatial_ref")
    )
    assert ours.rio.transform() == theirs.rio.transform()


def test_bands_as_variables(folder: Path) -> None:
    ours, theirs = both(made.make("scaled", folder), band_as_variable=True)
    assert set(ours) == set(theirs) == {"band_1", "band_2"}
    for name in ours:
        assert ours[name].dims == ("y", "x") and np.array_equal(ours[name], theirs[name], equal_nan=True)
        assert ours[name].attrs["long_name"] == theirs[name].attrs["long_name"]


@pytest.mark.parametrize("name", ["scaled", "planar", "masked_image", "strips"])
def test_any_index_gives_what_numpy_gives(name: str, folder: Path) -> None:
    lazy = xr.open_dataset(made.make(name, folder), engine=StrileBackend).band_data
    whole = lazy.values
    bands = whole.shape[0]
    lists = [0, bands - 1, 0]
    for key in [
        (0, slice(3, 40), slice(10, 60)),
        (slice(None), 5, slice(None, None, 7)),
        (slice(None, None, -1), slice(60, 10, -3), slice(None, None, -1)),
        (-1, -1, -1),
        (slice(0, 0), slice(None), slice(None)),
    ]:
        fresh = xr.open_dataset(made.make(name, folder), engine=StrileBackend).band_data
        assert np.array_equal(fresh[key].values, whole[key], equal_nan=True), key
    fresh = xr.open_dataset(made.make(name, folder), engine=StrileBackend).band_data
    picked = fresh.isel(band=lists, y=[60, 3, 3, -1], x=[8, 1])
    assert np.array_equal(picked.values, whole[np.ix_(lists, [60, 3, 3, -1], [8, 1])], equal_nan=True)
    points = fresh.isel(y=xr.DataArray([3, 9], dims="p"), x=xr.DataArray([1, 80], dims="p"))
    assert np.array_equal(points.values, whole[:, [3, 9], [1, 80]], equal_nan=True)


@pytest.mark.parametrize("scheduler", ["threads", "processes"])
def test_chunks_are_blocks_and_travel(scheduler: str, folder: Path) -> None:
    path = made.make("overviews", folder)
    ours = xr.open_dataset(path, engine=StrileBackend, chunks={"y": 64, "x": 96}).band_data
    assert ours.chunks == ((2,), (64, 64, 64, 8), (96, 96, 68))
    whole = xr.open_dataset(path, engine="rasterio").band_data
    assert np.array_equal(ours.data.compute(scheduler=scheduler, num_workers=2), whole, equal_nan=True)


def test_preferred_chunks_hold_whole_blocks(folder: Path) -> None:
    dataset = xr.open_dataset(made.make("overviews", folder), engine=StrileBackend, chunks={})
    chunks = dataset.band_data.encoding["preferred_chunks"]
    assert chunks == {"y": 200, "x": 260, "band": 2}


def test_a_dataset_can_be_pickled(folder: Path) -> None:
    dataset = xr.open_dataset(made.make("scaled", folder), engine=StrileBackend)
    again = pickle.loads(pickle.dumps(dataset))
    xr.testing.assert_identical(again.load(), dataset.load())


@pytest.mark.parametrize("name", ["scaled", "nodata_float32", "rgb", "south_up", "no_crs"])
def test_what_rioxarray_writes_of_it_is_what_it_writes_of_its_own(
    name: str, folder: Path, tmp_path: Path
) -> None:
    written = []
    for number, dataset in enumerate(both(made.make(name, folder), mask_and_scale=False)):
        dataset.band_data.rio.to_raster(tmp_path / f"{number}.tif")
        written.append(
            xr.open_dataset(tmp_path / f"{number}.tif", engine="rasterio", mask_and_scale=False).band_data
        )
    ours, theirs = written
    assert np.array_equal(ours, theirs) and ours.attrs.keys() == theirs.attrs.keys()
    assert ours.rio.crs == theirs.rio.crs and ours.rio.transform() == theirs.rio.transform()
    assert equal(ours.rio.nodata, theirs.rio.nodata)


@pytest.mark.parametrize("dtype, nodata", [("uint8", "-9999"), ("int16", "40000")])
@pytest.mark.parametrize("decoding", DECODING)
def test_a_nodata_value_that_no_pixel_can_have_is_none(
    dtype: str, nodata: str, decoding: str, tmp_path: Path
) -> None:
    tags = [(42113, 2, len(nodata) + 1, nodata, True)]
    made.tifffile.imwrite(tmp_path / "a.tif", made.pixels(dtype)[0], extratags=tags, metadata=None)
    mine, other = (dataset.band_data for dataset in both(tmp_path / "a.tif", **DECODING[decoding]))
    assert mine.dtype == other.dtype and np.array_equal(mine, other, equal_nan=True)
    for said in (mine.attrs, mine.encoding):
        assert "_FillValue" not in said


def test_mosaics(folder: Path, tmp_path: Path) -> None:
    import rasterio.shutil

    rasterio.shutil.copy(made.make("nodata_int16", folder), tmp_path / "whole.tif", driver="GTiff")
    rasterio.shutil.copy(tmp_path / "whole.tif", tmp_path / "a.vrt", driver="VRT")
    ours, theirs = both(tmp_path / "a.vrt")
    xr.testing.assert_equal(
        ours.band_data.drop_vars("spatial_ref"), theirs.band_data.drop_vars("spatial_ref")
    )
    assert ours.rio.crs == theirs.rio.crs and ours.rio.transform() == theirs.rio.transform()
