"""Files of a batch: three codecs, two types of planes, one with overviews, nodata and a scale; made by rasterio."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

rasterio = pytest.importorskip("rasterio")


@pytest.fixture(scope="session")
def scenes(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("scenes")
    random = np.random.default_rng(4)
    paths = []
    for number, codec in enumerate(["deflate", "zstd", "lzw", "deflate"]):
        path = folder / f"{number}.tif"
        pixels = random.integers(0, 3000, (3, 90, 120), dtype=np.uint16)
        pixels[:, :10, :10] = 7
        with rasterio.open(
            path, "w", driver="GTiff", width=120, height=90, count=3, dtype="uint16", tiled=True, blockxsize=32,
            blockysize=32, compress=codec, predictor=2, nodata=7, interleave="band" if number == 2 else "pixel",
            crs="EPSG:32633", transform=rasterio.transform.from_origin(1000.0 * number, 5000.0, 10.0, 10.0),
        ) as target:
            target.write(pixels)
            target.scales, target.offsets = (0.5,) * 3, (float(number),) * 3
        with rasterio.open(path, "r+") as target:
            target.build_overviews([2], rasterio.enums.Resampling.nearest)
        paths.append(str(path))
    return paths


def by_rasterio(path: str | Path, x: int, y: int, width: int, height: int, fill: float, **options: object) -> np.ndarray:
    """A window that may leave the image."""
    with rasterio.open(path, **options) as source:
        whole = source.read()
    window = np.full((whole.shape[0], height, width), fill, whole.dtype)
    left, top, right, bottom = max(x, 0), max(y, 0), min(x + width, whole.shape[2]), min(y + height, whole.shape[1])
    if left < right and top < bottom:
        window[:, top - y : bottom - y, left - x : right - x] = whole[:, top:bottom, left:right]
    return window
