"""Dask arrays: the same bytes as the whole array, every task once, in any chunks, buffer and scheduler."""

from __future__ import annotations

import io
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
xr = pytest.importorskip("xarray")

import strile  # noqa: E402
from strile.writing.arguments import check  # noqa: E402
from strile.writing.raster import describe  # noqa: E402
from strile.writing.stream import plan_stream  # noqa: E402

PIXELS = np.random.default_rng(3).normal(0, 100, (610, 530)).astype(np.float32).round(1)
PIXELS[40:60, 300:400] = np.nan


class Counted:
    """A dask array that counts how often each of its chunks is computed."""

    def __init__(self, pixels: np.ndarray, chunks: Any) -> None:
        self.counts: Counter[Any] = Counter()
        self.lock = threading.Lock()
        self.array = da.from_array(pixels, chunks=chunks).map_blocks(self.count, dtype=pixels.dtype)

    def count(self, block: np.ndarray, block_info: Any = None) -> np.ndarray:
        with self.lock:
            self.counts[block_info[0]["chunk-location"]] += 1
        return block


LAYOUTS: list[dict[str, Any]] = [
    {},
    {"cog": True, "tile_size": 128, "nodata": -9999},
    {"tiled": False, "compression": "deflate", "predictor": 3},
]


@pytest.mark.parametrize("buffer", [1, 300_000, 1 << 28])
@pytest.mark.parametrize("chunks", [(100, 530), (256, 256), (130, 110), (610, 64)], ids=str)
@pytest.mark.parametrize("layout", LAYOUTS, ids=["tiles", "cog", "strips"])
def test_bytes_are_those_of_the_whole_array(tmp_path: Path, layout: Any, chunks: Any, buffer: int) -> None:
    strile.to_geotiff(PIXELS, tmp_path / "whole.tif", **layout)
    source = Counted(PIXELS, chunks)
    target = io.BytesIO()
    strile.to_geotiff(source.array, tmp_path / "stream.tif", streaming_buffer_bytes=buffer, **layout)
    assert (tmp_path / "stream.tif").read_bytes() == (tmp_path / "whole.tif").read_bytes()
    assert set(source.counts.values()) == {1}
    strile.to_geotiff(source.array, target, streaming_buffer_bytes=buffer, **layout)
    assert len(target.getvalue()) > 1000
    assert sorted(path.name for path in tmp_path.iterdir()) == ["stream.tif", "whole.tif"]


@pytest.mark.parametrize("axes", ["byx", "yxb"])
@pytest.mark.parametrize("cog", [False, True])
def test_bands_in_chunks(tmp_path: Path, axes: str, cog: bool) -> None:
    bands = np.random.default_rng(1).integers(0, 255, (3, 90, 70), dtype=np.uint8)
    dims = ("band", "y", "x") if axes == "byx" else ("y", "x", "band")
    array = bands if axes == "byx" else np.moveaxis(bands, 0, -1)
    strile.to_geotiff(xr.DataArray(array, dims=dims), tmp_path / "a.tif", tile_size=32, cog=cog)
    lazy = da.from_array(array, chunks=(1, 40, 30) if axes == "byx" else (40, 30, 1))
    strile.to_geotiff(
        xr.DataArray(lazy, dims=dims), tmp_path / "b.tif", tile_size=32, cog=cog, streaming_buffer_bytes=1
    )
    assert (tmp_path / "a.tif").read_bytes() == (tmp_path / "b.tif").read_bytes()


@pytest.mark.parametrize("buffer", [100_000, 1 << 28])
@pytest.mark.parametrize("change", ["rechunked", "overlapping"])
def test_what_chunks_share_is_computed_once(tmp_path: Path, change: str, buffer: int) -> None:
    source = Counted(PIXELS, (100, 100))
    changed = {
        "rechunked": lambda array: array.rechunk((170, 130)),
        "overlapping": lambda array: array.map_overlap(lambda block: block * 2, depth=2, boundary="none"),
    }[change](source.array)
    strile.to_geotiff(changed, tmp_path / "a.tif", streaming_buffer_bytes=buffer)
    assert set(source.counts.values()) == {1}
    expected = PIXELS if change == "rechunked" else PIXELS * 2
    np.testing.assert_array_equal(strile.open_geotiff(tmp_path / "a.tif").values, expected)


def test_what_all_chunks_need_is_not_held(tmp_path: Path) -> None:
    source = Counted(np.nan_to_num(PIXELS), (50, 50))
    centred = source.array - source.array.mean()
    strile.to_geotiff(centred, tmp_path / "a.tif", streaming_buffer_bytes=20_000)
    expected = np.nan_to_num(PIXELS) - np.nan_to_num(PIXELS).mean()
    np.testing.assert_allclose(strile.open_geotiff(tmp_path / "a.tif").values, expected, atol=1e-2)


@pytest.mark.parametrize("scheduler", ["threads", "synchronous", "processes", "distributed"])
def test_every_scheduler(tmp_path: Path, scheduler: str) -> None:
    lazy = da.from_array(PIXELS, chunks=(128, 200)) + 1
    if scheduler == "distributed":
        distributed = pytest.importorskip("distributed")
        with distributed.Client(n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None):
            strile.to_geotiff(lazy, tmp_path / "a.tif", streaming_buffer_bytes=500_000)
    else:
        with dask.config.set(scheduler=scheduler, num_workers=2):
            strile.to_geotiff(lazy, tmp_path / "a.tif", streaming_buffer_bytes=500_000)
    np.testing.assert_array_equal(strile.open_geotiff(tmp_path / "a.tif").values, PIXELS + 1)


def test_statistics_and_packing_compute_nothing_twice(tmp_path: Path) -> None:
    source = Counted(PIXELS, (100, 100))
    strile.to_geotiff(source.array, tmp_path / "a.tif", color_ramp=True, streaming_buffer_bytes=1)
    assert set(source.counts.values()) == {1}
    text = (tmp_path / "a.tif.aux.xml").read_text()
    valid = PIXELS[np.isfinite(PIXELS)].astype(np.float64)
    for key, value in (
        ("MINIMUM", valid.min()),
        ("MAXIMUM", valid.max()),
        ("MEAN", valid.mean()),
        ("STDDEV", valid.std()),
    ):
        found = float(text.split(f'STATISTICS_{key}">')[1].split("<")[0])
        assert found == pytest.approx(float(value), rel=1e-9)


@pytest.mark.parametrize(
    "declared, found, kept",
    [
        ("f4", "f8", False),
        ("u1", "i2", False),
        ("f8", "i8", False),
        ("f8", "f4", True),
        ("f8", "i4", True),
        ("u1", "?", True),
        ("f4", ">f4", True),
    ],
)
def test_chunks_of_another_type_than_declared(tmp_path: Path, declared: str, found: str, kept: bool) -> None:
    lazy = da.ones((40, 30), chunks=20, dtype=declared).map_blocks(
        lambda block: block.astype(found), dtype=declared
    )
    if kept:
        strile.to_geotiff(lazy, tmp_path / "a.tif")
        written = strile.open_geotiff(tmp_path / "a.tif")
        assert written.dtype == declared and (written == 1).all()
        return
    message = f"a chunk is {np.dtype(found)} and its dask array says {np.dtype(declared)}"
    with pytest.raises(strile.StrileError, match=message):
        strile.to_geotiff(lazy, tmp_path / "a.tif")
    assert list(tmp_path.iterdir()) == []


def test_the_plan_says_what_it_does() -> None:
    arguments = {
        name: parameter.default
        for name, parameter in __import__("inspect").signature(strile.to_geotiff).parameters.items()
        if name not in ("data", "path")
    }
    lazy = da.from_array(PIXELS, chunks=(610, 64))

    def plan(**changed: Any) -> Any:
        chosen = check({**arguments, **changed})
        return plan_stream(describe(lazy, None, None, chosen), chosen)

    roomy, tight, cog = plan(), plan(streaming_buffer_bytes=1), plan(cog=True)
    assert (roomy.straight, roomy.spooled, len(roomy.groups)) == (True, False, 1)
    assert (tight.straight, tight.spooled, len(tight.groups)) == (False, True, 9) and "spool" in str(tight)
    assert (cog.straight, cog.spooled) == (False, False)
    with pytest.raises(strile.StrileError, match="spill"):
        plan(streaming_buffer_bytes=1, spill=False)


def test_overviews_of_a_plain_file(tmp_path: Path) -> None:
    """Where they are asked for they are written, streamed as at once."""
    pixels = np.random.default_rng(5).random((300, 420)).astype("float32")
    for name, data in (("eager", pixels), ("streamed", da.from_array(pixels, chunks=(70, 130)))):
        path = tmp_path / f"{name}.tif"
        strile.to_geotiff(data, str(path), overview_levels=[2, 8], tile_size=64, streaming_buffer_bytes=1 << 17)
        assert strile.open(path).overviews(1) == [2, 8]
    assert (tmp_path / "eager.tif").read_bytes() == (tmp_path / "streamed.tif").read_bytes()
