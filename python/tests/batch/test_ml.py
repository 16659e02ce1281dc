"""Samplers, and the datasets with a stand-in for PyTorch where that is not installed."""

from __future__ import annotations

import importlib
import sys
import types
from pathlib import Path

import numpy as np
import pytest
import strile
from strile.ml import GridWindows, RandomWindows, WeightedWindows, valid_fractions

from .conftest import by_rasterio


def test_a_grid_covers_every_pixel(scenes: list[str]) -> None:
    for partial in (True, "move"):
        windows = GridWindows(scenes, (50, 40), partial=partial).windows()
        for file in range(4):
            seen = np.zeros((90, 120), int)
            for _, x, y, width, height in windows[windows[:, 0] == file].tolist():
                seen[y : y + height, x : x + width] += 1
            assert seen.min() >= 1
            if partial is True:
                assert seen.max() == 1
    inside = GridWindows(scenes, (50, 40), partial=False).windows()
    assert (inside[:, 1] + 50 <= 120).all() and (inside[:, 2] + 40 <= 90).all() and len(inside) == 4 * 2 * 2
    assert len(GridWindows(scenes, 500, partial=False)) == 0
    assert len(GridWindows(scenes, 16, level=1)) == 4 * 4 * 3


def test_random_windows_lie_inside_and_differ_by_epoch(scenes: list[str]) -> None:
    sampler = RandomWindows(scenes, (30, 20), 500, seed=5)
    first, again, next_one = sampler.windows(0), sampler.windows(0), sampler.windows(1)
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, next_one) and len(sampler) == 500
    assert first[:, 1].min() >= 0 and (first[:, 1] + 30).max() <= 120 and (first[:, 2] + 20).max() <= 90
    assert set(first[:, 0].tolist()) == {0, 1, 2, 3}
    assert (first[:, 1] + 30).max() > 115 and first[:, 1].min() < 5


def test_weights_by_valid_pixels(scenes: list[str]) -> None:
    grid = GridWindows(scenes, 10)
    fractions = valid_fractions(scenes, grid)
    rows = grid.windows()
    corner = (rows[:, 1] == 0) & (rows[:, 2] == 0)
    assert (fractions[corner] == 0).all() and (fractions[~corner] > 0.99).all()
    sampler = WeightedWindows(grid, fractions, 300, seed=1)
    drawn = sampler.windows()
    assert len(drawn) == 300 and not ((drawn[:, 1] == 0) & (drawn[:, 2] == 0)).any()
    moved = WeightedWindows(grid, fractions, 300, seed=1, jitter=5).windows()
    assert (np.abs(moved[:, 1:3] - drawn[:, 1:3]) < 5).all() and not np.array_equal(moved, drawn)
    with pytest.raises(strile.StrileError, match="one for each"):
        WeightedWindows(grid, [1.0], 3)
    with pytest.raises(strile.StrileError, match="not all 0"):
        WeightedWindows(grid, np.zeros(len(grid)), 3)


def near(counts: np.ndarray, expected: np.ndarray) -> bool:
    """Whether counts of draws are what chances let expect, within five standard deviations."""
    return bool((np.abs(counts - expected) <= 5 * np.sqrt(expected) + 1).all())


def test_random_windows_are_even(tmp_path: Path) -> None:
    files = []
    for number, (rows, columns) in enumerate([(40, 60), (90, 30), (12, 9)]):
        files.append(str(tmp_path / f"{number}.tif"))
        strile.to_geotiff(np.zeros((rows, columns), np.uint8), files[-1])
    drawn = RandomWindows(files, (20, 10), 20_000, seed=9).windows(3)
    # Of the last, which is smaller than a window, there is one place.
    places = np.array([(60 - 19) * (40 - 9), (30 - 19) * (90 - 9), 1 * 3])
    assert near(np.bincount(drawn[:, 0], minlength=3), 20_000 * places / places.sum())
    first = drawn[drawn[:, 0] == 0]
    for axis, count in ((1, 41), (2, 31)):
        assert near(np.bincount(first[:, axis], minlength=count), np.full(count, len(first) / count))
    np.testing.assert_array_equal(RandomWindows(files, (20, 10), 20_000, seed=9).windows(3), drawn)
    assert not np.array_equal(RandomWindows(files, (20, 10), 20_000, seed=8).windows(3), drawn)


def test_weighted_windows_come_as_often_as_they_weigh() -> None:
    rows = np.array([[0, 8 * number, 0, 8, 8] for number in range(5)])
    weights = np.array([0.0, 1.0, 2.0, 3.0, 10.0])
    drawn = WeightedWindows(rows, weights, 20_000, seed=2).windows()
    assert near(np.bincount(drawn[:, 1] // 8, minlength=5), 20_000 * weights / 16)
    np.testing.assert_array_equal(WeightedWindows(rows, weights, 20_000, seed=2).windows(), drawn)


@pytest.mark.parametrize("step", [7, 16, 30], ids=str)
@pytest.mark.parametrize("partial", [True, "move", False])
def test_a_grid_of_any_step(scenes: list[str], step: int, partial: bool | str) -> None:
    grid = GridWindows(scenes, 16, step, partial=partial)
    rows = grid.windows()
    assert len(grid) == len(rows) == len(np.unique(rows, axis=0))
    seen = np.zeros((90, 120), int)
    for _, x, y, width, height in rows[rows[:, 0] == 1].tolist():
        seen[y : y + height, x : x + width] += 1
    if step <= 16 and partial is not False:
        assert seen.min() == 1
    if partial is not True:
        assert (rows[:, 1] + 16).max() <= 120 and (rows[:, 2] + 16).max() <= 90


@pytest.fixture
def torch_data(monkeypatch: pytest.MonkeyPatch):
    """The module over PyTorch, or over arrays of numpy with the few functions it uses."""
    try:
        import torch  # noqa: F401
    except ImportError:
        worker = types.SimpleNamespace(now=None)
        data = types.ModuleType("torch.utils.data")
        data.Dataset, data.IterableDataset = type("Dataset", (), {}), type("IterableDataset", (), {})
        data.get_worker_info = lambda: worker.now
        data.worker = worker
        torch = types.ModuleType("torch")
        torch.from_numpy = torch.from_dlpack = np.asarray
        torch.stack = np.stack
        torch.cuda = types.SimpleNamespace(is_available=lambda: False)
        monkeypatch.setitem(sys.modules, "torch", torch)
        monkeypatch.setitem(sys.modules, "torch.utils", types.ModuleType("torch.utils"))
        monkeypatch.setitem(sys.modules, "torch.utils.data", data)
        monkeypatch.delitem(sys.modules, "strile.ml.torch_data", raising=False)
    module = importlib.import_module("strile.ml.torch_data")
    yield module
    sys.modules.pop("strile.ml.torch_data", None)


def test_batches_of_an_epoch(scenes: list[str], torch_data) -> None:
    sampler = RandomWindows(scenes, 16, 37, seed=2)
    dataset = torch_data.BatchDataset(scenes, sampler, 10, with_windows=True, masked=True)
    assert len(dataset) == 4
    epochs = [list(dataset), list(dataset)]
    for epoch, batches in enumerate(epochs):
        rows = np.concatenate([np.asarray(part) for _, part in batches])
        np.testing.assert_array_equal(rows, sampler.windows(epoch))
        for tensor, part in batches:
            stored = [by_rasterio(scenes[f], x, y, w, h, fill=7).astype(np.float32) for f, x, y, w, h in np.asarray(part).tolist()]
            expected = np.where(np.stack(stored) == 7, np.nan, np.stack(stored))
            np.testing.assert_array_equal(np.asarray(tensor), expected)
    dropped = torch_data.BatchDataset(scenes, sampler, 10, drop_last=True)
    assert len(dropped) == len(list(dropped)) == 3
    shuffled = torch_data.BatchDataset(scenes, GridWindows(scenes, 30), 5, shuffle=1, with_windows=True)
    rows = np.concatenate([np.asarray(part) for _, part in shuffled])
    assert sorted(rows.tolist()) == sorted(GridWindows(scenes, 30).windows().tolist())
    assert rows.tolist() != GridWindows(scenes, 30).windows().tolist()


def test_the_order_is_kept_and_rows_are_copies(scenes: list[str], torch_data) -> None:
    grid = GridWindows(scenes, 30)
    dataset = torch_data.BatchDataset(scenes, grid, 5, shuffle=False, with_windows=True)
    before = grid.windows().copy()
    for at, (_, part) in enumerate(dataset):
        np.testing.assert_array_equal(np.asarray(part), before[5 * at : 5 * at + 5])
        np.asarray(part)[:] = 0
    np.testing.assert_array_equal(grid.windows(), before)


def test_windows_of_a_level_are_read_of_that_level(scenes: list[str], torch_data) -> None:
    grid = GridWindows(scenes, 20, level=1)
    tensor = next(iter(torch_data.BatchDataset(scenes, grid, 3)))
    expected = strile.read_batch(scenes, grid.windows()[:3], level=1, device="cpu").numpy()
    np.testing.assert_array_equal(np.asarray(tensor), expected)
    fractions = valid_fractions(scenes, grid)
    assert fractions[0] == 1 - 25 / 400
    with pytest.raises(strile.StrileError, match="level is 0, but the windows were made for level 1"):
        torch_data.BatchDataset(scenes, grid, 3, level=0)
    with pytest.raises(strile.StrileError, match="expected 'cpu', 'cuda' or 'cuda:N'"):
        torch_data.BatchDataset(scenes, grid, 3, device="auto")


def test_windows_by_index(scenes: list[str], torch_data) -> None:
    grid = GridWindows(scenes, 30)
    dataset = torch_data.WindowDataset(scenes, grid)
    assert len(dataset) == len(grid)
    one = np.asarray(dataset[5])
    batch = dataset.__getitems__([3, 5, 8])
    assert np.asarray(torch_data.collate(batch)).shape == (3, 3, 30, 30)
    np.testing.assert_array_equal(np.asarray(batch[1]), one)
    np.testing.assert_array_equal(np.asarray(torch_data.collate([batch[1], batch[2]]))[0], one)


def test_pinned_memory_where_there_is_no_gpu(scenes: list[str], torch_data) -> None:
    if sys.modules["torch"].cuda.is_available():
        pytest.skip("there is a GPU")
    grid = GridWindows(scenes, 30)
    plain = list(torch_data.BatchDataset(scenes, grid, 7))
    with pytest.warns(UserWarning, match="no GPU for which memory could be pinned"):
        pinned = list(torch_data.BatchDataset(scenes, grid, 7, pin_memory=True))
    for one, other in zip(plain, pinned, strict=True):
        np.testing.assert_array_equal(np.asarray(one), np.asarray(other))


def test_what_a_dataset_refuses(scenes: list[str], torch_data) -> None:
    grid = GridWindows(scenes, 30)
    with pytest.raises(strile.StrileError, match="out is set by the dataset"):
        torch_data.BatchDataset(scenes, grid, 4, out=np.zeros(3))
    with pytest.raises(strile.StrileError, match="pinned memory"):
        torch_data.BatchDataset(scenes, grid, 4, device="cuda", pin_memory=True)
    data = sys.modules["torch.utils.data"]
    if hasattr(data, "worker"):
        data.worker.now = types.SimpleNamespace(id=1, num_workers=3)
        parts = list(torch_data.BatchDataset(scenes, grid, 4, with_windows=True))
        rows = [np.asarray(part).tolist() for _, part in parts]
        every = grid.windows()
        assert rows == [every[at : at + 4].tolist() for at in range(4, len(every), 12)]
        with pytest.raises(strile.StrileError, match="give pin_memory=True to the DataLoader"):
            next(iter(torch_data.BatchDataset(scenes, grid, 4, pin_memory=True)))
        with pytest.raises(strile.DeviceError, match="num_workers=0"):
            next(iter(torch_data.BatchDataset(scenes, grid, 4, device="cuda")))
