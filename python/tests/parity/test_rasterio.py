"""`strile.open` and `strile.read` against rasterio, on every file of the list: words, pixels, masks, windows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

rasterio = pytest.importorskip("rasterio")

import made  # noqa: E402
import strile  # noqa: E402
from rasterio.windows import Window  # noqa: E402


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("parity")


def same(ours: Any, theirs: Any) -> bool:
    return ours == theirs or (ours != ours and theirs != theirs)


@pytest.mark.parametrize("name", made.MAKERS)
def test_a_handle_says_what_rasterio_says(name: str, folder: Path) -> None:
    path = made.make(name, folder)
    with rasterio.open(path) as theirs, strile.open(path) as ours:
        for word in (
            "width",
            "height",
            "shape",
            "count",
            "indexes",
            "dtypes",
            "res",
            "descriptions",
            "scales",
            "offsets",
        ):
            assert getattr(ours, word) == getattr(theirs, word), word
        assert [unit or None for unit in ours.units] == [unit or None for unit in theirs.units]
        assert tuple(ours.transform) == tuple(theirs.transform)[:6]
        assert tuple(ours.bounds) == tuple(theirs.bounds)
        assert same(ours.nodata, theirs.nodata) and len(ours.nodatavals) == ours.count
        assert ours.block_shapes == [tuple(shape) for shape in theirs.block_shapes]
        assert ours.overviews(1) == theirs.overviews(1)
        assert list(ours.colorinterp) == [interpretation.name for interpretation in theirs.colorinterp]
        assert len(ours.gcps) == len(theirs.gcps[0])
        # Control points carry the system of their own in rasterio.
        wanted = theirs.crs or theirs.gcps[1]
        assert (ours.crs is None) == (not wanted)
        if ours.crs:
            assert rasterio.crs.CRS.from_user_input(ours.crs) == wanted
        assert ours.tags() == theirs.tags()
        assert all(ours.tags(band) == theirs.tags(band) for band in ours.indexes)
        profile = ours.profile
        for key in ("dtype", "width", "height", "count", "tiled", "interleave"):
            if key in theirs.profile:
                assert profile[key] == theirs.profile[key], key


@pytest.mark.parametrize("name", made.MAKERS)
def test_pixels_and_masks_are_rasterios(name: str, folder: Path) -> None:
    path = made.make(name, folder)
    with rasterio.open(path) as theirs, strile.open(path) as ours:
        whole = theirs.read()
        assert ours.read().dtype == whole.dtype
        assert np.array_equal(ours.read(), whole, equal_nan=whole.dtype.kind in "fc")
        assert np.array_equal(strile.read(path).numpy(), whole, equal_nan=whole.dtype.kind in "fc")
        if theirs.dtypes[0] != "complex64":
            invalid = np.ma.getmaskarray(theirs.read(1, masked=True))
            assert np.array_equal(np.ma.getmaskarray(ours.read(1, masked=True)), invalid)


def test_windows_of_every_spelling(folder: Path) -> None:
    path = made.make("planar", folder)
    with rasterio.open(path) as theirs, strile.open(path) as ours:
        want = theirs.read([3, 1], window=Window(10, 20, 30, 40))
        for window in (Window(10, 20, 30, 40), ((20, 60), (10, 40)), (10, 20, 30, 40)):
            assert np.array_equal(ours.read([3, 1], window), want)
        assert np.array_equal(ours.read(2, (0, 0, 5, 5)), theirs.read(2, window=Window(0, 0, 5, 5)))
        assert ours.read(2).ndim == 2 and ours.read([2]).ndim == 3
        out = np.empty((2, 40, 30), np.uint16)
        assert ours.read([3, 1], (10, 20, 30, 40), out=out) is out and np.array_equal(out, want)


def test_overviews_are_rasterios(folder: Path) -> None:
    path = made.make("overviews", folder)
    for level in (0, 1):
        with rasterio.open(path, overview_level=level) as theirs, strile.open(path) as ours:
            assert np.array_equal(ours.read(overview_level=level), theirs.read())
            assert np.array_equal(strile.read(path, level=level + 1).numpy(), theirs.read())
