"""The worked example trains: the loss falls, and it says how long it waits for data."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import strile

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "python" / "train.py"


def test_the_example_trains_on_the_cpu() -> None:
    pytest.importorskip("torch")
    small = ["--device", "cpu", "--scenes", "3", "--edge", "128", "--size", "16", "--batch", "8", "--steps", "24"]
    environment = {**os.environ, "PYTHONPATH": os.path.dirname(os.path.dirname(strile.__file__))}
    done = subprocess.run(
        [sys.executable, EXAMPLE, *small], capture_output=True, text=True, timeout=240, env=environment
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert [run["depth"] for run in found["runs"]] == [0, 2] and found["device"] == "cpu"
    for run in found["runs"]:
        assert run["loss_second_half"] < run["loss_first_half"] and 0 <= run["idle_percent"] < 100
    # The same windows, in the same order.
    assert found["runs"][0]["loss_second_half"] == pytest.approx(found["runs"][1]["loss_second_half"], abs=0.02)
