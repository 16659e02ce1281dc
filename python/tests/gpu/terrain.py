"""Pixels for the tests on a GPU."""
from __future__ import annotations

import numpy as np


def terrain(shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """Pixels that no two places share by chance: never zeros."""
    generator = np.random.default_rng(7)
    rows, columns = shape[-2], shape[-1]
    hills = np.add.outer(np.sin(np.arange(rows) / 37.0), np.cos(np.arange(columns) / 53.0)) * 900 + 2000
    pixels = hills + generator.normal(0, 3, shape)
    return pixels.astype(dtype)
