"""Calls that cannot be served are refused before the source is touched: none of these files exists."""

from __future__ import annotations

import inspect
import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import strile

REFUSED: list[tuple[str, Any, dict[str, Any], type[Exception]]] = [
    ("level is text", "a.tif", {"overview_level": "1"}, TypeError),
    ("level is a bool", "a.tif", {"overview_level": True}, TypeError),
    ("level is a float", "a.tif", {"overview_level": 1.0}, TypeError),
    ("level before the source", 5, {"overview_level": 1.5}, TypeError),
    ("level before chunks", "a.tif", {"overview_level": "x", "chunks": 0}, TypeError),
    ("level below 0", "a.tif", {"overview_level": -1}, ValueError),
    ("gpu is a number", "a.tif", {"gpu": 1}, TypeError),
    ("gpu is text", "a.tif", {"gpu": "False"}, TypeError),
    ("source is a number", 5, {}, TypeError),
    ("source is None", None, {}, TypeError),
    ("chunks 0", "a.tif", {"chunks": 0}, ValueError),
    ("chunks below 0", "a.tif", {"chunks": (4, -1)}, ValueError),
    ("chunks a bool", "a.tif", {"chunks": True}, ValueError),
    ("chunks a float", "a.tif", {"chunks": 2.0}, ValueError),
    ("chunks of three", "a.tif", {"chunks": (1, 2, 3)}, ValueError),
    ("chunks a word", "a.tif", {"chunks": "large"}, ValueError),
    ("chunks of an axis that is none", "a.tif", {"chunks": {"z": 1}}, ValueError),
    ("chunks of bands", "a.tif", {"chunks": {"band": 1}}, ValueError),
    ("chunks of 0 in a dict", "a.tif", {"chunks": {"y": 0}}, ValueError),
    ("window of open slices", "a.tif", {"window": (slice(0, None), slice(0, 2))}, ValueError),
    ("window of fractions", "a.tif", {"window": (slice(0.5, 2), slice(0, 2))}, TypeError),
    ("window of two numbers", "a.tif", {"window": (0, 2)}, ValueError),
    ("window of three", "a.tif", {"window": (0, 0, 1)}, ValueError),
    ("window of text", "a.tif", {"window": "abcd"}, TypeError),
    ("window and bbox", "a.tif", {"window": (0, 0, 1, 1), "bbox": (0, 0, 1, 1)}, ValueError),
    ("bbox of three", "a.tif", {"bbox": (0, 0, 1)}, ValueError),
    ("bbox not finite", "a.tif", {"bbox": (0, 0, np.nan, 1)}, ValueError),
    ("bbox upside down", "a.tif", {"bbox": (0, 1, 1, 0)}, ValueError),
    ("band a bool", "a.tif", {"band": True}, ValueError),
    ("band a float", "a.tif", {"band": 1.0}, TypeError),
    ("band a float, VRT", "a.vrt", {"band": 1.0}, ValueError),
    ("policy without a GPU", "a.tif", {"on_gpu_failure": "auto"}, ValueError),
    ("policy unknown", "a.tif", {"gpu": True, "on_gpu_failure": "maybe"}, ValueError),
    ("policy of a VRT", "a.vrt", {"gpu": True, "on_gpu_failure": "auto"}, ValueError),
    ("holes of a file", "a.tif", {"missing_sources": "warn"}, ValueError),
    ("holes unknown", "a.vrt", {"missing_sources": "maybe"}, ValueError),
    ("band nodata of a file", "a.tif", {"band_nodata": "first"}, ValueError),
    ("band nodata unknown", "a.vrt", {"band_nodata": "last"}, ValueError),
    ("level of a VRT", "a.vrt", {"overview_level": 1}, ValueError),
    ("reduced VRT", "a.vrt", {"reduce": 1}, ValueError),
    ("reduced by a bool", "a.tif", {"reduce": True}, TypeError),
    ("reduced by a fraction", "a.tif", {"reduce": 0.5}, TypeError),
    ("reduced below 0", "a.tif", {"reduce": -1}, ValueError),
    ("reduced too far", "a.tif", {"reduce": 33}, ValueError),
    ("unpacked VRT", "a.vrt", {"unpack": True}, ValueError),
    ("VRT without coordinates", "a.vrt", {"parse_coordinates": False}, ValueError),
    ("GPU without coordinates", "a.tif", {"gpu": True, "parse_coordinates": False}, ValueError),
    ("cloud limit and GPU", "a.tif", {"max_cloud_bytes": 9, "gpu": True}, ValueError),
    ("cloud limit and VRT", "a.vrt", {"max_cloud_bytes": 9}, ValueError),
    ("file-like and chunks", io.BytesIO(), {"chunks": 4}, ValueError),
    ("file-like and GPU", io.BytesIO(), {"gpu": True}, ValueError),
    ("two names", "a.tif", {"default_name": "a", "name": "b"}, TypeError),
    ("two masks", "a.tif", {"masked": True, "mask_nodata": True}, TypeError),
    ("two unpacks", "a.tif", {"unpack": True, "mask_and_scale": True}, TypeError),
    ("stable VRT", "a.vrt", {"stable_only": True}, strile.VRTStableSourcesOnlyError),
    ("stable remote", "http://127.0.0.1/a.tif", {"stable_only": True}, strile.RemoteStableSourcesOnlyError),
    (
        "stable before a conflict",
        "s3://bucket/a.tif",
        {"stable_only": True, "window": (0, 0, 1, 1), "bbox": (0, 0, 1, 1)},
        strile.RemoteStableSourcesOnlyError,
    ),
    ("lazy progress", "a.tif", {"chunks": 4, "progress": True}, ValueError),
]


@pytest.mark.parametrize(("source", "keywords", "error"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_refused(source: Any, keywords: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error) as raised:
        strile.open_geotiff(source, **keywords)
    assert "\n" not in str(raised.value)


def test_missing_file_is_python_s_own_error(tmp_path: Any) -> None:
    with pytest.raises(FileNotFoundError):
        strile.open_geotiff(tmp_path / "none.tif")
    with pytest.raises(FileNotFoundError):
        strile.open_geotiff(tmp_path / "none.tif", chunks=4)
    with pytest.raises(IsADirectoryError):
        strile.open_geotiff(tmp_path)


def test_gpu_needs_cupy_after_arguments_were_checked() -> None:
    try:
        import cupy  # noqa: F401
    except ImportError:
        with pytest.raises(ImportError, match="CuPy"):
            strile.open_geotiff("none.tif", gpu=True)
    else:
        pytest.skip("CuPy is installed")


def test_old_names_still_work_and_warn(gtiff: Any, pixels: np.ndarray) -> None:
    path = gtiff(pixels, nodata=7)
    with pytest.warns(DeprecationWarning, match="default_name"):
        assert strile.open_geotiff(path, name="q").name == "q"
    with pytest.warns(DeprecationWarning, match="masked"):
        assert strile.open_geotiff(path, mask_nodata=True).dtype == np.float64
    with pytest.warns(DeprecationWarning, match="unpack"):
        assert strile.open_geotiff(path, mask_and_scale=True).dtype == np.float64


@pytest.mark.parametrize("keywords", [{"lock": True}, {"cache": False}])
def test_lock_and_cache_only_warn(gtiff: Any, pixels: np.ndarray, keywords: dict[str, Any]) -> None:
    with pytest.warns(strile.GeoTIFFFallbackWarning):
        strile.open_geotiff(gtiff(pixels), **keywords)


def test_signature_is_annotated_and_in_order() -> None:
    signature = inspect.signature(strile.open_geotiff)
    names = list(signature.parameters)
    assert names[:6] == ["source", "dtype", "window", "bbox", "overview_level", "band"]
    first = names.index("parse_coordinates")
    assert names[first : first + 5] == ["parse_coordinates", "lock", "cache", "progress", "reduce"]
    assert names[first + 5 : first + 10] == ["storage_options", "anonymous", "store", "sidecars", "allowed_hosts"]
    assert names[first + 10 : first + 17] == ["grid", "like", "crs", "resolution", "bounds", "shape", "target_aligned"]
    assert names[first + 17 : first + 24] == ["resampling", "tolerance", "datum_shift", "source_crs", "top", "polygon", "polygon_crs"]
    assert names[first + 24 :] == ["order", "tps", "rpc", "rpc_height", "rpc_dem"]
    assert all(p.annotation is not inspect.Parameter.empty for p in signature.parameters.values())
    assert all(p.kind is p.KEYWORD_ONLY for name, p in signature.parameters.items() if name != "source")


def test_content_is_no_path_and_urls_of_files_may_be_escaped(tmp_path: Path) -> None:
    path = tmp_path / "a b.tif"
    strile.to_geotiff(np.arange(12, dtype="uint8").reshape(3, 4), str(path))
    with pytest.raises(strile.StrileError, match="BytesIO"):
        strile.open_geotiff(path.read_bytes())
    assert strile.open_geotiff(path.as_uri()).shape == (3, 4)


def test_windows_are_numbers_slices_or_pairs(gtiff: Any) -> None:
    path = gtiff(np.arange(30, dtype="uint8").reshape(5, 6))
    plain = strile.open_geotiff(path, window=(1, 2, 4, 6))
    for window in ((slice(1, 4), slice(2, 6)), ((1, 4), (2, 6)), strile.Window(2, 1, 4, 3), [1.0, np.int16(2), 4, 6]):
        assert strile.open_geotiff(path, window=window).identical(plain)
