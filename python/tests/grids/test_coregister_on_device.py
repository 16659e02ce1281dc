"""`coregister` and `auto_reproject` with `gpu=True`, on the stand-in for the CUDA driver (`STRILE_STANDIN` is its folder): runs
`tests/gpu/test_over_arrays.py`, with a few lines in CuPy's place."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("dask")

FOLDER = os.environ.get("STRILE_STANDIN")
pytestmark = pytest.mark.skipif(not FOLDER, reason="STRILE_STANDIN names no stand-in for the CUDA driver")
TESTS = Path(__file__).parents[1]


def test_every_test_of_coregister_passes_with_gpu(tmp_path: Path) -> None:
    paths = [str(TESTS / "grids" / "standin"), *filter(None, [os.environ.get("PYTHONPATH")])]
    ended = subprocess.run(
        [
            sys.executable, "-B", "-m", "pytest", "-c", str(TESTS.parent / "pyproject.toml"), "--rootdir", str(TESTS.parent), "-p", "no:cacheprovider",
            "-p", "no:xdist", "-q", "--basetemp", str(tmp_path / "files"), str(TESTS / "gpu" / "test_over_arrays.py"),
        ],
        env={**os.environ, "LD_LIBRARY_PATH": FOLDER or "", "PYTHONPATH": os.pathsep.join(paths), "STRILE_REQUIRE_GPU": "1"},
        capture_output=True,
        text=True,
        timeout=600,
        cwd=tmp_path,
    )  # fmt: skip
    assert ended.returncode == 0 and " passed" in ended.stdout, ended.stdout + ended.stderr
