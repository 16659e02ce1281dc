"""Files of these tests, made by rasterio and tifffile, and the routes that must all give the same."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

rasterio = pytest.importorskip("rasterio")
tifffile = pytest.importorskip("tifffile")

import strile  # noqa: E402

UTM = (30.1, 0.0, 500000.25, 0.0, -29.9, 4000000.5)


@pytest.fixture(params=["eager", "chunks"])
def read(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """`open_geotiff` on every route, computed; `attrs` are those of the opened array."""

    def opened(path: Any, **keywords: Any) -> Any:
        if request.param == "chunks":
            pytest.importorskip("dask.array")
            array = strile.open_geotiff(str(path), chunks=(7, 11), **keywords)
            assert type(array.data).__module__.startswith("dask")
            computed = array.compute()
            assert computed.dtype == array.dtype
            return computed
        return strile.open_geotiff(path, **keywords)

    return opened


@pytest.fixture
def pixels() -> np.ndarray:
    return np.random.default_rng(7).integers(0, 250, (40, 50), dtype=np.uint8)


@pytest.fixture
def gtiff(tmp_path: Path) -> Callable[..., Path]:
    """A file written by rasterio: `bands` is (rows, columns) or (bands, rows, columns)."""

    def written(
        bands: np.ndarray, *, name: str = "made.tif", after: Any = None, env: Any = None, **profile: Any
    ) -> Path:
        path = tmp_path / name
        stack = bands if bands.ndim == 3 else bands[None]
        count, height, width = stack.shape
        if "transform" in profile:
            profile["transform"] = rasterio.Affine(*profile["transform"])
        with warnings.catch_warnings(), rasterio.Env(**(env or {})):
            warnings.simplefilter("ignore", rasterio.errors.NotGeoreferencedWarning)
            with rasterio.open(
                path, "w", driver="GTiff", width=width, height=height, count=count, dtype=stack.dtype, **profile
            ) as file:
                file.write(stack)
                if after is not None:
                    after(file)
        return path

    return written


@pytest.fixture
def tagged(tmp_path: Path) -> Callable[..., Path]:
    """A file written by tifffile with tags as they are given: (id, type, count, value)."""

    def written(
        pixels: np.ndarray, *tags: tuple[int, Any, int, Any], name: str = "made.tif", **options: Any
    ) -> Path:
        path = tmp_path / name
        options.setdefault("metadata", None)
        tifffile.imwrite(path, pixels, extratags=[(*tag, True) for tag in tags], **options)
        return path

    return written
