"""Handles and headers in another process: a spawned one, which has nothing of its parent but what was pickled."""

from __future__ import annotations

import io
import multiprocessing
import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import strile

PIXELS = np.arange(3 * 60 * 80, dtype=np.uint16).reshape(60, 80, 3)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    strile.to_geotiff(PIXELS, tmp_path / "a.tif", tile_size=16, cog=True, overview_levels=[2])
    return tmp_path / "a.tif"


@pytest.fixture(scope="module")
def elsewhere() -> Any:
    """A spawned process that works in another folder."""
    with multiprocessing.get_context("spawn").Pool(1, os.chdir, ("/",)) as pool:
        yield lambda work, *given, **named: pool.apply_async(work, given, named).get(60)


def test_a_handle_reads_in_another_process(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, elsewhere: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    handle = strile.open("a.tif")
    assert handle.name == "a.tif"
    np.testing.assert_array_equal(elsewhere(strile.Dataset.read, handle), np.moveaxis(PIXELS, -1, 0))
    small = handle.read(1, overview_level=0)
    again = pickle.loads(pickle.dumps(handle))
    monkeypatch.chdir("/")
    for one in (handle, again):
        assert (one.name, one.shape, one.profile) == ("a.tif", (60, 80), handle.profile)
        np.testing.assert_array_equal(one.read(1, overview_level=0), small)
        # Also after the folder was changed.
        np.testing.assert_array_equal(elsewhere(strile.Dataset.read, one, 2), PIXELS[..., 1])


def test_another_file_at_the_place_is_an_error(path: Path, elsewhere: Any) -> None:
    handle = strile.open(path)
    kept = pickle.dumps(handle)
    os.utime(path, ns=(1, 1))
    with pytest.raises(strile.StrileError, match="a.tif has changed since it was opened: open it again"):
        pickle.loads(kept)
    with pytest.raises(strile.StrileError, match="has changed since it was opened"):
        elsewhere(pickle.loads, kept)
    path.unlink()
    with pytest.raises(FileNotFoundError):
        elsewhere(pickle.loads, kept)


def test_what_cannot_travel_says_why(path: Path) -> None:
    with path.open("rb") as file, strile.open(file) as handle, pytest.raises(TypeError, match="BufferedReader stays in"):
        pickle.dumps(handle)
    with strile.open(io.BytesIO(path.read_bytes())) as handle, pytest.raises(TypeError, match="open a path or a URL"):
        pickle.dumps(handle)
    with pytest.raises(strile.ClosedError, match="open it again"):
        pickle.dumps(handle)


def test_a_remote_handle_is_known_by_its_mark(path: Path) -> None:
    memory = pytest.importorskip("fsspec").filesystem("memory")
    content = path.read_bytes()
    memory.pipe("/pickled/a.tif", content)
    handle = strile.open("memory://pickled/a.tif")
    kept = pickle.dumps(handle)
    np.testing.assert_array_equal(pickle.loads(kept).read(1), PIXELS[..., 0])
    strile.reading.opened.forget()
    np.testing.assert_array_equal(pickle.loads(kept).read(1), PIXELS[..., 0])
    # As many bytes, and others.
    memory.pipe("/pickled/a.tif", content[:-1] + b"\0")
    strile.reading.opened.forget()
    with pytest.raises(strile.StrileError, match="a.tif has changed since it was opened"):
        pickle.loads(kept)


def test_headers_travel_as_their_limits_and_index(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, elsewhere: Any
) -> None:
    index = tmp_path / "all.index"
    strile.write_header_index(index, [path])
    monkeypatch.chdir(tmp_path)
    headers = strile.Headers(files=7, memory=1 << 20, open_files=3, index="all.index", sidecars=False)
    given = {"headers": headers, "device": "cpu", "out": np.zeros((1, 3, 9, 8), np.uint16)}
    found = elsewhere(strile.read_batch, str(path), [[5, 6, 8, 9]], **given)
    np.testing.assert_array_equal(found[0], np.moveaxis(PIXELS[6:15, 5:13], -1, 0))
    # The index is all that is held.
    fresh = headers.held()
    assert fresh[0] == fresh[2] == 0 < fresh[1]
    strile.read_batch(path, [[5, 6, 8, 9]], **given)
    assert headers.held()[0] == 1
    again = pickle.loads(pickle.dumps(headers))
    assert again.held() == fresh
    expected = {"files": 7, "memory": 1 << 20, "open_files": 3, "index": index, "sidecars": False}
    assert again.__getnewargs_ex__() == headers.__getnewargs_ex__() == ((), expected)
    kept = pickle.dumps(headers)
    index.unlink()
    with pytest.raises(FileNotFoundError, match="all.index"):
        pickle.loads(kept)
