"""Batches on a GPU, on the stand-in for the CUDA driver: `STRILE_STANDIN` is its folder. Real GPUs have tests of their own."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
import strile

FOLDER = os.environ.get("STRILE_STANDIN")
pytestmark = pytest.mark.skipif(not FOLDER, reason="STRILE_STANDIN names no stand-in for the CUDA driver")

BEGIN = """
import os, sys, warnings
import numpy as np
import strile
warnings.simplefilter("ignore")
paths = sys.argv[1:]
windows = [[0, 10, 20, 40, 30], [1, -5, 70, 40, 30], [2, 90, -9, 40, 30], [3, 60, 60, 40, 30]]

def read(device, **options):
    return strile.read_batch(paths, windows, device=device, **options)
"""


def run(code: str, scenes: list[str]) -> None:
    package = os.path.dirname(os.path.dirname(strile.__file__))
    environment = {**os.environ, "LD_LIBRARY_PATH": FOLDER or "", "PYTHONPATH": package}
    command = [sys.executable, "-c", BEGIN + code, *scenes]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment)
    assert done.returncode == 0, done.stderr


def test_a_batch_is_that_of_the_cpu(scenes: list[str]) -> None:
    run(
        """
for options in ({}, {"unpack": True}, {"dtype": "float64", "bands": [2, 3]}, {"size": (17, 23), "resampling": "average"}):
    expected = read("cpu", **options).numpy()
    found = read("cuda:0", **options)
    assert found.device == "cuda:0" and found.__dlpack_device__() == (2, 0), found
    np.testing.assert_array_equal(found.numpy(), expected)
    brought = read("cpu", decode_on="cuda:0", **options)
    assert brought.device == "cpu"
    np.testing.assert_array_equal(brought.numpy(), expected)
    # Into memory of the device, again and again.
    for _ in range(3):
        assert read("cuda:0", out=found, **options) is found
    np.testing.assert_array_equal(found.numpy(), expected)
""",
        scenes,
    )


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_child_of_a_fork_has_the_cpu_alone(scenes: list[str]) -> None:
    run(
        """
import signal
on_device, expected = read("cuda:0"), read("cpu").numpy()
child = os.fork()
if child == 0:
    signal.alarm(60)
    try:
        for decode_on in ("cpu", "auto"):
            assert np.array_equal(read("cpu", decode_on=decode_on).numpy(), expected)
        for call in (lambda: read("cuda:0"), on_device.numpy):
            try:
                call()
            except strile.DeviceError as error:
                assert "forked" in str(error), error
            else:
                raise AssertionError("no error")
        del on_device
        os._exit(0)
    except BaseException as error:
        print(type(error), error, file=sys.stderr, flush=True)
        os._exit(1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
assert np.array_equal(on_device.numpy(), expected) and np.array_equal(read("cuda:0").numpy(), expected)
""",
        scenes,
    )


@pytest.mark.parametrize("share", ["many", "0"])
def test_a_share_of_the_card_that_is_no_number_is_told(
    scenes: list[str], share: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STRILE_GPU_SHARE", share)
    run(
        """
try:
    read("cuda:0")
except strile.DeviceError as error:
    assert "STRILE_GPU_SHARE is `" in str(error), error
else:
    raise AssertionError("no error")
""",
        scenes,
    )
