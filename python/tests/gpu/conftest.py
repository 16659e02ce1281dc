"""Tests that need an NVIDIA GPU and CuPy: skipped aloud without them, failing where STRILE_REQUIRE_GPU=1 says there is one."""
from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from terrain import terrain

REQUIRED = os.environ.get("STRILE_REQUIRE_GPU") == "1"


def lacking() -> str | None:
    """What is missing for these tests; None where nothing is."""
    import strile

    if not any(device["usable"] and device["name"].startswith("cuda") for device in strile.devices()):
        return "no usable CUDA device"
    try:
        import cupy
    except ImportError as reason:
        return f"no CuPy ({reason})"
    return None if cupy.cuda.runtime.getDeviceCount() else "CuPy sees no device"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = [item for item in items if Path(__file__).parent in Path(item.fspath).parents]
    why = lacking() if here else None
    if why is None:
        return
    if REQUIRED:
        pytest.exit(f"STRILE_REQUIRE_GPU=1, but: {why}", returncode=3)
    for item in here:
        item.add_marker(pytest.mark.skip(reason=why))


@pytest.fixture
def cupy():
    return pytest.importorskip("cupy")


@pytest.fixture(params=["uint16", "float32", "uint8"])
def raster(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, np.ndarray]:
    """A tiled deflate file of three bands, and its pixels (band, row, column)."""
    import strile

    pixels = terrain((3, 700, 900), request.param)
    path = tmp_path / f"{request.param}.tif"
    strile.to_geotiff(np.moveaxis(pixels, 0, -1), str(path), compression="deflate", predictor=True)
    return path, pixels
