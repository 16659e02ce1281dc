"""Uploads over a connection that fails: the object is whole or not there, and nothing is left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import strile
from proxy import Proxy
from servers import S3

NOISE = np.random.default_rng(9).integers(0, 2**16, (3000, 4000), np.uint16)


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("faults") / "local.tif"
    strile.to_geotiff(NOISE, path, compression="none")
    return path


@pytest.fixture
def proxy(s3: S3) -> Iterator[Proxy]:
    proxy = Proxy(s3.port)
    yield proxy
    proxy.stop()
    for upload in s3.uploads():
        s3.client.abort_multipart_upload(Bucket="scenes", Key=upload["Key"], UploadId=upload["UploadId"])


def write(s3: S3, proxy: Proxy, key: str, **options: Any) -> None:
    options = {**s3.options, "endpoint": proxy.url, **options}
    strile.to_geotiff(NOISE, s3.url(key), compression="none", storage_options=options)


def test_busy_servers_and_cut_connections_are_asked_again(s3: S3, proxy: Proxy, local: Path) -> None:
    failed = []

    def plan(number: int, method: str, path: str) -> str | None:
        does = {1: "503", 2: "cut"}.get(number % 5)
        failed.extend([does] if does else [])
        return does

    proxy.plan = plan
    write(s3, proxy, "faults/busy.tif")
    assert s3.get("faults/busy.tif") == local.read_bytes()
    assert len(failed) >= 4 and s3.uploads() == []


@pytest.mark.parametrize("asked", ["partNumber=1&", "partNumber=2&", "partNumber=3&", "uploads=", "complete"])
def test_a_lost_answer_does_no_harm(s3: S3, proxy: Proxy, local: Path, asked: str) -> None:
    lost = []

    def plan(number: int, method: str, path: str) -> str | None:
        complete = method == "POST" and "uploadId=" in path
        meant = complete if asked == "complete" else (asked in path and method != "GET")
        if meant and not lost:
            lost.append(path)
            return "lost"
        return None

    proxy.plan = plan
    write(s3, proxy, "faults/lost.tif")
    assert lost and s3.get("faults/lost.tif") == local.read_bytes()
    # A begin whose answer was lost leaves an upload without parts, which nobody knows by name.
    assert [upload for upload in s3.uploads() if s3.parts(upload)] == []


def test_a_server_that_never_answers_is_given_up_in_time(s3: S3, proxy: Proxy) -> None:
    proxy.plan = lambda number, method, path: "silent" if "partNumber=3&" in path else None
    begun = time.monotonic()
    with pytest.raises(OSError, match="total_timeout"):
        write(s3, proxy, "faults/silent.tif", total_timeout=3.0)
    assert time.monotonic() - begun < 15
    assert s3.get("faults/silent.tif") is None and s3.uploads() == []


def test_a_store_may_take_long_to_put_parts_together(s3: S3, proxy: Proxy, local: Path) -> None:
    completed = []

    def plan(number: int, method: str, path: str) -> str | None:
        last = method == "POST" and "uploadId=" in path
        completed.extend([path] if last else [])
        return "slow" if last else None

    proxy.plan = plan
    write(s3, proxy, "faults/long.tif", stall_timeout=1.0)
    assert len(completed) == 1 and s3.get("faults/long.tif") == local.read_bytes()


def test_an_end_that_is_not_known_is_told_as_such(s3: S3, proxy: Proxy) -> None:
    proxy.plan = lambda number, method, path: "silent" if method == "POST" and "uploadId=" in path else None
    with pytest.raises(OSError, match="the store may have written the object"):
        write(s3, proxy, "faults/unknown.tif", total_timeout=4.0)
    assert s3.get("faults/unknown.tif") is None and s3.uploads() == []


def test_a_refusal_is_told_at_once(s3: S3, proxy: Proxy) -> None:
    options = {**s3.options, "endpoint": proxy.url, "retries": 0}
    proxy.plan = lambda number, method, path: "503" if "partNumber=2&" in path else None
    with pytest.raises(OSError, match="503") as told:
        strile.to_geotiff(NOISE, s3.url("faults/refused.tif"), compression="none", storage_options=options)
    assert "Signature" not in str(told.value) and "secret" not in str(told.value)
    assert s3.get("faults/refused.tif") is None and s3.uploads() == []


@pytest.mark.parametrize("large", [False, True], ids=["whole", "parts"])
def test_an_object_that_comes_to_be_meanwhile_is_kept(s3: S3, proxy: Proxy, local: Path, tmp_path: Path, large: bool) -> None:
    source, key = local, f"faults/race{large}.tif"
    if not large:
        source = tmp_path / "small.tif"
        strile.to_geotiff(NOISE[:100, :100], source)

    def plan(number: int, method: str, path: str) -> str | None:
        last = method == "POST" and "uploadId=" in path if large else method == "PUT"
        if last:
            s3.put(key, b"of another writer")
        return None

    proxy.plan = plan
    options = {**s3.options, "endpoint": proxy.url}
    with pytest.raises(OSError, match="was created by another program while it was written"):
        strile.convert(source, s3.url(key), storage_options=options)
    assert s3.get(key) == b"of another writer" and s3.uploads() == []


def test_ctrl_c_ends_an_upload_soon_and_removes_it(s3: S3, proxy: Proxy, local: Path) -> None:
    proxy.plan = lambda number, method, path: "silent" if "partNumber=3&" in path else None
    process = subprocess.Popen(
        [sys.executable, "-m", "strile", "convert", str(local), s3.url("faults/stopped.tif")]
        + ["--endpoint", proxy.url, "--allow-http"],
        env=os.environ | s3.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    for _ in range(2000):
        if process.poll() is not None or any(s3.parts(upload) for upload in s3.uploads()):
            break
        time.sleep(0.01)
    time.sleep(0.5)
    begun = time.monotonic()
    process.send_signal(signal.SIGINT)
    told, _ = process.communicate(timeout=60)
    assert process.returncode == 130, told
    assert time.monotonic() - begun < 5
    assert s3.get("faults/stopped.tif") is None and s3.uploads() == []
