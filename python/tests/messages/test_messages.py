"""Errors and warnings as users see them, all in one file: `messages.txt`.

The file is input and expectation in one. A line that begins with `$ ` runs the command line, one that begins with `>>> ` evaluates
Python; the lines below it are what must be said. To add a case, write its line; `cargo xtask messages` fills in what is said.
Then read the diff: it is the text that users get."""

from __future__ import annotations

import difflib
import os
import re
import shlex
import struct
import subprocess
import sys
import sysconfig
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import strile
import tifffile
import xarray as xr

FILE = Path(__file__).with_name("messages.txt")
PROGRAM = str(Path(sysconfig.get_path("scripts")) / "strile")
GRID: dict[str, Any] = {"crs": 32632, "transform": (10.0, 0.0, 500_000.0, 0.0, -10.0, 5_200_000.0)}
VRT = """<VRTDataset rasterXSize="70" rasterYSize="50"{}><VRTRasterBand dataType="Float32" band="1"{}>
<{} ><SourceFilename relativeToVRT="1">{}</SourceFilename><SourceBand>1</SourceBand></{}></VRTRasterBand></VRTDataset>"""


def make_files() -> dict[str, Any]:
    """Writes good and bad files into the current folder. Returns the names that Python lines use."""
    height = np.arange(50 * 70, dtype="float32").reshape(50, 70)
    strile.to_geotiff(height, "dem.tif", nodata=-9999, tile_size=16, compression="deflate", **GRID)
    strile.to_geotiff(height, "cog.tif", cog=True, nodata=-9999, **GRID)
    strile.to_geotiff(height[:, :40], "left.tif", **GRID)
    strile.to_geotiff(height, "other.tif", crs=32633, transform=GRID["transform"])
    strile.to_geotiff(height, "coarse.tif", crs=32632, transform=(20.0, 0.0, 500_000.0, 0.0, -20.0, 5_200_000.0))
    strile.to_geotiff(height, "rotated.tif", crs=32632, transform=(10.0, 2.0, 500_000.0, 2.0, -10.0, 5_200_000.0))
    tifffile.imwrite("rgb.tif", np.zeros((50, 70, 3), "uint8"), photometric="rgb")
    tifffile.imwrite("integers.tif", np.zeros((50, 70), "int16"), extratags=[(42113, "s", 0, "0.5", True)])
    tifffile.imwrite("jpeg.tif", np.zeros((64, 64), "uint8"), compression="jpeg", tile=(32, 32))
    good = Path("dem.tif").read_bytes()
    damaged = bytearray(good)
    with tifffile.TiffFile("dem.tif") as file:
        start = file.pages[0].dataoffsets[5]
    damaged[start : start + 8] = b"\xff" * 8
    for name, content in {
        "empty.tif": b"",
        "text.tif": b"This is a text.",
        "archive.tif": b"PK\x03\x04" + b"\0" * 60,
        "short.tif": good[:6],
        "cut.tif": good[: len(good) // 2],
        "damaged.tif": bytes(damaged),
        "loop.tif": struct.pack("<2sHIHIHHI", b"II", 42, 8, 0, 8, 0, 0, 0),
        "points.csv": b"a,b\n1,2\n",
        "table.csv": b"x,y\n500105,north\n",
        "broken.vrt": b"<VRTDataset",
        "missing.vrt": VRT.format("", "", "SimpleSource", "gone.tif", "SimpleSource").encode(),
        "outside.vrt": VRT.format("", "", "SimpleSource", "../gone.tif", "SimpleSource").encode(),
        "warped.vrt": VRT.format(' subClass="VRTWarpedDataset"', "", "SimpleSource", "dem.tif", "SimpleSource").encode(),
        "derived.vrt": VRT.format("", ' subClass="VRTDerivedRasterBand"', "SimpleSource", "dem.tif", "SimpleSource").encode(),
        "kernel.vrt": VRT.format("", "", "KernelFilteredSource", "dem.tif", "KernelFilteredSource").encode(),
    }.items():
        Path(name).write_bytes(content)
    # A compression that no reader knows.
    tifffile.imwrite("codec.tif", np.zeros((8, 8), "uint8"))
    content = bytearray(Path("codec.tif").read_bytes())
    with tifffile.TiffFile("codec.tif") as file:
        at = file.pages[0].tags[259].valueoffset
    content[at : at + 2] = struct.pack("<H", 60_000)
    Path("codec.tif").write_bytes(content)
    Path("folder").mkdir()
    Path("scenes").mkdir()
    Path("scenes/a.tif").write_bytes(good)
    Path("scenes/b.tif").write_bytes(b"II*\0")
    closed = strile.open("dem.tif")
    closed.close()
    coords = {"y": 5_199_995 - 10.0 * np.arange(50), "x": 500_005 + 10.0 * np.arange(70)}
    dem = xr.DataArray(height, coords, ("y", "x"), attrs={"crs": 32632})
    return {"strile": strile, "np": np, "xr": xr, "dem": dem, "src": strile.open("dem.tif"), "closed": closed}


def said_by_program(line: str) -> list[str]:
    environment = {**os.environ, "COLUMNS": "100", "NO_COLOR": "1"}
    words = shlex.split(line.removeprefix("$ strile "))
    ended = subprocess.run(
        [PROGRAM, *words], capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL, env=environment
    )
    lines = [text for text in ended.stderr.splitlines() if text.strip()]
    return [*lines, f"[exit {ended.returncode}]"]


def said_by_python(line: str, names: dict[str, Any]) -> list[str]:
    said = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            eval(line.removeprefix(">>> "), dict(names))
        except Exception as error:
            said = [f"{type(error).__name__}: {error}"]
    told = [f"{warning.category.__name__}: {warning.message}" for warning in caught]
    return [part for text in told + said for part in text.splitlines()]


def filled_in(text: str) -> str:
    """The file as it would be with what strile says now."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            names = make_files()
            out, in_case = [], False
            for line in text.splitlines():
                if line.startswith(("$ strile ", ">>> ")):
                    said = said_by_program(line) if line.startswith("$") else said_by_python(line, names)
                    out += [line, *(part.replace(os.path.realpath(folder), "/here").replace(folder, "/here") for part in said)]
                    in_case = True
                elif not line or line.startswith("#"):
                    out.append(line)
                    in_case = False
                elif not in_case:
                    raise ValueError(f"{FILE.name}: expected a case or a comment, got {line!r}")
        finally:
            names["src"].close()
            os.chdir(before)
    return "\n".join(out) + "\n"


def cases(text: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for block in re.split(r"\n\n+", text):
        lines = block.splitlines()
        if lines and lines[0].startswith(("$ strile ", ">>> ")):
            found[lines[0]] = lines[1:]
    return found


@pytest.mark.skipif(sys.platform == "win32", reason="the system's own words differ")
def test_messages_are_those_in_the_file() -> None:
    committed = FILE.read_text()
    current = filled_in(committed)
    diff = difflib.unified_diff(committed.splitlines(), current.splitlines(), "messages.txt", "said now", lineterm="")
    assert committed == current, "\n".join(["messages differ; `cargo xtask messages` accepts them:", *diff])


def test_every_case_has_a_text_of_its_own() -> None:
    """A case that says nothing, or only what another says, shows nothing. Of the texts, at least 30 come through each door."""
    found = cases(FILE.read_text())
    assert [case for case, said in found.items() if not said or said == ["[exit 0]"]] == []
    by_program = {tuple(said) for case, said in found.items() if case.startswith("$")}
    by_python = {tuple(said) for case, said in found.items() if case.startswith(">>>")}
    assert len(by_program) >= 30 and len(by_python) >= 30


def test_no_message_shows_the_inside() -> None:
    text = FILE.read_text()
    for word in ("panicked", "Traceback", "unwrap", "os error", "RUST_BACKTRACE", "InternalError"):
        assert word not in text


if __name__ == "__main__":
    FILE.write_text(filled_in(FILE.read_text()))
    print(f"{FILE}: {len(cases(FILE.read_text()))} cases")
