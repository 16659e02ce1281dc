"""Forks of a process that uses strile, also while its threads read: children work, or say why not; none waits for ever.

Every fork is made by a program of its own, which is ended where it takes too long, and its children by an alarm."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import strile
import tifffile

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")

COMMON = """
import multiprocessing, os, signal, sys, threading, warnings
import numpy as np
import strile
warnings.simplefilter("ignore")
paths = sys.argv[1:]
windows = [[file, x, y, 40, 30] for file in range(len(paths)) for x, y in ((-5, 3), (50, 60))]

def batch(**options):
    return strile.read_batch(paths, windows, device="cpu", **options).numpy()

def in_child(work):
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        try:
            work()
            os._exit(0)
        except BaseException as error:
            print(type(error).__name__, error, file=sys.stderr, flush=True)
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
"""


def run(code: str, *arguments: object, timeout: float = 120) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([os.path.dirname(os.path.dirname(strile.__file__))])}
    command = [sys.executable, "-c", COMMON + code, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, env=environment)
    assert done.returncode == 0, done.stderr


def test_children_read_and_write_while_threads_of_the_parent_read(scenes: list[str], tmp_path: Path) -> None:
    run(
        f"""
target = {str(tmp_path / 'child.tif')!r}
expected, handle = batch(), strile.open(paths[0])
whole, headers = handle.read(), strile.Headers()
stop = threading.Event()

def keep_reading():
    while not stop.is_set():
        batch(headers=headers)

threads = [threading.Thread(target=keep_reading) for _ in range(2)]
for thread in threads:
    thread.start()

def work():
    assert np.array_equal(batch(), expected)
    assert np.array_equal(batch(headers=headers), expected)
    for found in strile.prefetch(lambda _: batch(), range(2)):
        assert np.array_equal(found, expected)
    assert np.array_equal(strile.read(paths[0], device="cpu").numpy(), whole)
    assert np.array_equal(handle.read(), whole)
    assert np.array_equal(strile.open_geotiff(paths[0]).values, np.moveaxis(whole, 0, -1))
    strile.to_geotiff(whole[0], target, compression="deflate")
    assert np.array_equal(strile.read(target, device="cpu").numpy()[0], whole[0])
    assert any(device["usable"] for device in strile.devices())
    # A child of the child.
    assert in_child(lambda: [batch()]) == 0

codes = [in_child(work) for _ in range(5)]
stop.set()
for thread in threads:
    thread.join()
assert codes == [0] * 5, codes
assert np.array_equal(batch(headers=headers), expected)
""",
        *scenes,
    )


def test_what_a_child_cannot_have_of_its_parent_is_told(scenes: list[str], tmp_path: Path) -> None:
    vrt = tmp_path / "mosaic.vrt"
    vrt.write_text(
        '<VRTDataset rasterXSize="120" rasterYSize="90"><VRTRasterBand dataType="UInt16" band="1"><SimpleSource>'
        f'<SourceFilename relativeToVRT="0">{scenes[0]}</SourceFilename><SourceBand>1</SourceBand>'
        '<SrcRect xOff="0" yOff="0" xSize="120" ySize="90"/><DstRect xOff="0" yOff="0" xSize="120" ySize="90"/>'
        "</SimpleSource></VRTRasterBand></VRTDataset>"
    )
    run(
        f"""
os.environ["STRILE_VRT_ALLOWED_ROOTS"] = {os.path.dirname(scenes[0])!r}
from strile import _core, errors
vrt = {str(vrt)!r}
mosaic, file, ahead = strile.open(vrt), strile.open(open(paths[0], "rb")), strile.prefetch(lambda _: batch(), range(9))
expected, pixels = next(ahead), mosaic.read()

def work():
    for call in (lambda: mosaic.read(), lambda: file.read(), lambda: next(ahead)):
        try:
            call()
        except errors.ForkedError:
            continue
        raise AssertionError("no error")
    assert np.array_equal(strile.open(vrt).read(), pixels)

assert in_child(work) == 0
assert np.array_equal(mosaic.read(), pixels)
assert file.read().shape == (3, 90, 120)
assert np.array_equal(next(ahead), expected)
ahead.close()
""",
        *scenes,
    )


def test_a_file_object_in_memory_whose_lock_a_thread_had(scenes: list[str]) -> None:
    run(
        """
import io, time

class Slow(io.BytesIO):
    wait = 0.0

    def read(self, *arguments):
        time.sleep(self.wait)
        return super().read(*arguments)

    def fileno(self):
        # Threads of a child that ask at the same time are all past it before one of them reads.
        time.sleep(0.1)
        return super().fileno()

content = Slow(open(paths[0], "rb").read())
handle = strile.open(content)
expected = [handle.read(window=(0, row, 120, 30)) for row in (0, 30, 60)]
content.wait = 0.5
thread = threading.Thread(target=handle.read)
thread.start()
time.sleep(0.1)

def work():
    content.wait = 0.005
    found = [None] * 3
    def read(at):
        found[at] = handle.read(window=(0, 30 * at, 120, 30))
    threads = [threading.Thread(target=read, args=(at,)) for at in range(3)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert all(np.array_equal(one, other) for one, other in zip(found, expected))

assert in_child(work) == 0
content.wait = 0.0
thread.join()
assert np.array_equal(handle.read(window=(0, 0, 120, 30)), expected[0])
""",
        *scenes,
    )


def test_a_file_being_written_stays_with_its_process(tmp_path: Path) -> None:
    target = tmp_path / "a.tif"
    run(
        f"""
import gc
from strile import _core, errors
pixels = np.arange(64 * 64, dtype=np.uint8).reshape(64, 64)
raster = _core.RasterSpec(width=64, height=64, bands=1, dtype="uint8")
writer = _core.Writer({str(target)!r}, raster, _core.WriteOptions(compression="deflate"))
writer.write(pixels[:32], 0, 0, axes="yx")

def work():
    global writer
    try:
        writer.write(pixels[32:], 32, 0, axes="yx")
    except errors.ForkedError:
        del writer
        gc.collect()
    else:
        raise AssertionError("no error")

assert in_child(work) == 0
writer.write(pixels[32:], 32, 0, axes="yx")
writer.finish()
"""
    )
    np.testing.assert_array_equal(tifffile.imread(target).ravel(), np.arange(64 * 64, dtype=np.uint8))


def test_a_remote_file_in_a_child(scenes: list[str]) -> None:
    pytest.importorskip("fsspec")
    run(
        """
import fsspec
with fsspec.open("memory://scene.tif", "wb") as target:
    target.write(open(paths[0], "rb").read())
handle = strile.open("memory://scene.tif")
expected = handle.read()

def work():
    assert np.array_equal(handle.read(), expected)
    assert np.array_equal(strile.read("memory://scene.tif", device="cpu").numpy(), expected)

assert in_child(work) == 0
""",
        *scenes,
    )


def test_a_pool_of_forked_processes(scenes: list[str]) -> None:
    run(
        """
def batch_of(_):
    return batch()

expected = batch()
with multiprocessing.get_context("fork").Pool(2) as pool:
    found = pool.map_async(batch_of, range(6)).get(60)
assert all(np.array_equal(one, expected) for one in found)
""",
        *scenes,
    )


LOADER = """
import strile, sys, warnings
import numpy as np

def main():
    import torch
    from torch.utils.data import DataLoader
    from strile.ml import BatchDataset, GridWindows, WindowDataset, collate

    how, paths = sys.argv[1], sys.argv[2:]
    warnings.simplefilter("ignore")
    grid = GridWindows(paths, 30)
    expected = strile.read_batch(paths, grid.windows(), device="cpu").numpy()
    options = dict(num_workers=2, multiprocessing_context=how, timeout=60)
    # Handles and headers of this process: where it is no fork they are made anew.
    files, headers = [strile.open(path) for path in paths[:2]] + paths[2:], strile.Headers(open_files=2)
    batches = BatchDataset(files, grid, 5, with_windows=True, headers=headers)
    batches = DataLoader(batches, batch_size=None, **options)
    seen = 0
    for tensor, rows in batches:
        for pixels, row in zip(tensor.numpy(), rows.tolist(), strict=True):
            assert np.array_equal(pixels, expected[grid.windows().tolist().index(row)])
            seen += 1
    assert seen == len(grid), seen
    windows = WindowDataset(files, grid, headers=headers)
    windows = DataLoader(windows, batch_size=5, collate_fn=collate, **options)
    found = torch.cat(list(windows)).numpy()
    assert np.array_equal(found, expected)
    if how != "fork":
        return
    try:
        list(DataLoader(BatchDataset(paths, grid, 5, device="cuda"), batch_size=None, **options))
    except strile.DeviceError as error:
        assert "num_workers=0" in str(error)
    else:
        raise AssertionError("no error")

if __name__ == "__main__":
    main()
"""


@pytest.mark.parametrize("how", ["fork", "spawn", "forkserver"])
def test_workers_of_a_data_loader(scenes: list[str], tmp_path: Path, how: str) -> None:
    pytest.importorskip("torch")
    program = tmp_path / "load.py"
    program.write_text(LOADER)
    environment = {**os.environ, "PYTHONPATH": os.path.dirname(os.path.dirname(strile.__file__))}
    command = [sys.executable, str(program), how, *scenes]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, env=environment)
    assert done.returncode == 0, done.stderr
