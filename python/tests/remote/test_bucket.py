"""A bucket of S3's protocol whose endpoint and credentials the environment names: read by ranges, written in parts, whole or
not at all."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
import pytest
import strile
from servers import S3

NOISE = np.random.default_rng(3).integers(0, 2**32, (300, 500), np.uint32)


@pytest.fixture
def bucket(s3: S3, monkeypatch: pytest.MonkeyPatch) -> S3:
    """The bucket, reached by what the environment says."""
    for name, value in {**s3.environment, "AWS_ENDPOINT_URL": s3.options["endpoint"]}.items():
        monkeypatch.setenv(name, value)
    return s3


def written(path: Any, **keywords: Any) -> None:
    strile.to_geotiff(NOISE, path, crs=32633, nodata=7, tile_size=64, **keywords)


@pytest.mark.parametrize("keywords", [{}, {"window": (30, 40, 90, 100)}, {"overview_level": 1}], ids=str)
@pytest.mark.parametrize("route", [{}, {"chunks": 150}], ids=str)
def test_pixels_are_those_of_the_local_file(
    bucket: S3, tmp_path: Path, keywords: dict[str, Any], route: dict[str, Any]
) -> None:
    written(tmp_path / "scene.tif", cog=True)
    bucket.put("scene.tif", (tmp_path / "scene.tif").read_bytes())
    far, near = (
        strile.open_geotiff(path, **keywords, **route)
        for path in ("s3://scenes/scene.tif", str(tmp_path / "scene.tif"))
    )
    assert far.compute().identical(near.compute())


@pytest.mark.parametrize("cog", [False, True])
@pytest.mark.parametrize("lazy", [False, True])
def test_bytes_are_those_of_the_local_file(bucket: S3, tmp_path: Path, cog: bool, lazy: bool) -> None:
    pixels = da.from_array(NOISE, chunks=100) if lazy else NOISE
    for path in (tmp_path / "a.tif", "s3://scenes/a.tif"):
        strile.to_geotiff(pixels, path, cog=cog, tile_size=64)
    assert bucket.get("a.tif") == (tmp_path / "a.tif").read_bytes()


@pytest.mark.parametrize("cog", [False, True])
def test_a_write_that_fails_leaves_the_old_object(bucket: S3, cog: bool) -> None:
    def fail(block: np.ndarray, block_info: Any = None) -> np.ndarray:
        if block_info and block_info[0]["chunk-location"] == (2, 0):
            raise ZeroDivisionError("on purpose")
        return block

    bucket.put("old.tif", b"as it was")
    pixels = da.from_array(NOISE, chunks=(100, 500)).map_blocks(fail, dtype=NOISE.dtype)
    for name in ("old.tif", "new.tif"):
        with pytest.raises(ZeroDivisionError, match="on purpose"):
            strile.to_geotiff(pixels, f"s3://scenes/{name}", cog=cog, tile_size=64)
    # A file that was opened for the upload must not complete it when it is collected.
    gc.collect()
    assert bucket.get("old.tif") == b"as it was"
    assert bucket.get("new.tif") is None


def test_what_is_not_there_is_told(bucket: S3) -> None:
    with pytest.raises(FileNotFoundError, match="nowhere"):
        strile.open_geotiff("s3://scenes/nowhere.tif")
