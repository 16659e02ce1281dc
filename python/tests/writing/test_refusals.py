"""Calls that cannot be served are refused with a typed error before anything is written."""

from __future__ import annotations

import inspect
import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest

xr = pytest.importorskip("xarray")

import strile  # noqa: E402

FLOATS = np.arange(64 * 48, dtype=np.float32).reshape(64, 48)
BYTES = FLOATS.astype(np.uint8)

REFUSED: list[tuple[str, Any, dict[str, Any], type[BaseException]]] = [
    ("gpu a number", FLOATS, {"gpu": 1}, TypeError),
    ("compression None", FLOATS, {"compression": None}, TypeError),
    ("compression unknown", FLOATS, {"compression": "rar"}, ValueError),
    ("level a text", FLOATS, {"compression_level": "3"}, TypeError),
    ("level a bool", FLOATS, {"compression_level": True}, TypeError),
    ("level of zstd", FLOATS, {"compression_level": 23}, ValueError),
    ("level of deflate", FLOATS, {"compression": "deflate", "compression_level": 0}, ValueError),
    # Once levels of codecs without any were ignored.
    ("level of lz4", FLOATS, {"compression": "lz4", "compression_level": 9}, ValueError),
    ("level of jpeg", BYTES, {"compression": "jpeg", "compression_level": 5}, ValueError),
    ("level of none", BYTES, {"compression": "none", "compression_level": 5}, ValueError),
    ("quality of zstd", BYTES, {"quality": 90}, ValueError),
    ("quality of 0", BYTES, {"compression": "jpeg", "quality": 0}, ValueError),
    ("quality of 101", BYTES, {"compression": "webp", "quality": 101}, ValueError),
    ("quality a bool", BYTES, {"compression": "jpeg", "quality": True}, TypeError),
    ("quality a float", BYTES, {"compression": "jpeg", "quality": 80.0}, TypeError),
    ("jxl", BYTES, {"compression": "jxl"}, ValueError),
    # Once such values were written, and refused by our own reader.
    ("nodata beyond uint8", BYTES, {"nodata": -9999}, ValueError),
    ("nodata NaN of uint8", BYTES, {"nodata": float("nan")}, ValueError),
    ("nodata a fraction of uint8", BYTES, {"nodata": 0.5}, ValueError),
    ("nodata beyond float32", FLOATS, {"nodata": 1e300}, ValueError),
    ("nodata NaN in attrs", xr.DataArray(BYTES, attrs={"nodata": float("nan")}), {}, ValueError),
    ("tile of 100", FLOATS, {"tile_size": 100}, ValueError),
    ("tile of 0", FLOATS, {"tile_size": 0}, ValueError),
    ("tile a float", FLOATS, {"tile_size": 16.0}, ValueError),
    ("tile a bool", FLOATS, {"tile_size": True}, ValueError),
    ("predictor 4", FLOATS, {"predictor": 4}, ValueError),
    ("predictor a text", FLOATS, {"predictor": "2"}, ValueError),
    ("predictor 3 of integers", BYTES, {"predictor": 3}, ValueError),
    ("predictor with lerc", FLOATS, {"predictor": 2, "compression": "lerc"}, ValueError),
    ("error bound without lerc", FLOATS, {"max_z_error": 0.1}, ValueError),
    ("error bound below 0", FLOATS, {"max_z_error": -1, "compression": "lerc"}, ValueError),
    ("cog in strips", FLOATS, {"cog": True, "tiled": False}, ValueError),
    ("levels falling", FLOATS, {"cog": True, "overview_levels": [8, 2]}, ValueError),
    ("level 3", FLOATS, {"cog": True, "overview_levels": [3]}, ValueError),
    ("level 1", FLOATS, {"cog": True, "overview_levels": [1, 2]}, ValueError),
    ("level a float", FLOATS, {"cog": True, "overview_levels": [2.0]}, ValueError),
    ("level without a pixel", FLOATS, {"cog": True, "overview_levels": [2, 4, 8, 16, 32, 64]}, ValueError),
    ("one level without a pixel", FLOATS, {"cog": True, "overview_levels": [64]}, ValueError),
    ("resampling unknown", FLOATS, {"cog": True, "overview_resampling": "best"}, ValueError),
    ("photometric unknown", BYTES, {"photometric": "cmyk"}, ValueError),
    ("photometric None", BYTES, {"photometric": None}, TypeError),
    ("rgb of one band", BYTES, {"photometric": "rgb"}, ValueError),
    ("rgba of three bands", np.zeros((9, 9, 3), np.uint8), {"photometric": "rgba"}, ValueError),
    ("signed miniswhite", BYTES.astype(np.int16), {"photometric": "miniswhite"}, NotImplementedError),
    ("miniswhite cog", BYTES, {"photometric": "miniswhite", "cog": True}, NotImplementedError),
    ("nodata a bool", FLOATS, {"nodata": True}, TypeError),
    ("nodata a text", FLOATS, {"nodata": "5"}, ValueError),
    ("crs a bool", FLOATS, {"crs": True}, ValueError),
    ("crs a float", FLOATS, {"crs": 4326.0}, TypeError),
    ("crs 0", FLOATS, {"crs": 0}, strile.InvalidCRSCodeError),
    ("crs unknown", FLOATS, {"crs": 999999}, strile.InvalidCRSCodeError),
    ("crs compound", FLOATS, {"crs": 7415}, strile.NonRepresentableEPSGCRSError),
    ("crs garbage", FLOATS, {"crs": "garbage"}, strile.UnparseableCRSError),
    ("ramp unknown", FLOATS, {"color_ramp": "rainbow"}, ValueError),
    ("pack of anything", FLOATS, {"pack": True}, ValueError),
    ("one dimension", np.zeros(3), {}, ValueError),
    ("four dimensions", np.zeros((2, 2, 2, 2)), {}, ValueError),
    ("no rows", np.zeros((0, 3)), {}, ValueError),
    ("no bands", np.zeros((3, 3, 0)), {}, ValueError),
    ("complex of 256 bits", np.zeros((3, 3), np.clongdouble), {}, ValueError),
    ("bands that may be first", np.zeros((4, 30, 40), np.uint8), {}, ValueError),
    ("dims a text", FLOATS, {"dims": "yx"}, TypeError),
    ("dims of another number", FLOATS, {"dims": ("band", "y", "x")}, ValueError),
    ("transform a text", FLOATS, {"transform": "north"}, ValueError),
    ("transform of no area", FLOATS, {"transform": (0, 0, 0, 0, 0, 0)}, ValueError),
    ("objects", np.zeros((3, 3), object), {}, ValueError),
    ("text", np.zeros((3, 3), "U3"), {}, ValueError),
    ("progress a number", FLOATS, {"progress": 5}, TypeError),
    ("spill refused", "dask", {"spill": False, "streaming_buffer_bytes": 1}, ValueError),
]


@pytest.mark.parametrize(("name", "data", "keywords", "error"), REFUSED, ids=[case[0] for case in REFUSED])
def test_refused_with_nothing_left(
    tmp_path: Path, name: str, data: Any, keywords: dict[str, Any], error: type[BaseException]
) -> None:
    if isinstance(data, str):
        data = pytest.importorskip("dask.array").from_array(FLOATS, chunks=16)
    with pytest.raises(error) as raised:
        strile.to_geotiff(data, str(tmp_path / "a.tif"), **keywords)
    assert str(raised.value) and "\n" not in str(raised.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("path", [5, b"a.tif", None, object()])
def test_a_target_that_is_none(path: Any) -> None:
    with pytest.raises(TypeError):
        strile.to_geotiff(FLOATS, path)


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        strile.to_geotiff(FLOATS, tmp_path / "none" / "a.tif")


def test_http_takes_no_files() -> None:
    with pytest.raises(NotImplementedError):
        strile.to_geotiff(FLOATS, "http://example.com/a.tif")


@pytest.mark.parametrize(
    "dims",
    [
        ("time", "y", "x"),
        ("y", "x", "time"),
        ("z", "y", "x"),
        ("y", "band", "x"),
        ("x", "y", "band"),
        ("a", "b", "c"),
    ],
)
def test_dimensions_that_are_no_bands(tmp_path: Path, dims: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match="dimensions"):
        strile.to_geotiff(xr.DataArray(np.zeros((3, 4, 5)), dims=dims), tmp_path / "a.tif")
    assert list(tmp_path.iterdir()) == []


def test_a_dataset_is_no_array(tmp_path: Path) -> None:
    with pytest.raises(TypeError):
        strile.to_geotiff(xr.Dataset({"a": (("y", "x"), FLOATS)}), tmp_path / "a.tif")


def test_tile_size_of_strips_only_warns(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="tile_size=7"):
        strile.to_geotiff(FLOATS, tmp_path / "a.tif", tiled=False, tile_size=7)


def test_a_failure_keeps_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "a.tif"
    strile.to_geotiff(FLOATS, path)
    before = path.read_bytes()
    dask = pytest.importorskip("dask.array")

    def fail(block: Any) -> Any:
        raise RuntimeError("of the task")

    with pytest.raises(RuntimeError, match="of the task"):
        strile.to_geotiff(
            dask.from_array(FLOATS, chunks=16).map_blocks(fail, dtype="f4", meta=FLOATS[:0, :0]), path
        )
    assert path.read_bytes() == before and list(tmp_path.iterdir()) == [path]


def test_a_callback_that_raises_stops_the_work(tmp_path: Path) -> None:
    def stop(done: int, total: int) -> None:
        raise KeyError("enough")

    with pytest.raises(KeyError, match="enough"):
        strile.to_geotiff(np.zeros((2000, 2000), np.float32), tmp_path / "a.tif", progress=stop)
    assert list(tmp_path.iterdir()) == []


def test_gpu_without_one_warns_once(tmp_path: Path) -> None:
    if any(device["usable"] for device in strile.devices() if device["name"].startswith("cuda")):
        pytest.skip("there is a GPU")
    with pytest.warns(strile.GeoTIFFFallbackWarning) as told:
        strile.to_geotiff(FLOATS, tmp_path / "a.tif", gpu=True)
    assert len(told) == 1 and (tmp_path / "a.tif").exists()


def test_the_signature() -> None:
    names = list(inspect.signature(strile.to_geotiff).parameters)
    assert (
        names
        == (
            "data path crs nodata compression compression_level tiled tile_size predictor cog overview_levels "
            "overview_resampling bigtiff gpu streaming_buffer_bytes max_z_error photometric allow_internal_only_jpeg "
            "allow_experimental_codecs allow_unparseable_crs drop_rotation pack color_ramp color_ramp_range reproducible "
            "spill progress cluster dims transform quality storage_options"
        ).split()
    )
    assert all(
        p.annotation is not inspect.Parameter.empty
        for p in inspect.signature(strile.to_geotiff).parameters.values()
    )


@pytest.mark.parametrize("codec", ["jpeg", "webp", "jpeg2000"])
def test_quality_changes_the_size(tmp_path: Path, codec: str) -> None:
    pixels = np.random.default_rng(5).normal(128, 20, (128, 128, 3)).clip(0, 255).astype(np.uint8)
    sizes = []
    for quality in (95, 30):
        strile.to_geotiff(pixels, tmp_path / "a.tif", compression=codec, quality=quality, photometric="rgb")
        sizes.append((tmp_path / "a.tif").stat().st_size)
    assert sizes[0] > 1.2 * sizes[1]


def test_a_file_object_is_untouched_by_a_refusal() -> None:
    file = io.BytesIO(b"before")
    with pytest.raises(ValueError):
        strile.to_geotiff(FLOATS, file, tile_size=5)
    assert file.getvalue() == b"before"


@pytest.mark.parametrize("name", ["a.png", "a.PNG", "a.npy", "memory://a.jp2", "a.nc"])
def test_names_of_other_formats(tmp_path: Path, name: str) -> None:
    target = name if "://" in name else str(tmp_path / name)
    with pytest.raises(strile.StrileError, match="cannot write a TIFF to a name that ends in"):
        strile.to_geotiff(FLOATS, target)
    if "://" not in name:
        strile.to_geotiff(FLOATS, tmp_path / "a.tif")
        with pytest.raises(strile.StrileError, match="cannot write a TIFF to a name that ends in"):
            strile.convert(tmp_path / "a.tif", target)
        assert [path.name for path in tmp_path.iterdir()] == ["a.tif"]
    # Names without an ending, and other endings, are left to the caller.
    strile.to_geotiff(FLOATS, tmp_path / "plain")
    strile.to_geotiff(FLOATS, tmp_path / "a.dat")
