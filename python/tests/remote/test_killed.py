"""Uploads that are killed: no object, and after the clean-up no parts."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import strile
from servers import S3

KILLS = 50


def run(s3: S3, *arguments: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "strile", *arguments, *s3.flags],
        env=os.environ | s3.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )


def done(s3: S3, *arguments: str) -> str:
    process = run(s3, *arguments)
    told, _ = process.communicate(timeout=300)
    assert process.returncode == 0, told.decode()
    return told.decode()


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("killed") / "in.tif"
    noise = np.random.default_rng(1).integers(0, 2**16, (3000, 4000), np.uint16)
    strile.to_geotiff(noise, path, compression="none")
    return path


def test_killed_uploads_leave_no_object_and_no_parts(s3: S3, source: Path) -> None:
    assert s3.uploads() == []
    done(s3, "convert", str(source), s3.url("whole.tif"), "--co", "COMPRESS=NONE")
    whole = s3.get("whole.tif")
    chance = random.Random(7)
    left, absent = 0, 0
    for number in range(KILLS):
        key = f"killed/{number % 5}.tif"
        before = {upload["UploadId"] for upload in s3.uploads()}
        process = run(s3, "convert", str(source), s3.url(key), "--co", "COMPRESS=NONE", "--overwrite")
        # Most are killed while parts are on their way; some earlier, some when all is sent.
        if number % 4:
            for _ in range(2000):
                if process.poll() is not None or {upload["UploadId"] for upload in s3.uploads()} - before:
                    break
                time.sleep(0.005)
        time.sleep(chance.random() * 0.3)
        process.send_signal(signal.SIGKILL)
        told, _ = process.communicate(timeout=60)
        assert process.returncode in (0, -signal.SIGKILL), told
        left = max(left, len(s3.uploads()))
        found = s3.get(key)
        # One that was killed after its last request is there as a whole.
        assert found is None or found == whole
        absent += found is None
        s3.client.delete_object(Bucket="scenes", Key=key)
    assert left > 0 and absent > KILLS // 4, (left, absent)
    # Those that were begun a moment ago may be under way, so they are kept unless told otherwise. moto says 2010 of all.
    kept = len(s3.uploads())
    done(s3, "uploads", s3.url(""), "--remove", "--older-than", "1000000")
    assert len(s3.uploads()) == kept
    done(s3, "uploads", s3.url(""), "--remove", "--older-than", "0")
    # An upload that was killed between its begin and its first part has nothing that tells who began it, and no parts.
    assert [upload for upload in s3.uploads() if s3.parts(upload)] == []
    done(s3, "uploads", s3.url(""), "--remove", "--older-than", "0", "--all")
    assert s3.uploads() == []


def test_the_next_write_removes_what_a_killed_one_left(s3: S3, source: Path) -> None:
    key = "again.tif"
    for _ in range(20):
        process = run(s3, "convert", str(source), s3.url(key), "--co", "COMPRESS=NONE")
        for _ in range(2000):
            found = [upload for upload in s3.uploads() if upload["Key"] == key and s3.parts(upload)]
            if process.poll() is not None or found:
                break
            time.sleep(0.002)
        process.kill()
        process.communicate(timeout=60)
        # The server may still be busy with a last request.
        time.sleep(0.5)
        found = [upload for upload in s3.uploads() if upload["Key"] == key and s3.parts(upload)]
        if found and s3.get(key) is None:
            break
        s3.client.delete_object(Bucket="scenes", Key=key)
    assert found
    # Of another program, at the same key and at one that begins alike.
    other = [s3.client.create_multipart_upload(Bucket="scenes", Key=name) for name in (key, f"{key}.more")]
    for upload in other:
        s3.client.upload_part(
            Bucket="scenes", Key=upload["Key"], UploadId=upload["UploadId"], PartNumber=1, Body=b"not strile's"
        )
    done(s3, "convert", str(source), s3.url(key), "--co", "COMPRESS=NONE")
    assert s3.get(key) is not None
    left = {upload["UploadId"] for upload in s3.uploads()}
    assert left == {upload["UploadId"] for upload in other}
    told = done(s3, "uploads", s3.url("again"), "--older-than", "0", "--remove")
    assert told.count("by another program, kept") == 2, told
    assert {upload["UploadId"] for upload in s3.uploads()} == left
    for upload in other:
        s3.client.abort_multipart_upload(Bucket="scenes", Key=upload["Key"], UploadId=upload["UploadId"])

