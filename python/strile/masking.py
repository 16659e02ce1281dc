"""Pixels that a mask image or an alpha band leaves out, as NaN: of files without a nodata value, which is all that the
core masks by."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from .errors import StrileError


def float_type(stored: np.dtype[Any]) -> np.dtype[Any]:
    """The smallest float that holds every stored value as far as a float of 32 bits reaches; floats stay."""
    if stored.kind in "fc":
        return stored if stored.itemsize > 2 else np.dtype(np.float32)
    return np.dtype(np.float32 if stored.itemsize <= 2 else np.float64)


def leave_out(pixels: Any, mask: Any, bands: Iterable[int], alpha: int | None) -> None:
    """NaN where a mask is 0, in every band but the alpha itself."""
    invalid = mask == 0
    for number, band in enumerate(bands):
        if band != alpha:
            pixels[number][invalid] = np.nan


def read(
    dataset: Any, mask: tuple[str, int | None], place: dict[str, Any], bands: list[int] | None, keywords: dict[str, Any]
) -> Any:
    """A window of a core dataset, masked by what `mask_beside_nodata` found, as a `Raster` in host memory. `keywords` are
    those of the read that `masked` was asked of."""
    from ._core import Raster

    alpha = mask[1]
    if keywords["out"] is not None or str(keywords["device"]).startswith("cuda"):
        has = "a mask image" if alpha is None else f"alpha in band {alpha}"
        raise StrileError(
            f"{dataset.name} has {has} and no nodata value, which is applied in host memory of its own: read it with "
            "masked=True and without out and a GPU, or by open_geotiff(gpu=True, masked=True)"
        )
    place = {**place, "device": keywords["device"], "out_memory": "host"}
    found = dataset.read(bands=bands, unpack=keywords["unpack"], progress=keywords["progress"], **place)
    pixels = found.numpy()
    made = float_type(pixels.dtype)
    dataset.check_size(pixels.size, pixels.size * made.itemsize, max_pixels=place.get("max_pixels"))
    masked = Raster.zeros(made.name, found.shape)
    array = masked.numpy()
    array[...] = pixels
    valid = dataset.read(layer="mask", **place).numpy()[0]
    leave_out(array, valid, bands or range(1, len(array) + 1), alpha)
    return masked
