"""Memory that the system does not give raises MemoryError; it never ends the interpreter."""

from __future__ import annotations

import struct
import subprocess
import sys
from pathlib import Path

import pytest

if not sys.platform.startswith("linux"):
    pytest.skip("limits on address space are Linux's here", allow_module_level=True)


def sparse(path: Path) -> Path:
    """30,000 x 30,000 bytes, none of which is stored: 900 MB in a small file."""
    table = 8 + 2 + 9 * 12 + 4
    fields = [
        (256, 4, 1, 30_000),
        (257, 4, 1, 30_000),
        (258, 3, 1, 8),
        (259, 3, 1, 1),
        (262, 3, 1, 1),
        (273, 4, 100, table),
        (277, 3, 1, 1),
        (278, 4, 1, 300),
        (279, 4, 100, table),
    ]
    directory = struct.pack("<H", len(fields)) + b"".join(struct.pack("<HHII", *field) for field in fields)
    path.write_bytes(b"II*\0\x08\0\0\0" + directory + bytes(4 + 400))
    return path


PROGRAM = """
import resource, sys
import numpy as np, strile

path = sys.argv[1]
# The budget of the process is made here, before the system's limit: so it is the system that refuses.
small = np.zeros((64, 64), np.uint8)
strile.to_geotiff(small, path + ".small.tif", compression="deflate")
strile.read(path + ".small.tif", device="cpu")
# Imports what xarray needs: without address space that fails with an ImportError.
strile.open_geotiff(path + ".small.tif").load()
with open("/proc/self/statm") as file:
    now = int(file.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (now + (400 << 20), resource.RLIM_INFINITY))
try:
    {call}
except MemoryError as error:
    print("MemoryError:", error)
"""

CALLS = {
    "read": "strile.read(path, device='cpu')",
    "open_geotiff": "strile.open_geotiff(path, max_pixels=10**10).load()",
    "read_batch": "strile.read_batch([path], windows=[(0, 0, 30000, 30000)], device='cpu')",
    "to_geotiff": "strile.to_geotiff(np.zeros((20000, 64), np.uint8), path + '.out.tif', tiled=True, tile_size=32768)",
}


@pytest.mark.parametrize("call", sorted(CALLS))
def test_no_call_ends_the_interpreter(tmp_path: Path, call: str) -> None:
    """Bug: an allocation that failed ended the process with SIGABRT."""
    path = sparse(tmp_path / "large.tif")
    program = PROGRAM.format(call=CALLS[call])
    run = subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stderr[-2000:]
    assert run.stdout.startswith("MemoryError:"), (run.stdout, run.stderr[-2000:])
