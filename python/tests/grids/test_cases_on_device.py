"""A seventh of the drawn cases of `xtask/python/check_warp.py` on the stand-in for the CUDA driver (`STRILE_STANDIN` is its folder): the bits of the CPU. The GPU check
has them all."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = os.environ.get("STRILE_STANDIN")
pytestmark = pytest.mark.skipif(not FOLDER, reason="STRILE_STANDIN names no stand-in for the CUDA driver")
HERE = Path(__file__).parent
SCRIPT = HERE.parents[2] / "xtask" / "gpu" / "warp_cases_check.py"


def test_drawn_cases_have_the_bits_of_the_cpu(tmp_path: Path) -> None:
    paths = [str(HERE / "standin"), *filter(None, [os.environ.get("PYTHONPATH")])]
    ended = subprocess.run(
        [sys.executable, "-B", "-W", "ignore", str(SCRIPT), str(tmp_path), "7"],
        env={**os.environ, "LD_LIBRARY_PATH": FOLDER or "", "PYTHONPATH": os.pathsep.join(paths), "PROJ_DEBUG": "0"},
        capture_output=True,
        text=True,
        timeout=1200,
    )
    assert ended.returncode == 0, ended.stderr
    found = json.loads(ended.stdout.splitlines()[-1])
    assert found["wrong"] == [] and found["compared"] == 458
