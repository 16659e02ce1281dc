"""`coregister` and `auto_reproject` with `gpu=True`: the tests of `tests/grids/test_coregister.py`, with every read on the GPU.

Each read is done on the GPU and on the CPU, and must have the same pixels, coordinates and attributes; then it goes on with the pixels of the GPU. The
stand-in for the CUDA driver runs these tests, too (`tests/grids/test_coregister_on_device.py`)."""

from __future__ import annotations

import functools
import importlib.util
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

PATH = Path(__file__).parents[1] / "grids" / "test_coregister.py"
SPEC = importlib.util.spec_from_file_location("coregister_on_host", PATH)
assert SPEC is not None and SPEC.loader is not None
HOST = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(HOST)

# Of arrays in host memory, which read no file on a device.
OF_ARRAYS = {
    "test_arrays_are_reprojected_as_gdal_does", "test_a_reprojected_array_keeps_its_form", "test_missing_pixels_of_a_reprojected_array_stay_missing",
}  # fmt: skip
# All of their reads are refused.
REFUSED = {
    "test_coregister_of_an_irregular_array_is_an_error", "test_coregister_of_a_file_elsewhere_is_an_error",
    "test_keywords_that_follow_from_the_array", "test_engine_without_one_target_grid_is_an_error",
}  # fmt: skip
globals().update({name: test for name, test in vars(HOST).items() if name.startswith("test_") and name not in OF_ARRAYS})


def on_host(array: Any) -> Any:
    """The pixels of a device in host memory."""
    import cupy

    if hasattr(array.data, "dask"):
        blocks = array.data.map_blocks(cupy.asnumpy, dtype=array.dtype, meta=np.empty((0,) * array.ndim, array.dtype))
        return array.copy(data=blocks)
    assert isinstance(array.data, cupy.ndarray)
    return array.copy(data=cupy.asnumpy(array.data))


@pytest.fixture(autouse=True)
def reads(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[list[str]]:
    """The devices that pixels came to."""
    from strile import backend, coregistered, pixels
    from strile.reading import cuda

    devices: list[str] = []

    def counted(of: Any) -> Any:
        def array(raster: Any) -> Any:
            devices.append(raster.device)
            return of(raster)

        return array

    def over(array: Any, source: Any, **options: Any) -> Any:
        found = on_host(of_file(array, source, gpu=True, on_gpu_failure="strict", **options))
        expected = of_file(array, source, **options)
        assert found.dtype == expected.dtype and found.identical(expected)
        return found

    of_file, of_engine = coregistered.open_over, backend.StrileBackend.open_dataset

    # xarray wants to see the keywords.
    @functools.wraps(of_engine)
    def opened(*arguments: Any, **options: Any) -> Any:
        found = of_engine(*arguments, **options, device="cuda")
        return found.assign({name: on_host(array) for name, array in found.data_vars.items() if array.ndim > 1})

    monkeypatch.setattr(coregistered, "open_over", over)
    monkeypatch.setattr(backend.StrileBackend, "open_dataset", opened)
    monkeypatch.setattr(cuda, "array", counted(cuda.array))
    monkeypatch.setattr(pixels, "_array", counted(pixels._array))
    yield devices
    name = request.node.originalname
    assert set(devices) == (set() if name in REFUSED or name not in vars(HOST) else {"cuda:0"}), name


def test_tests_of_the_host_run_here() -> None:
    """None of them is hidden by a name of this file."""
    of_host = {name: test for name, test in vars(HOST).items() if name.startswith("test_") and name not in OF_ARRAYS}
    assert of_host.items() <= globals().items() and len(of_host) > 15 and of_host.keys() > REFUSED
