"""A cluster whose workers encode on a GPU: the bytes of a local write by the portable encoder, memory shared."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

cupy = pytest.importorskip("cupy")
da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")

import strile  # noqa: E402

PIXELS = np.random.default_rng(3).integers(0, 4000, (1500, 1300), dtype=np.uint16)
LAYOUT: dict[str, Any] = {"cog": True, "tile_size": 128, "overview_resampling": "cubic", "compression": "deflate"}


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    """Two workers on one card."""
    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, memory_limit=0
    )
    with cluster, distributed.Client(cluster) as client:
        yield client


def cannot_travel() -> str | None:
    """Why CuPy arrays do not go from worker to worker."""
    from distributed.protocol import deserialize, serialize

    try:
        sent = deserialize(*serialize(cupy.arange(3), serializers=["dask"], on_error="raise"))
    except Exception as problem:  # whatever a package that does not fit the driver raises
        return f"{type(problem).__name__}: {problem}"
    return None if bool((sent == cupy.arange(3)).all()) else "they arrive changed"


@pytest.mark.parametrize("buffer", [1 << 20, 1 << 28], ids=["files", "results"])
@pytest.mark.parametrize("where", ["gpu=True", "CuPy", "mixed"])
def test_bytes_are_those_of_the_portable_encoder(client: Any, tmp_path: Path, where: str, buffer: int) -> None:
    if where != "gpu=True" and (why := cannot_travel()) is not None:
        pytest.skip(f"distributed cannot send CuPy arrays here, for which it takes rmm or numba: {why}")

    # Defined here, so that they go to workers by value: these do not have this module.
    def on_device(block: np.ndarray) -> Any:
        import cupy

        return cupy.asarray(block)

    def half(block: np.ndarray, block_info: Any = None) -> Any:
        return on_device(block) if sum(block_info[0]["chunk-location"]) % 2 else block

    strile.to_geotiff(PIXELS, tmp_path / "whole.tif", reproducible=True, **LAYOUT)
    lazy = da.from_array(PIXELS, chunks=300)
    if where == "CuPy":
        lazy = lazy.map_blocks(on_device, meta=cupy.empty((0, 0), dtype=PIXELS.dtype))
    if where == "mixed":
        # Half of the chunks are on the device when they come to be encoded.
        lazy = lazy.map_blocks(half, meta=np.empty((0, 0), dtype=PIXELS.dtype))
    strile.to_geotiff(
        lazy, tmp_path / "parts.tif", cluster=True, gpu=None if where == "CuPy" else True,
        streaming_buffer_bytes=buffer, **LAYOUT,
    )  # fmt: skip
    assert (tmp_path / "parts.tif").read_bytes() == (tmp_path / "whole.tif").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["parts.tif", "whole.tif"]
    assert set(client.run(lambda: os.environ.get("STRILE_GPU_SHARE")).values()) == {"2"}
