"""The handle where rasterio is no judge: closing, refusals, plans, what a notebook shows."""

from __future__ import annotations

import io
import re
from pathlib import Path

import numpy as np
import pytest
import rasterio.windows
import strile
import tifffile

PIXELS = np.arange(2 * 60 * 80, dtype=np.uint16).reshape(2, 60, 80)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    where = tmp_path / "a<b.tif"
    tifffile.imwrite(where, PIXELS, tile=(16, 32), compression="zlib", planarconfig="separate", metadata=None)
    return where


def test_a_closed_handle_says_so_and_others_live_on(path: Path) -> None:
    other = strile.open(path)
    with strile.open(path) as dataset:
        assert not dataset.closed
    assert dataset.closed and "closed" in repr(dataset) and "closed" in dataset._repr_html_()
    for work in (dataset.read, dataset.tags, dataset.plan, dataset.__enter__):
        with pytest.raises(strile.ClosedError, match="is closed: open it again"):
            work()
    assert np.array_equal(other.read(), PIXELS)


@pytest.mark.parametrize(
    "options, error, words",
    [
        ({"indexes": 3}, IndexError, "there is no band 3; bands are 1 to 2"),
        ({"indexes": 0}, IndexError, "there is no band 0"),
        ({"window": (0, 0, 81, 1)}, ValueError, "window"),
        ({"window": (0, 0, 2.5, 1)}, ValueError, "whole numbers"),
        ({"window": (-1, 0, 2, 1)}, ValueError, "negative"),
        ({"overview_level": 0}, ValueError, "no level 1"),
        ({"overview_level": "full"}, TypeError, "an int or None"),
        ({"device": "tpu"}, ValueError, "tpu"),
        ({"masked": True, "device": "cuda"}, ValueError, "masked array"),
        ({"out": np.empty((2, 60, 81), np.uint16)}, ValueError, "out"),
        ({"out": np.empty((2, 60, 80), np.int16)}, ValueError, "out"),
    ],
)
def test_bad_reads_are_named(path: Path, options: dict, error: type[Exception], words: str) -> None:
    with strile.open(path) as dataset, pytest.raises(error, match=words):
        dataset.read(**options)


def test_reading_into_memory_of_the_caller(path: Path) -> None:
    out = np.zeros((2, 60, 160), np.uint16)[:, :, ::2]
    assert strile.read(path, out=out) is out and np.array_equal(out, PIXELS)


def test_progress_counts_to_the_end(path: Path) -> None:
    seen: list[tuple[int, int]] = []
    strile.read(path, progress=lambda done, total: seen.append((done, total)))
    assert seen and seen[-1][0] == seen[-1][1] > 0
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)


def test_what_a_callback_raises_stops_the_read(path: Path) -> None:
    def stop(done: int, total: int) -> None:
        raise LookupError("enough")

    with pytest.raises(LookupError, match="enough"):
        strile.read(path, progress=stop)


def test_plans_explain_themselves(path: Path) -> None:
    plan = strile.plan(path, window=strile.Window(0, 0, 32, 16), bands=[2])
    assert plan.engine and plan.reason and plan.fallback is None
    text = plan.explain()
    assert text.strip() and "block" in text
    assert strile.open(path).plan(window=(0, 0, 32, 16)).explain()
    with pytest.raises(ValueError, match="not inside the image of 80 × 60 pixels"):
        strile.plan(path, window=(0, 0, 1, 61))


def test_devices_are_listed_with_reasons() -> None:
    devices = strile.devices()
    assert devices[0]["name"] == "cpu" and devices[0]["usable"]


def test_a_notebook_shows_facts_and_a_picture(path: Path) -> None:
    imagecodecs = pytest.importorskip("imagecodecs")
    import base64

    dataset = strile.open(path)
    assert repr(dataset).endswith(": 2 × 60 × 80 uint16>")
    shown = dataset._repr_html_()
    assert "a&lt;b.tif" in shown and "80 × 60, 2 bands" in shown and "32 × 16, deflate" in shown
    found = re.search(r"data:image/png;base64,([^']+)'", shown)
    assert found is not None
    picture = imagecodecs.png_decode(base64.b64decode(found[1]))
    assert picture.shape == (60, 80, 2) and picture[0, 0, 0] == 0 and picture[-1, -1, 0] == 255


def test_a_damaged_file_still_shows_its_facts(path: Path) -> None:
    content = bytearray(path.read_bytes())
    # The pixels follow the directory.
    broken = len(content) * 2 // 3
    content[-broken:] = b"\xff" * broken
    path.write_bytes(content)
    shown = strile.open(path)._repr_html_()
    assert "80 × 60" in shown and "no picture: " in shown


def test_open_files_are_sources_too(path: Path) -> None:
    file = io.BytesIO(path.read_bytes())
    assert np.array_equal(strile.open(file).read(), PIXELS)
    assert np.array_equal(strile.read(file, bands=[2]).numpy(), PIXELS[1:])


def test_a_window_is_taken_by_every_door(path: Path) -> None:
    """(column, row, width, height) everywhere, and rasterio's windows too; open_geotiff reads plain tuples as its peer."""
    window, expected = strile.Window(column=8, row=4, width=20, height=10), PIXELS[:, 4:14, 8:28]
    foreign = rasterio.windows.Window(8, 4, 20, 10)
    assert window == (8, 4, 20, 10) and window.column == 8 and window.height == 10
    for place in (window, tuple(window), foreign):
        np.testing.assert_array_equal(np.asarray(strile.read(path, window=place)), expected)
        np.testing.assert_array_equal(np.asarray(strile.read_batch([path], [place]))[0], expected)
        np.testing.assert_array_equal(np.asarray(strile.read_batch([path], place))[0], expected)
        with strile.open(path) as dataset:
            np.testing.assert_array_equal(dataset.read(window=place), expected)
    for place in (window, foreign, (4, 8, 14, 28)):
        array = strile.open_geotiff(path, window=place)
        np.testing.assert_array_equal(array.transpose("band", "y", "x").values, expected)
