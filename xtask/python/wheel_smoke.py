"""Tries an installed wheel: imports it, writes and reads a file, and runs the command that comes with it.

Runs in a fresh environment that holds the wheel and its dependencies only.
"""

import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

import numpy as np
import strile

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "a.tif"
    pixels = np.arange(512 * 512, dtype="float32").reshape(512, 512)
    strile.to_geotiff(pixels, path, cog=True)
    assert (strile.read(path).numpy()[0] == pixels).all()
    assert (strile.open_geotiff(path).values == pixels).all()
    assert strile.validate_cog(path)["valid"]
    script = str(Path(sysconfig.get_path("scripts")) / "strile")
    for command in ([script], [sys.executable, "-m", "strile"]):
        told = subprocess.run([*command, "--version"], capture_output=True, text=True, check=True).stdout
        assert told == f"strile {strile.__version__}\n", told
        converted = Path(folder) / "b.tif"
        subprocess.run([*command, "-q", "convert", str(path), str(converted), "--co", "COMPRESS=DEFLATE"], check=True)
        assert (strile.read(converted).numpy()[0] == pixels).all()
        converted.unlink()
        failed = subprocess.run([*command, "info", str(converted)], capture_output=True, text=True)
        assert failed.returncode == 2 and failed.stderr.startswith("error: "), failed
print(f"Python {sys.version.split()[0]}, numpy {np.__version__}: strile {strile.__version__} works")
