"""Pixels on the device handed to CuPy, PyTorch and JAX and taken from them: no copy, streams in order."""
from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import strile

Made = tuple[Path, np.ndarray]


def test_cupy_takes_the_memory_itself(raster: Made, cupy) -> None:
    path, pixels = raster
    read = strile.read(path, device="cuda:0")
    address = read.__cuda_array_interface__["data"][0]
    by_dlpack, by_interface = cupy.from_dlpack(read), cupy.asarray(read)
    assert by_dlpack.data.ptr == by_interface.data.ptr == address
    assert by_dlpack.shape == pixels.shape and by_dlpack.dtype == pixels.dtype
    del read
    assert np.array_equal(cupy.asnumpy(by_dlpack), pixels)


def test_torch_takes_the_memory_itself(raster: Made) -> None:
    torch = pytest.importorskip("torch")
    path, pixels = raster
    read = strile.read(path, device="cuda:0")
    tensor = torch.from_dlpack(read)
    assert tensor.data_ptr() == read.__cuda_array_interface__["data"][0]
    del read
    assert tensor.is_cuda and np.array_equal(tensor.cpu().numpy(), pixels)


def test_jax_takes_the_pixels(raster: Made) -> None:
    jax = pytest.importorskip("jax")
    if not any(device.platform == "gpu" for device in jax.devices()):
        pytest.skip("JAX has no GPU here")
    path, pixels = raster
    read = strile.read(path, device="cuda:0")
    array = jax.dlpack.from_dlpack(read)
    assert array.unsafe_buffer_pointer() == read.__cuda_array_interface__["data"][0]
    assert np.array_equal(np.asarray(array), pixels)


def test_numpy_copies_from_the_device_when_asked(raster: Made) -> None:
    path, pixels = raster
    read = strile.read(path, device="cuda:0")
    assert read.device == "cuda:0" and np.array_equal(read.numpy(), pixels)


@pytest.mark.parametrize("library", ["cupy", "torch"])
def test_a_read_into_the_callers_memory_waits_for_the_callers_stream(raster: Made, library: str) -> None:
    """Work queued on `out` before the read must not land after it: a slow kernel that fills `out` is queued on a stream
    of the caller's, then the read is asked for on that stream."""
    module = pytest.importorskip(library)
    path, pixels = raster
    if library == "cupy":
        stream = module.cuda.Stream(non_blocking=True)
        out = module.empty(pixels.shape, pixels.dtype)
        slow = module.empty((6000, 6000), "float32")
        with stream:
            slow.fill(1)
            for _ in range(6):
                slow = slow @ slow * 1e-4
            out.fill(77)
        given = strile.read(path, device="cuda:0", out=out, stream=stream.ptr)
        found = module.asnumpy(out)
    else:
        stream = module.cuda.Stream()
        out = module.empty(pixels.shape, dtype=getattr(module, pixels.dtype.name), device="cuda:0")
        slow = module.ones((6000, 6000), device="cuda:0")
        with module.cuda.stream(stream):
            for _ in range(6):
                slow = slow @ slow * 1e-4
            out.fill_(77)
        given = strile.read(path, device="cuda:0", out=out, stream=stream.cuda_stream)
        found = out.cpu().numpy()
    assert given is out and np.array_equal(found, pixels)


def test_out_may_have_strides(raster: Made, cupy) -> None:
    path, pixels = raster
    whole = cupy.full((700, 900, 4), 9, pixels.dtype)
    view = cupy.moveaxis(whole[:, :, :3], -1, 0)
    strile.read(path, device="cuda:0", out=view)
    assert np.array_equal(cupy.asnumpy(view), pixels) and (cupy.asnumpy(whole[..., 3]) == 9).all()


def test_an_output_of_another_shape_is_refused(raster: Made, cupy) -> None:
    path, pixels = raster
    out = cupy.full((3, 700, 899), 5, pixels.dtype)
    with pytest.raises(ValueError, match="899"):
        strile.read(path, device="cuda:0", out=out)
    assert (out == 5).all()
