"""Chooses windows: rows of (file, column, row, width, height) for `read_batch`.

A sampler gives an array of any epoch's windows, and the same one for the same seed and epoch, in every process; how windows are
shared out to workers is for datasets to say. Only headers are looked at, but for weights, which look at pixels once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..checks import sides_of
from ..errors import StrileError


def level_sizes(files: Sequence[Any], level: int = 0, page: int = 0) -> np.ndarray:
    """Returns (columns, rows) of a level of each file."""
    from .. import dataset

    sizes = []
    for file in files:
        handle = file if isinstance(file, dataset.Dataset) else dataset.open(file)
        levels = handle._opened().facts["pages"][page]["levels"]
        if level >= len(levels):
            raise StrileError(f"{handle.name}: there is no level {level}, the file has {len(levels)} (from 0)")
        sizes.append((levels[level]["width"], levels[level]["height"]))
    return np.array(sizes, np.int64).reshape(-1, 2)


class GridWindows:
    """Every window of a grid over every file, from the top left on, `step` apart; those of the last column and row may
    leave the image, or are left out (`partial=False`) or moved inside (`partial="move"`)."""

    def __init__(
        self, files: Sequence[Any], size: Any, step: Any = None, *, level: int = 0, page: int = 0, partial: bool | str = True
    ) -> None:
        self.size, self.level, self.page = sides_of(size), int(level), int(page)
        across, down = self.size if step is None else sides_of(step, "step")
        if partial not in (True, False, "move"):
            raise StrileError(f"partial {partial!r}: expected True, False or 'move'")
        width, height = self.size
        rows = []
        for file, (columns, lines) in enumerate(level_sizes(files, level, page).tolist()):
            xs, ys = _starts(columns, width, across, partial), _starts(lines, height, down, partial)
            y, x = (axis.ravel() for axis in np.meshgrid(ys, xs, indexing="ij"))
            rows.append(np.stack([np.full_like(x, file), x, y, np.full_like(x, width), np.full_like(x, height)], axis=1))
        self._windows = np.concatenate(rows) if rows else np.empty((0, 5), np.int64)

    def __len__(self) -> int:
        return len(self._windows)

    def windows(self, epoch: int = 0) -> np.ndarray:
        """Returns the windows, the same for every epoch."""
        return self._windows


def _starts(length: int, side: int, step: int, partial: bool | str) -> np.ndarray:
    last = max(length - side, 0)
    whole = np.arange(0, last + 1, step, dtype=np.int64)
    if partial is False:
        return whole if length >= side else whole[:0]
    if whole[-1] + side >= length:
        return whole
    end = last if partial == "move" else whole[-1] + step
    return np.append(whole, end) if end < length else whole


class RandomWindows:
    """`count` windows an epoch, at places drawn evenly over all pixels of all files; a file as often as it has places."""

    def __init__(
        self, files: Sequence[Any], size: Any, count: int, *, seed: int = 0, level: int = 0, page: int = 0
    ) -> None:
        self.size, self.count, self.seed = sides_of(size), int(count), int(seed)
        self.level, self.page = int(level), int(page)
        sizes = level_sizes(files, level, page)
        if not len(sizes):
            raise StrileError("no files to draw windows from")
        # A file that is smaller than a window has one place.
        self._places = np.maximum(sizes - np.array(self.size) + 1, 1)
        chances = self._places.prod(axis=1).astype(np.float64)
        self._chances = chances / chances.sum()

    def __len__(self) -> int:
        return self.count

    def windows(self, epoch: int = 0) -> np.ndarray:
        """Returns the windows of an epoch."""
        random = np.random.default_rng((self.seed, epoch))
        file = random.choice(len(self._chances), self.count, p=self._chances)
        places = (random.random((self.count, 2)) * self._places[file]).astype(np.int64)
        sides = np.broadcast_to(np.array(self.size, np.int64), (self.count, 2))
        return np.concatenate([file[:, None].astype(np.int64), places, sides], axis=1)


class WeightedWindows:
    """`count` windows an epoch, drawn from given ones (rows of a `GridWindows`, say) by weight, moved at random by less than
    `jitter` pixels either way."""

    def __init__(
        self, windows: Any, weights: Any, count: int, *, seed: int = 0, jitter: int = 0
    ) -> None:
        self._windows = np.asarray(windows.windows() if hasattr(windows, "windows") else windows, np.int64)
        self.level, self.page = getattr(windows, "level", None), getattr(windows, "page", None)
        weights = np.asarray(weights, np.float64)
        if self._windows.ndim != 2 or weights.shape != (len(self._windows),):
            raise StrileError(f"{weights.shape} weights for windows of shape {self._windows.shape}: expected one for each")
        if not np.all(np.isfinite(weights)) or weights.min(initial=0.0) < 0 or weights.sum() <= 0:
            raise StrileError("expected weights that are finite, 0 or more, and not all 0")
        self._chances = weights / weights.sum()
        self.count, self.seed, self.jitter = int(count), int(seed), int(jitter)

    def __len__(self) -> int:
        return self.count

    def windows(self, epoch: int = 0) -> np.ndarray:
        """Returns the windows of an epoch."""
        random = np.random.default_rng((self.seed, epoch))
        chosen = self._windows[random.choice(len(self._chances), self.count, p=self._chances)].copy()
        if self.jitter > 0:
            chosen[:, 1:3] += random.integers(1 - self.jitter, self.jitter, (self.count, 2))
        return chosen


def with_place_of(windows: Any, options: dict[str, Any]) -> dict[str, Any]:
    """Options of `read_batch`, with the level and page that a sampler's windows are of."""
    options = dict(options)
    for name in ("level", "page"):
        own = getattr(windows, name, None)
        if own is not None and options.setdefault(name, own) != own:
            raise StrileError(f"{name} is {options[name]}, but the windows were made for {name} {own}")
    return options


def valid_fractions(files: Sequence[Any], windows: Any, **options: Any) -> np.ndarray:
    """Returns the part of each window's pixels that is inside its image and not missing in all bands; read once, in batches.
    Keywords are those of `read_batch`. An alpha band is never missing itself: name the other bands with `bands`."""
    from ..batch import read_batch

    for name in ("masked", "windows", "bounds", "points", "out", "device"):
        if name in options:
            raise StrileError(f"valid_fractions sets {name} itself: windows are read masked, into host memory of their own")
    options = with_place_of(windows, options)

    rows = np.asarray(windows.windows() if hasattr(windows, "windows") else windows, np.int64)
    fractions = np.empty(len(rows))
    for first in range(0, len(rows), 64):
        part = rows[first : first + 64]
        batch = read_batch(files, part, masked=True, **options)
        valid = ~np.isnan(np.asarray(batch)).all(axis=1)
        fractions[first : first + len(part)] = valid.mean(axis=(1, 2))
    return fractions
