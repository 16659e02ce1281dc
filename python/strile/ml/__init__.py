"""Windows of GeoTIFFs for training: samplers, which need numpy alone, and datasets for PyTorch.

    from strile.ml import BatchDataset, RandomWindows

    windows = RandomWindows(files, size=256, count=10_000, seed=1)
    for batch in BatchDataset(files, windows, batch_size=64, device="cuda"):
        ...

PyTorch is imported only when its datasets are used."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .samplers import GridWindows, RandomWindows, WeightedWindows, valid_fractions
    from .torch_data import BatchDataset, WindowDataset, collate

_LAZY = {
    "BatchDataset": "torch_data",
    "GridWindows": "samplers",
    "RandomWindows": "samplers",
    "WeightedWindows": "samplers",
    "WindowDataset": "torch_data",
    "collate": "torch_data",
    "valid_fractions": "samplers",
}

__all__ = sorted(_LAZY)


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f".{_LAZY[name]}", __name__), name)
    globals()[name] = value
    return value
