"""Written by a cluster: the bytes of the local write, whatever the chunks, parts and way of the blocks."""

from __future__ import annotations

import io
import logging
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

da = pytest.importorskip("dask.array")
xr = pytest.importorskip("xarray")
pytest.importorskip("distributed")

import strile  # noqa: E402
from strile.cluster import workers  # noqa: E402

PIXELS = np.random.default_rng(3).normal(0, 100, (610, 530)).astype(np.float32).round(1)
PIXELS[40:60, 300:400] = np.nan
BANDS = np.random.default_rng(4).integers(0, 255, (300, 410, 4), dtype=np.uint8)
BANDS[100:200, 100:300, 3] = 0

LAYOUTS: dict[str, dict[str, Any]] = {
    "tiles": {},
    "cog": {"cog": True, "tile_size": 64, "nodata": -9999},
    "cubic": {"cog": True, "tile_size": 32, "overview_resampling": "cubic", "compression": "deflate"},
    "lanczos": {"cog": True, "tile_size": 16, "overview_resampling": "lanczos", "overview_levels": [4, 16]},
    "strips": {"tiled": False, "compression": "deflate", "predictor": 3},
    "plain": {"overview_levels": [2, 4], "tile_size": 128, "overview_resampling": "median", "bigtiff": True},
    # Blocks that are large enough for the system to copy them into the file.
    "large": {"tile_size": 256, "compression": "none"},
    "portable": {"cog": True, "tile_size": 128, "reproducible": True},
}
SMALL, LARGE = 1 << 18, 1 << 28
"""Buffers: parts of a few blocks whose records go to files, and parts whose records are results."""


@pytest.mark.parametrize("layout", LAYOUTS)
def test_bytes_are_those_of_the_whole_array(client: Any, tmp_path: Path, layout: str) -> None:
    strile.to_geotiff(PIXELS, tmp_path / "whole.tif", **LAYOUTS[layout])
    whole = (tmp_path / "whole.tif").read_bytes()
    rows, columns = ((100, 530), (256, 256)), ((610, 64), (200, 170))
    turn = list(LAYOUTS).index(layout) % 2
    for chunks, buffer in ((rows[turn], SMALL), (columns[turn], LARGE)):
        told: list[tuple[int, int]] = []
        strile.to_geotiff(
            da.from_array(PIXELS, chunks=chunks),
            tmp_path / "parts.tif",
            streaming_buffer_bytes=buffer,
            cluster=True,
            progress=lambda done, total, told=told: told.append((done, total)),
            **LAYOUTS[layout],
        )
        assert (tmp_path / "parts.tif").read_bytes() == whole, chunks
        assert told[-1][0] == told[-1][1] and told == sorted(told) and len(told) > 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["parts.tif", "whole.tif"]


@pytest.mark.parametrize("axes", ["byx", "yxb"])
def test_bands_alpha_and_everything_else_that_is_written(client: Any, tmp_path: Path, axes: str) -> None:
    dims = ("band", "y", "x") if axes == "byx" else ("y", "x", "band")
    array = np.moveaxis(BANDS, -1, 0) if axes == "byx" else BANDS
    chunks = (2, 100, 130) if axes == "byx" else (100, 130, 1)
    coords = {"y": 500.5 - np.arange(300), "x": 10.5 + np.arange(410)}
    attrs = {"crs": 32632, "category_names": ["a", "b"], "gdal_metadata": {"made by": "a test"}}

    def write(name: str, pixels: Any, **keywords: Any) -> None:
        raster = xr.DataArray(pixels, dims=dims, coords=coords, attrs=attrs)
        keywords |= {"photometric": "rgba", "cog": True, "tile_size": 32, "overview_resampling": "bilinear"}
        strile.to_geotiff(raster, tmp_path / name, allow_experimental_codecs=True, **keywords)

    write("a.tif", array)
    write("b.tif", da.from_array(array, chunks=chunks), cluster=True, streaming_buffer_bytes=SMALL)
    assert (tmp_path / "a.tif").read_bytes() == (tmp_path / "b.tif").read_bytes()
    assert (tmp_path / "a.tif.aux.xml").read_bytes() == (tmp_path / "b.tif.aux.xml").read_bytes()
    assert len(list(tmp_path.iterdir())) == 4


def test_packed_and_styled(client: Any, tmp_path: Path) -> None:
    stored = (np.arange(300 * 200, dtype=np.int16) % 1000).reshape(300, 200)
    attrs = {"scale_factor": 0.5, "add_offset": 10.0, "mask_and_scale_dtype": "int16", "nodata": -1}
    for name, pixels in (("a", stored * 0.5 + 10.0), ("b", da.from_array(stored, chunks=90) * 0.5 + 10.0)):
        raster = xr.DataArray(pixels, dims=("y", "x"), attrs=attrs)
        strile.to_geotiff(raster, tmp_path / f"{name}.tif", pack=True)
        strile.to_geotiff(pixels, tmp_path / f"{name}2.tif", color_ramp="magma", color_ramp_range=(0, 9))
    for name in ("{}.tif", "{}2.tif", "{}2.qml", "{}2.tif.aux.xml"):
        first, second = ((tmp_path / name.format(letter)).read_bytes() for letter in "ab")
        assert first == second


def test_it_is_used_where_it_can_be(client: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "strile")
    lazy = da.from_array(PIXELS, chunks=200)
    strile.to_geotiff(lazy, tmp_path / "a.tif")
    assert "by a cluster: " in caplog.text and "parts" in caplog.text
    caplog.clear()
    strile.to_geotiff(lazy, tmp_path / "b.tif", cluster=False)
    strile.to_geotiff(PIXELS, tmp_path / "c.tif")
    assert "cluster" not in caplog.text
    strile.to_geotiff(lazy, io.BytesIO())
    assert "not written by the cluster: the target is neither a path nor a URL of a bucket" in caplog.text
    strile.to_geotiff(lazy, tmp_path / "d.tif", color_ramp=True)
    assert "statistics for color_ramp" in caplog.text
    with __import__("dask").config.set(scheduler="threads"):
        caplog.clear()
        strile.to_geotiff(lazy, tmp_path / "e.tif")
        assert "cluster" not in caplog.text
    files = {(tmp_path / f"{name}.tif").read_bytes() for name in "abcde"}
    assert len(files) == 1


def test_a_folder_that_is_missing_is_named_as_by_a_local_write(client: Any, tmp_path: Path) -> None:
    lazy = da.from_array(PIXELS, chunks=200)
    told = []
    for cluster in (True, None, False):
        with pytest.raises(FileNotFoundError, match="make it first") as raised:
            strile.to_geotiff(lazy, tmp_path / "none" / "a.tif", cluster=cluster)
        told.append(str(raised.value))
    assert len(set(told)) == 1 and list(tmp_path.iterdir()) == []


def test_workers_that_do_not_share_the_folder(client: Any, tmp_path: Path, monkeypatch: Any) -> None:
    asked = workers.ask

    def elsewhere(client: Any, folder: str) -> Any:
        return asked(client, folder + "-of-another-machine")

    monkeypatch.setattr(workers, "ask", elsewhere)
    lazy = da.from_array(PIXELS, chunks=200)
    strile.to_geotiff(lazy, tmp_path / "a.tif")
    with pytest.raises(strile.StrileError, match="cluster=True: workers on .* cannot write beside"):
        strile.to_geotiff(lazy, tmp_path / "b.tif", cluster=True)
    assert [path.name for path in tmp_path.iterdir()] == ["a.tif"]


def test_workers_without_strile(client: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    def hide() -> None:
        sys.modules["strile.cluster.workers"] = None  # type: ignore[assignment]

    def show() -> None:
        del sys.modules["strile.cluster.workers"]

    lazy = da.from_array(PIXELS, chunks=200)
    one = next(iter(client.scheduler_info()["workers"]))
    client.run(hide, workers=[one])
    try:
        caplog.set_level(logging.INFO, "strile")
        strile.to_geotiff(lazy, tmp_path / "a.tif")
        assert f"not written by the cluster: on {one} strile cannot be imported" in caplog.text
        with pytest.raises(strile.StrileError, match="cluster=True: on .* strile cannot be imported"):
            strile.to_geotiff(lazy, tmp_path / "b.tif", cluster=True)
    finally:
        client.run(show, workers=[one])
    assert [path.name for path in tmp_path.iterdir()] == ["a.tif"]
    strile.to_geotiff(lazy, tmp_path / "b.tif", cluster=True)
    assert (tmp_path / "a.tif").read_bytes() == (tmp_path / "b.tif").read_bytes()


@pytest.mark.parametrize("buffer", [SMALL, LARGE])
def test_a_failure_leaves_what_was_there(client: Any, tmp_path: Path, buffer: int) -> None:
    target = tmp_path / "a.tif"
    target.write_bytes(b"before")
    # Local, so that it goes to the workers by value: they do not have this module.
    def fails(block: np.ndarray, block_info: Any = None) -> np.ndarray:
        if block_info[0]["chunk-location"] == (2, 1):
            raise RuntimeError("no pixels here")
        return block

    lazy = da.from_array(PIXELS, chunks=128).map_blocks(fails, dtype="f4")
    with pytest.raises(RuntimeError, match="no pixels here"):
        strile.to_geotiff(lazy, target, cog=True, cluster=True, streaming_buffer_bytes=buffer)
    assert [path.name for path in tmp_path.iterdir()] == ["a.tif"] and target.read_bytes() == b"before"


def test_failures_leave_what_else_the_client_holds(client: Any, tmp_path: Path) -> None:
    def fails(block: np.ndarray, block_info: Any = None) -> np.ndarray:
        if block_info[0]["chunk-location"] == (0, 0):
            raise RuntimeError("no pixels here")
        return block

    def stops(done: int, total: int) -> None:
        raise RuntimeError("no more")

    held = client.submit(sum, [1, 2])
    assert held.result() == 3
    zeros = da.zeros((3000, 4100), chunks=(700, 900), dtype="f4")
    # Cubic in three tiers: edges that parts hand on are tasks which no future stands for.
    cubic = {"cog": True, "overview_resampling": "cubic", "streaming_buffer_bytes": 1 << 20}
    for lazy, progress in [(zeros, stops), (zeros.map_blocks(fails, dtype="f4"), None)] * 2:
        with pytest.raises(RuntimeError, match="no pixels here|no more"):
            strile.to_geotiff(lazy, tmp_path / "a.tif", cluster=True, progress=progress, **cubic)
    assert unfinished(client) == []
    assert held.status == "finished" and held.result() == 3
    assert list(tmp_path.iterdir()) == []


def unfinished(client: Any) -> list[str]:
    """Tasks of strile that the scheduler knows, once it has had time to forget them."""

    def ours(dask_scheduler: Any) -> list[str]:
        return [str(key) for key in dask_scheduler.tasks if "strile" in str(key)]

    until = time.monotonic() + 10
    while (left := client.run_on_scheduler(ours)) and time.monotonic() < until:
        time.sleep(0.05)
    return left


def test_what_progress_raises_stops_it(client: Any, tmp_path: Path) -> None:
    class Enough(Exception):
        pass

    def tell(done: int, total: int) -> None:
        raise Enough

    def slow(block: np.ndarray) -> np.ndarray:
        time.sleep(0.25)
        return block

    lazy = da.from_array(PIXELS, chunks=64).map_blocks(slow)
    with pytest.raises(Enough):
        strile.to_geotiff(lazy, tmp_path / "a.tif", cluster=True, progress=tell)
    assert list(tmp_path.iterdir()) == []
    begun = time.monotonic()
    # 90 chunks by two workers would take more than 11 seconds.
    assert client.submit(sum, [1, 2], pure=False).result() == 3 and unfinished(client) == []
    assert time.monotonic() - begun < 4


def test_an_error_of_the_core_keeps_its_kind(client: Any, tmp_path: Path) -> None:
    lazy = da.from_array(np.array([[np.nan, 1.0]] * 20), chunks=10)
    raster = xr.DataArray(lazy, dims=("y", "x"), attrs={"mask_and_scale_dtype": "uint8"})
    with pytest.raises(strile.StrileError, match="pack=True"):
        strile.to_geotiff(raster, tmp_path / "a.tif", pack=True, cluster=True)
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_way_to_ask(tmp_path: Path) -> None:
    lazy = da.from_array(PIXELS, chunks=200)
    with pytest.raises(TypeError, match="cluster is 'yes'"):
        strile.to_geotiff(lazy, tmp_path / "a.tif", cluster="yes")
    with pytest.raises(strile.StrileError, match="cluster=True: the array is not a dask array"):
        strile.to_geotiff(PIXELS, tmp_path / "a.tif", cluster=True)
    with pytest.raises(strile.StrileError, match="cluster=True with a .vrt path"):
        strile.to_geotiff(lazy, tmp_path / "a.vrt", cluster=True)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("buffer", [SMALL, LARGE])
def test_a_nodata_value_that_valid_pixels_hold_is_found_by_all_parts_together(
    client: Any, tmp_path: Path, buffer: int
) -> None:
    """NaN is in one part and the value in another; edges that parts share are counted once."""
    pixels = np.ones((610, 530), np.float32)
    pixels[:5, :7] = np.nan
    pixels[250:260, 500:] = 0
    lazy = da.from_array(pixels, chunks=(100, 530))
    keywords: dict[str, Any] = {"cog": True, "tile_size": 64, "overview_resampling": "cubic", "cluster": True}
    with pytest.raises(strile.StrileError, match="35 missing pixels .* which 300 valid pixels hold"):
        strile.to_geotiff(lazy, tmp_path / "a.tif", nodata=0, streaming_buffer_bytes=buffer, **keywords)
    assert list(tmp_path.iterdir()) == []
