"""The program `strile` that the wheel installs: the Rust command line, run in the Python process."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import sysconfig
import time
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest
import tifffile

SCRIPT = [str(Path(sysconfig.get_path("scripts")) / "strile")]
MODULE = [sys.executable, "-m", "strile"]
Ended = subprocess.CompletedProcess[bytes]


def run(*words: object, program: list[str] = SCRIPT, **options: object) -> Ended:
    command = [*program, *(word if isinstance(word, bytes) else str(word) for word in words)]
    options = {"stdin": subprocess.DEVNULL, **options}
    return subprocess.run(command, capture_output=True, timeout=60, **options)  # type: ignore[call-overload, no-any-return]


@pytest.fixture
def dem(tmp_path: Path) -> Path:
    path = tmp_path / "dem.tif"
    tifffile.imwrite(path, np.arange(200 * 300, dtype="float32").reshape(200, 300), tile=(64, 64))
    return path


@pytest.mark.parametrize("program", [SCRIPT, MODULE], ids=["script", "module"])
def test_version_help_and_exit_codes(program: list[str], dem: Path) -> None:
    told = run("--version", program=program)
    assert (told.returncode, told.stdout, told.stderr) == (0, f"strile {version('strile')}\n".encode(), b"")
    help_text = run("info", "--help", program=program)
    assert help_text.returncode == 0 and b"Usage: strile info" in help_text.stdout and b"\x1b" not in help_text.stdout
    told = run("info", dem, program=program)
    assert told.returncode == 0 and b"300" in told.stdout and told.stderr == b""
    failed = run("info", "absent.tif", program=program)
    assert failed.returncode == 2 and failed.stdout == b""
    assert failed.stderr.startswith(b"error: ") and failed.stderr.count(b"\n") == 1
    unknown = run("info", "--no-such-option", program=program)
    assert unknown.returncode == 2 and b"--no-such-option" in unknown.stderr and b"Traceback" not in unknown.stderr
    assert run(program=program).returncode == 2


def test_convert_and_compare(dem: Path, tmp_path: Path) -> None:
    cog = tmp_path / "cog.tif"
    assert run("-q", "convert", dem, cog, "--of", "COG", "--co", "COMPRESS=DEFLATE").returncode == 0
    assert (tifffile.imread(cog) == tifffile.imread(dem)).all()
    assert run("compare", dem, cog).returncode == 0
    tifffile.imwrite(tmp_path / "zeros.tif", np.zeros((200, 300), "float32"))
    different = run("compare", dem, tmp_path / "zeros.tif")
    assert different.returncode == 1 and different.stdout


def test_standard_input_and_output(dem: Path) -> None:
    with dem.open("rb") as file:
        dumped = run("dump", "-", "--format", "npy", stdin=file)
    assert dumped.returncode == 0, dumped.stderr
    assert (np.load(io.BytesIO(dumped.stdout)).squeeze() == tifffile.imread(dem)).all()


def test_a_reader_that_stops_is_no_error(dem: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    command = [*SCRIPT, "dump", str(dem), "--format", "csv"]
    ended = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=writing, stderr=subprocess.PIPE, timeout=60)
    os.close(writing)
    assert (ended.returncode, ended.stderr) == (0, b"")


@pytest.mark.skipif(sys.platform != "linux", reason="file names are bytes on Linux only")
def test_names_that_are_not_utf_8(dem: Path, tmp_path: Path) -> None:
    name = os.fsencode(tmp_path) + b"/\xff.tif"
    os.rename(dem, name)
    told = run("info", name)
    assert told.returncode == 0 and b"300" in told.stdout


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_a_terminal_gets_colours() -> None:
    import pty

    ours, theirs = pty.openpty()
    environment = {name: value for name, value in os.environ.items() if name != "NO_COLOR"} | {"TERM": "xterm"}
    ended = subprocess.run([*SCRIPT, "--no-such-option"], stderr=theirs, env=environment, timeout=60)
    os.close(theirs)
    assert ended.returncode == 2 and b"\x1b[" in os.read(ours, 65536)
    os.close(ours)


def test_it_imports_neither_numpy_nor_xarray() -> None:
    code = "import sys; sys.argv = ['x', '--version']; from strile.__main__ import main; code = main()\n"
    code += "print(code, [name for name in ('numpy', 'xarray', 'dask') if name in sys.modules])"
    assert run("-c", code, program=[sys.executable]).stdout.endswith(b"\n0 []\n")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGINT for another process")
@pytest.mark.parametrize("program", [SCRIPT, MODULE], ids=["script", "module"])
def test_ctrl_c_ends_it_and_leaves_nothing(program: list[str], tmp_path: Path) -> None:
    """A mosaic of nothing is large enough to be stopped half-way."""
    vrt = tmp_path / "large.vrt"
    vrt.write_text(
        '<VRTDataset rasterXSize="60000" rasterYSize="60000"><VRTRasterBand dataType="Byte" band="1"/></VRTDataset>'
    )
    words = ["convert", "large.vrt", "out.tif", "--co", "COMPRESS=LZMA", "--max-pixels", "4000000000"]
    child = subprocess.Popen([*program, *words], cwd=tmp_path, stderr=subprocess.PIPE)
    while len(list(tmp_path.iterdir())) == 1 and child.poll() is None:
        time.sleep(0.005)
    sent = time.monotonic()
    child.send_signal(signal.SIGINT)
    _, told = child.communicate(timeout=60)
    assert (child.returncode, told) == (130, b"error: cancelled\n")
    # The blocks under way; the machine may be busy with other tests.
    assert time.monotonic() - sent < 3.0
    assert list(tmp_path.iterdir()) == [vrt]


def test_a_box_over_the_antimeridian_of_a_file_is_refused(tmp_path: Path) -> None:
    rasterio = pytest.importorskip("rasterio")
    path, out = tmp_path / "world.tif", tmp_path / "out.tif"
    place = rasterio.Affine(1, 0, -180, 0, -1, 60)
    with rasterio.open(path, "w", driver="GTiff", width=360, height=20, count=1, dtype="uint8", crs="EPSG:4326", transform=place) as file:
        file.write(np.ones((1, 20, 360), np.uint8))
    words = ["--bbox-crs", "EPSG:32660", "--bbox"]
    ended = run("convert", path, out, *words, "650000,5650000,800000,5900000")
    assert ended.returncode != 0 and b"over the antimeridian" in ended.stderr and not out.exists()
    assert run("convert", path, out, *words, "500000,5650000,600000,5900000").returncode == 0 and out.exists()
