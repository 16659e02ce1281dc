"""Files that the workers of a cluster write to a bucket: the bytes of the local write, with no folder that they share."""

from __future__ import annotations

import logging
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from servers import S3, Store

da = pytest.importorskip("dask.array")
xr = pytest.importorskip("xarray")
distributed = pytest.importorskip("distributed")

import strile  # noqa: E402
from strile.cluster.uploading import Upload, cut  # noqa: E402

NOISE = np.random.default_rng(5).integers(0, 2**16, (3000, 4000), np.uint16)
"""24 MB that do not compress: uploads of several parts."""
SMALL = NOISE[:300, :500]


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, memory_limit=0
    )
    with cluster, distributed.Client(cluster) as client:
        yield client


@pytest.mark.parametrize("cog", [False, True], ids=["plain", "cog"])
@pytest.mark.parametrize("pixels", [SMALL, NOISE], ids=["small", "large"])
def test_bytes_are_those_of_the_local_file(
    client: Any, store: Store, tmp_path: Path, caplog: pytest.LogCaptureFixture, pixels: np.ndarray, cog: bool
) -> None:
    caplog.set_level(logging.INFO, "strile")
    keywords: dict[str, Any] = {"cog": cog, "compression": "deflate", "crs": 32633}
    local, key = tmp_path / "local.tif", f"cluster/{cog}/{len(pixels)}.tif"
    strile.to_geotiff(pixels, local, **keywords)
    told: list[tuple[int, int]] = []
    lazy = da.from_array(pixels, chunks=(700, 900))
    url = store.url(key)
    strile.to_geotiff(
        lazy,
        url,
        storage_options=store.options,
        cluster=True,
        progress=lambda done, total: told.append((done, total)),
        **keywords,
    )
    assert store.get(key) == local.read_bytes()
    assert told[-1][0] == told[-1][1] and told == sorted(told)
    expected = 1 if len(pixels) == 300 else 4 if cog else 3
    assert f"by a cluster: {expected} parts of an upload" in caplog.text
    if isinstance(store, S3):
        assert store.uploads() == []


def test_sidecars_go_with_it(client: Any, store: Store, tmp_path: Path) -> None:
    attrs = {"category_names": ["a", "b"], "crs": 32633}
    store.put("cluster/named.tif", b"old")
    store.put("cluster/named.tif.ovr", b"of the old one")
    lazy = xr.DataArray(da.from_array(SMALL.astype(np.uint8), chunks=100), dims=("y", "x"), attrs=attrs)
    strile.to_geotiff(lazy.compute(), tmp_path / "a.tif", allow_experimental_codecs=True)
    url = store.url("cluster/named.tif")
    strile.to_geotiff(lazy, url, storage_options=store.options, cluster=True, allow_experimental_codecs=True)
    assert store.get("cluster/named.tif") == (tmp_path / "a.tif").read_bytes()
    assert store.get("cluster/named.tif.aux.xml") == (tmp_path / "a.tif.aux.xml").read_bytes()
    assert store.get("cluster/named.tif.ovr") is None


def test_a_task_that_fails_leaves_the_old_object_and_no_parts(client: Any, store: Store) -> None:
    def fail(block: np.ndarray, block_info: Any = None) -> np.ndarray:
        if block_info and block_info[0]["chunk-location"][0] == 2:
            raise ZeroDivisionError("on purpose")
        return block

    store.put("cluster/old.tif", b"as it was")
    lazy = da.from_array(NOISE, chunks=(1000, 4000)).map_blocks(fail, dtype=NOISE.dtype)
    for name in ("cluster/old.tif", "cluster/new.tif"):
        with pytest.raises(ZeroDivisionError, match="on purpose"):
            strile.to_geotiff(lazy, store.url(name), storage_options=store.options, cluster=True)
    assert store.get("cluster/old.tif") == b"as it was" and store.get("cluster/new.tif") is None
    if isinstance(store, S3):
        assert store.uploads() == []


def test_a_part_that_cannot_be_sent_leaves_nothing(client: Any, s3: S3, monkeypatch: pytest.MonkeyPatch) -> None:
    """The upload is taken away under the workers, as by another writer of the same object."""
    from strile.cluster import bucket

    begun = bucket.BegunUpload.__enter__

    def removed(self: Any) -> Any:
        for upload in s3.uploads():
            s3.client.abort_multipart_upload(Bucket="scenes", Key=upload["Key"], UploadId=upload["UploadId"])
        return begun(self)

    monkeypatch.setattr(bucket.BegunUpload, "__enter__", removed)
    lazy = da.from_array(NOISE, chunks=(1000, 4000))
    # moto does not say that it knows no such upload: it fails.
    with pytest.raises(OSError, match="the upload was removed meanwhile|the store answers 500"):
        strile.to_geotiff(lazy, s3.url("cluster/gone.tif"), storage_options=s3.options, cluster=True)
    assert s3.get("cluster/gone.tif") is None and s3.uploads() == []


@pytest.mark.parametrize("moment", ["encode", "put"])
def test_a_killed_worker_is_replaced(s3: S3, tmp_path: Path, moment: str) -> None:
    """Its tasks are run again elsewhere: the same bytes, and nothing is left over."""

    def slow(block: np.ndarray) -> np.ndarray:
        time.sleep(0.2)
        return block

    local, key = tmp_path / "local.tif", f"cluster/killed-{moment}.tif"
    strile.to_geotiff(NOISE, local, cog=True)
    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, memory_limit=0
    )
    with cluster, distributed.Client(cluster) as client:
        killed: list[int] = []

        def tell(done: int, total: int) -> None:
            if not killed and (moment == "encode" and done > 0 or moment == "put" and done == total - 1):
                worker = next(iter(client.run(os.getpid).values()))
                killed.append(worker)
                os.kill(worker, signal.SIGKILL)

        lazy = da.from_array(NOISE, chunks=(500, 4000)).map_blocks(slow, dtype=NOISE.dtype)
        url = s3.url(key)
        strile.to_geotiff(lazy, url, storage_options=s3.options, cog=True, cluster=True, progress=tell)
    assert killed and s3.get(key) == local.read_bytes()
    assert s3.uploads() == []


def test_secrets_are_not_shown() -> None:
    upload = Upload("s3://bucket/a", {"settings": (("aws_secret_access_key", "hidden"),)}, "a hidden ticket", False)
    assert "hidden" not in repr(upload) and "bucket" not in repr(upload)


def test_stretches_are_cut_where_parts_end() -> None:
    stretches: list[Any] = [b"abcdefg", (0, 10, 20), (1, 0, 3), b"xy"]
    parts = cut(stretches, 8)
    assert parts == [[b"abcdefg", (0, 10, 11)], [(0, 11, 19)], [(0, 19, 20), (1, 0, 3), b"xy"]]
    assert cut([b"abcd"], 2) == [[b"ab"], [b"cd"]] and cut([b"ab"], 8) == [[b"ab"]]
