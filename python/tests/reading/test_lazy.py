"""The dask graph: what it holds, where it runs, and what it refuses."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import strile
import xarray as xr
from strile.backend import StrileBackend
from strile.reading import opened
from strile.reading.request import Request

dask = pytest.importorskip("dask")


@pytest.fixture
def path(gtiff: Any, pixels: np.ndarray) -> str:
    return str(gtiff(np.tile(pixels, (4, 4)), nodata=7, tiled=True, blockxsize=32, blockysize=32, compress="deflate"))


@pytest.mark.parametrize("scheduler", ["threads", "processes", "sync"])
def test_schedulers_agree(path: str, scheduler: str) -> None:
    expected = strile.open_geotiff(path, masked=True).values
    lazy = strile.open_geotiff(path, masked=True, chunks=64)
    options = {"num_workers": 2} if scheduler != "sync" else {}
    np.testing.assert_array_equal(lazy.data.compute(scheduler=scheduler, **options), expected)


def test_distributed(path: str) -> None:
    distributed = pytest.importorskip("distributed")
    with distributed.Client(processes=False, n_workers=1, threads_per_worker=2, dashboard_address=None):
        lazy = strile.open_geotiff(path, chunks=64)
        np.testing.assert_array_equal(lazy.compute().values, strile.open_geotiff(path).values)


def test_chunks_and_edges(path: str) -> None:
    assert strile.open_geotiff(path, chunks=64).chunks == ((64, 64, 32), (64, 64, 64, 8))
    assert strile.open_geotiff(path, chunks=(100, 1000)).chunks == ((100, 60), (200,))


def test_bands_stay_together(gtiff: Any, pixels: np.ndarray) -> None:
    lazy = strile.open_geotiff(str(gtiff(np.stack([pixels] * 3))), chunks=16)
    assert lazy.chunks[2] == (3,)


def test_the_request_is_in_the_graph_once(path: str) -> None:
    lazy = strile.open_geotiff(path, chunks=32)
    graph = dict(lazy.__dask_graph__())
    pickled = pickle.dumps(graph)
    assert pickled.count(b"Request") <= 3
    assert len(graph) == 5 * 7 + 1
    assert len(pickled) < 10_000


def test_nothing_is_read_at_build(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: Any, **__: Any) -> None:
        raise AssertionError("pixels were read")

    monkeypatch.setattr(Request, "decoded", never)
    lazy = strile.open_geotiff(path, chunks=32, masked=True, window=(5, 5, 90, 90))
    with pytest.raises(AssertionError, match="pixels were read"):
        lazy.compute(scheduler="sync")


def test_metadata_is_parsed_once(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from strile import _core

    opens = []
    real = _core.Dataset

    class Counted:
        @staticmethod
        def open(*arguments: Any, **keywords: Any) -> Any:
            opens.append(arguments)
            return real.open(*arguments, **keywords)

    opened.forget()
    monkeypatch.setattr(_core, "Dataset", Counted)
    strile.open_geotiff(path, chunks=32).compute(scheduler="threads")
    assert len(opens) == 1


def test_the_same_call_has_the_same_name(path: str) -> None:
    one, other = strile.open_geotiff(path, chunks=32), strile.open_geotiff(path, chunks=32)
    assert one.data.name == other.data.name
    assert one.data.name != strile.open_geotiff(path, chunks=32, masked=True).data.name


def test_too_many_chunks_are_refused_with_a_better_size(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("strile.reading.lazy.MAX_TASKS", 100)
    with pytest.raises(ValueError, match=r"chunks=\(32, 32\)"):
        strile.open_geotiff(path, chunks=8)
    assert strile.open_geotiff(path, chunks=(32, 32)).data.npartitions <= 100


def test_a_chunk_that_is_too_large_is_refused_when_it_is_read(path: str) -> None:
    lazy = strile.open_geotiff(path, chunks=64, max_pixels=1000)
    with pytest.raises(strile.PixelSafetyLimitError):
        lazy.compute(scheduler="sync")
    assert lazy[:5, :5].shape == (5, 5)
    with pytest.raises(strile.PixelSafetyLimitError):
        strile.open_geotiff(path, max_pixels=1000)
    strile.open_geotiff(path, max_pixels=1000, window=(0, 0, 10, 100))


def test_a_file_that_changed_is_an_error(gtiff: Any, pixels: np.ndarray) -> None:
    path = gtiff(pixels)
    lazy = strile.open_geotiff(str(path), chunks=16)
    gtiff(pixels[:30, :30])
    with pytest.raises(strile.StrileError, match="changed"):
        lazy.compute(scheduler="sync")


def test_the_open_files_are_few(gtiff: Any, pixels: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STRILE_GEOTIFF_OPEN_FILES", "3")
    for i in range(6):
        strile.open_geotiff(gtiff(pixels, name=f"{i}.tif"))
    assert len(opened._kept) == 3


@pytest.mark.parametrize("by", ["open_geotiff", "engine"])
def test_another_folder_changes_nothing(path: str, by: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    whole = strile.open_geotiff(path).values
    monkeypatch.chdir(Path(path).parent)
    name = Path(path).name
    if by == "engine":
        array = xr.open_dataset(name, engine=StrileBackend, chunks={}, mask_and_scale=False).band_data[0]
    else:
        array = strile.open_geotiff(name, chunks=16)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    np.testing.assert_array_equal(array.compute().values, whole)
