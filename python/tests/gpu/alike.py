"""What arrays on the device are compared with."""
from __future__ import annotations

import numpy as np


def same(on_device, on_host) -> None:
    """Two DataArrays alike in all but where the pixels are."""
    import cupy

    found = on_device.data
    found = found.compute() if hasattr(found, "compute") else found
    assert isinstance(found, cupy.ndarray)
    assert found.dtype == on_host.dtype and np.array_equal(cupy.asnumpy(found), on_host.values, equal_nan=found.dtype.kind == "f")
    assert on_device.dims == on_host.dims and on_device.name == on_host.name
    for name in on_host.coords:
        assert np.array_equal(on_device.coords[name].values, on_host.coords[name].values)
    lazy = {"nodata_pixels_present"}
    assert {k: v for k, v in on_device.attrs.items() if k not in lazy} == {
        k: v for k, v in on_host.attrs.items() if k not in lazy
    }
