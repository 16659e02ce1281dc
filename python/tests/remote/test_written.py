"""Files that are written to buckets of S3, Google and Azure: the bytes of a local write, whole or not at all."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
import pytest
import rasterio
import strile
import tifffile
from servers import S3, Store

NOISE = np.random.default_rng(3).integers(0, 2**16, (3000, 4000), np.uint16)
"""Does not compress: files have several parts."""
SMALL = NOISE[:300, :500]
GRID = {"crs": 32633, "transform": (10.0, 0.0, 500_000.0, 0.0, -10.0, 5_200_000.0)}


def command(store: Store, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | store.environment
    return subprocess.run(
        [sys.executable, "-m", "strile", *arguments, *store.flags],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )


@pytest.mark.parametrize("cog", [False, True], ids=["plain", "cog"])
@pytest.mark.parametrize("route", ["eager", "dask"])
@pytest.mark.parametrize("pixels", [SMALL, NOISE], ids=["small", "large"])
def test_bytes_are_those_of_the_local_file(
    store: Store, tmp_path: Path, pixels: np.ndarray, route: str, cog: bool
) -> None:
    data: Any = da.from_array(pixels, chunks=(512, 4000)) if route == "dask" else pixels
    keywords: dict[str, Any] = {"cog": cog, "compression": "deflate", **GRID}
    local = tmp_path / "local.tif"
    strile.to_geotiff(data, local, **keywords)
    url = store.url(f"{route}/{cog}/{len(pixels)}.tif")
    assert strile.to_geotiff(data, url, storage_options=store.options, **keywords) == url
    found = store.get(f"{route}/{cog}/{len(pixels)}.tif")
    assert found == local.read_bytes()
    # Others read what is there.
    assert np.array_equal(tifffile.imread(io.BytesIO(found)), pixels)
    with rasterio.MemoryFile(found) as file, file.open() as opened:
        assert opened.crs.to_epsg() == 32633 and np.array_equal(opened.read(1), pixels)


def test_convert_on_the_command_line_and_in_python(store: Store, tmp_path: Path) -> None:
    source, local = tmp_path / "in.tif", tmp_path / "out.tif"
    strile.to_geotiff(SMALL, source, **GRID)
    strile.convert(source, local, format="cog")
    done = command(store, "convert", str(source), store.url("by command.tif"), "--of", "COG")
    assert done.returncode == 0, done.stderr
    strile.convert(source, store.url("by call.tif"), format="cog", storage_options=store.options)
    assert store.get("by command.tif") == store.get("by call.tif") == local.read_bytes()
    # And back, read by strile.
    back = tmp_path / "back.tif"
    done = command(store, "convert", store.url("by command.tif"), str(back), "--of", "COG")
    assert done.returncode == 0, done.stderr
    assert np.array_equal(tifffile.imread(back), SMALL)


def test_an_object_that_exists_is_kept(store: Store, tmp_path: Path) -> None:
    source = tmp_path / "in.tif"
    strile.to_geotiff(SMALL, source)
    store.put("kept.tif", b"as it was")
    done = command(store, "convert", str(source), store.url("kept.tif"))
    assert done.returncode == 2 and "the object exists; pass `--overwrite` to replace it" in done.stderr
    with pytest.raises(OSError, match="exists"):
        strile.convert(source, store.url("kept.tif"), storage_options=store.options)
    assert store.get("kept.tif") == b"as it was"
    done = command(store, "convert", str(source), store.url("kept.tif"), "--overwrite")
    assert done.returncode == 0, done.stderr
    found = store.get("kept.tif")
    assert found is not None and np.array_equal(tifffile.imread(io.BytesIO(found)), SMALL)


def test_sidecars_of_an_object_that_was_replaced_are_removed(store: Store) -> None:
    store.put("old.tif", b"old")
    store.put("old.tif.aux.xml", b"<PAMDataset/>")
    store.put("old.tif.ovr", b"of the old one")
    strile.to_geotiff(SMALL, store.url("old.tif"), storage_options=store.options)
    assert store.get("old.tif.aux.xml") is None and store.get("old.tif.ovr") is None


def test_sidecars_without_their_object_are_told(store: Store, tmp_path: Path) -> None:
    source = tmp_path / "in.tif"
    strile.to_geotiff(SMALL, source)
    store.put("alone.tif.ovr", b"of nobody")
    done = command(store, "convert", str(source), store.url("alone.tif"))
    assert done.returncode == 2 and "alone.tif.ovr` is there without its file" in done.stderr
    assert store.get("alone.tif") is None


@pytest.mark.parametrize("cog", [False, True], ids=["plain", "cog"])
def test_a_write_that_fails_leaves_the_old_object(store: Store, cog: bool) -> None:
    def fail(block: np.ndarray, block_info: Any = None) -> np.ndarray:
        if block_info and block_info[0]["chunk-location"][0] == 5:
            raise ZeroDivisionError("on purpose")
        return block

    store.put("old.tif", b"as it was")
    pixels = da.from_array(NOISE, chunks=(500, 4000)).map_blocks(fail, dtype=NOISE.dtype)
    for name in ("old.tif", "new.tif"):
        with pytest.raises(ZeroDivisionError, match="on purpose"):
            strile.to_geotiff(pixels, store.url(name), cog=cog, compression="none", storage_options=store.options)
    assert store.get("old.tif") == b"as it was" and store.get("new.tif") is None
    if isinstance(store, S3):
        assert store.uploads() == []


def test_secrets_are_in_no_message(store: Store) -> None:
    options = {**store.options, "nonsense_option": "secret-value"}
    with pytest.raises(Exception) as told:
        strile.to_geotiff(SMALL, store.url("never.tif"), storage_options=options)
    shown = str(told.value)
    assert "secret-value" not in shown and "nonsense_option" in shown, shown
    with pytest.raises(Exception) as told:
        strile.to_geotiff(SMALL, store.url("a//b.tif"), storage_options=store.options)
    assert store.options.get("azure_storage_account_key", "secret") not in str(told.value)


def test_a_bucket_that_does_not_exist_is_told(store: Store) -> None:
    url = store.url("a.tif").replace("scenes", "nowhere")
    with pytest.raises(OSError, match="nowhere"):
        strile.to_geotiff(SMALL, url, storage_options=store.options)


def test_options_of_buckets_need_a_bucket(tmp_path: Path) -> None:
    with pytest.raises(strile.StrileError, match="storage_options apply to URLs of buckets"):
        strile.to_geotiff(SMALL, tmp_path / "a.tif", storage_options={"region": "x"})
    with pytest.raises(NotImplementedError, match="cannot write over HTTP"):
        strile.to_geotiff(SMALL, "http://user:hidden@127.0.0.1/a.tif")
    with pytest.raises(strile.StrileError, match="to a local folder"):
        strile.to_geotiff(SMALL, "s3://scenes/a.vrt")
    with pytest.raises(TypeError, match="expected a dict"):
        strile.to_geotiff(SMALL, "s3://scenes/a.tif", storage_options="region=x")
