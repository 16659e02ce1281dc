"""The xarray engine where no other reader is the judge: how it is found, what it refuses, remote and open files."""

from __future__ import annotations

import io
import time
from pathlib import Path

import numpy as np
import pytest
import strile
import tifffile
import xarray as xr
from strile.backend import StrileBackend

PIXELS = np.arange(60 * 80, dtype=np.uint16).reshape(60, 80)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    tifffile.imwrite(tmp_path / "a.tif", PIXELS, tile=(16, 32), compression="zlib")
    return tmp_path / "a.tif"


def test_xarray_finds_it_by_name(path: Path) -> None:
    if "strile" not in xr.backends.list_engines():
        pytest.skip("strile is not installed, only importable: entry points are of installed packages")
    assert np.array_equal(xr.open_dataset(path, engine="strile", mask_and_scale=False).band_data[0], PIXELS)


def test_it_never_takes_a_file_unasked(path: Path) -> None:
    assert StrileBackend().guess_can_open(str(path)) is False


def test_nothing_is_read_before_it_is_asked_for(path: Path) -> None:
    dataset = xr.open_dataset(path, engine=StrileBackend)
    damaged = path.read_bytes()
    path.write_bytes(damaged[:-200])
    with pytest.raises(strile.StrileError):
        dataset.band_data.load()


@pytest.mark.parametrize(
    "options, error, words",
    [
        ({"overview_level": True}, TypeError, "expected an int or None"),
        ({"overview_level": -1}, ValueError, "0 \\(the first overview\\) or more"),
        ({"overview_level": 0}, IndexError, "there is no overview 0; it has 0"),
        ({"device": "gpu"}, ValueError, "expected 'cpu', 'cuda' or 'cuda:N'"),
        ({"lock": False}, TypeError, "lock"),
    ],
)
def test_bad_options_are_named(path: Path, options: dict, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        xr.open_dataset(path, engine=StrileBackend, **options)


def test_a_missing_file_is_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        xr.open_dataset(tmp_path / "none.tif", engine=StrileBackend)


def test_variables_can_be_left_out_and_named(path: Path) -> None:
    dataset = xr.open_dataset(
        path, engine=StrileBackend, default_name="height", drop_variables=["spatial_ref"]
    )
    assert set(dataset) == {"height"} and "spatial_ref" not in dataset.coords
    plain = xr.open_dataset(path, engine=StrileBackend, parse_coordinates=False)
    assert set(plain.coords) == {"band", "spatial_ref"}


def test_memory_of_fsspec_and_open_files(path: Path) -> None:
    fsspec = pytest.importorskip("fsspec")
    fsspec.filesystem("memory").pipe("/engine/a.tif", path.read_bytes())
    remote = xr.open_dataset("memory://engine/a.tif", engine=StrileBackend, mask_and_scale=False, chunks={})
    assert np.array_equal(remote.band_data[0].compute(), PIXELS)
    opened = xr.open_dataset(io.BytesIO(path.read_bytes()), engine=StrileBackend, mask_and_scale=False)
    assert np.array_equal(opened.band_data[0, 5:9, ::3], PIXELS[5:9, ::3])


@pytest.mark.filterwarnings("ignore:The specified chunks separate the stored chunks")
def test_threads_take_turns_with_an_open_file(path: Path) -> None:
    class Slow(io.BytesIO):
        def seek(self, *arguments: int) -> int:
            place = super().seek(*arguments)
            time.sleep(0.001)
            return place

    pytest.importorskip("dask")
    chunks = {"y": 16, "x": 32}
    opened = xr.open_dataset(Slow(path.read_bytes()), engine=StrileBackend, mask_and_scale=False, chunks=chunks)
    assert np.array_equal(opened.band_data[0].compute(scheduler="threads", num_workers=4), PIXELS)


def test_a_file_that_was_replaced_is_not_read_for_the_other(path: Path) -> None:
    dataset = xr.open_dataset(path, engine=StrileBackend)
    tifffile.imwrite(path, PIXELS[::-1], tile=(16, 32), compression="zlib")
    with pytest.raises(strile.StrileError, match="has changed since it was opened"):
        dataset.band_data.load()
