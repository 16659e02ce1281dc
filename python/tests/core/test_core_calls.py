"""Long calls: Ctrl-C, progress, threads."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from asking import read
from strile import _core

tifffile = pytest.importorskip("tifffile")


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A file that takes some seconds to decode: one strip of highly compressed bytes, named by every tile."""
    path = tmp_path_factory.mktemp("long") / "a.tif"
    tile = np.tile(np.arange(256, dtype="u1"), (2048, 8))
    tifffile.imwrite(path, tile, tile=(2048, 2048), compression="lzma")
    with tifffile.TiffFile(path) as file:
        page = file.pages[0]
        payload = path.read_bytes()[page.dataoffsets[0] :][: page.databytecounts[0]]
    # 20 × 20 tiles, all of them the same bytes.
    count = 400
    header = 8 + 2 + 12 * 9 + 4
    tables = header + len(payload)
    fields = [
        (256, 4, 1, 2048 * 20), (257, 4, 1, 2048 * 20), (258, 3, 1, 8), (259, 3, 1, 34925), (262, 3, 1, 1),
        (322, 3, 1, 2048), (323, 3, 1, 2048), (324, 4, count, tables), (325, 4, count, tables + 4 * count),
    ]
    data = struct.pack("<2sHIH", b"II", 42, 8, len(fields)) + b"".join(struct.pack("<HHII", *f) for f in fields)
    data += struct.pack("<I", 0) + payload + struct.pack(f"<{count}I", *[header] * count)
    data += struct.pack(f"<{count}I", *[len(payload)] * count)
    path.write_bytes(data)
    return str(path)


INTERRUPTED = """
import os, signal, sys, threading, time
from asking import read
from strile import _core
# A child of a process in the background has it ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)
dataset = _core.Dataset.open(sys.argv[1])
sent = []
def send():
    sent.append(time.perf_counter())
    os.kill(os.getpid(), signal.SIGINT)
threading.Timer(0.5, send).start()
begun = time.perf_counter()
try:
    read(dataset, decode_on="cpu", threads=1, max_pixels=1 << 40)
except KeyboardInterrupt:
    now = time.perf_counter()
    print("interrupted", now - sent[0])
else:
    print("finished", time.perf_counter() - begun)
assert read(dataset, window=(0, 0, 10, 10)).shape == (1, 10, 10)
"""


def test_ctrl_c_stops_a_read(long: str) -> None:
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent)}
    done = subprocess.run([sys.executable, "-c", INTERRUPTED, long], env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    word, seconds = done.stdout.split()
    assert word == "interrupted"
    # A look every 50 ms, and the blocks under way; the machine may be busy with other tests.
    assert float(seconds) < 1.0


def test_progress_is_told_and_ends_with_all(long: str) -> None:
    seen: list[tuple[int, int]] = []
    threads: set[int] = set()

    def watch(done: int, total: int) -> None:
        seen.append((done, total))
        threads.add(threading.get_ident())

    read(_core.Dataset.open(long), window=(0, 0, 2048 * 4, 2048 * 3), decode_on="cpu", progress=watch)
    assert seen[-1] == (12, 12) and seen == sorted(set(seen)) and threads == {threading.get_ident()}


def in_place(work: Callable[[], object]) -> object:
    return work()


def in_a_thread(work: Callable[[], object]) -> object:
    result: list[object] = []

    def run() -> None:
        try:
            result.append(work())
        except BaseException as error:  # noqa: BLE001
            result.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if isinstance(result[0], BaseException):
        raise result[0]
    return result[0]


class Enough(Exception):
    """What a watcher raises."""


@pytest.mark.parametrize("where", [in_place, in_a_thread])
def test_an_exception_of_progress_stops_the_work_and_is_raised(long: str, where: Callable) -> None:
    dataset = _core.Dataset.open(long)
    raised: list[float] = []

    def watch(done: int, total: int) -> None:
        raised.append(time.perf_counter())
        raise Enough(f"{done} of {total}")

    with pytest.raises(Enough, match="of 400"):
        where(lambda: read(dataset, decode_on="cpu", threads=1, max_pixels=1 << 40, progress=watch))
    assert len(raised) == 1 and time.perf_counter() - raised[0] < 1.0


@pytest.mark.parametrize("where", [in_place, in_a_thread])
def test_other_threads_run_meanwhile(long: str, where: Callable) -> None:
    dataset = _core.Dataset.open(long)
    counted = [0]
    stop = threading.Event()

    def count() -> None:
        while not stop.is_set():
            counted[0] += 1
            time.sleep(0.001)

    counter = threading.Thread(target=count)
    counter.start()
    where(lambda: read(dataset, window=(0, 0, 2048 * 4, 2048 * 4), decode_on="cpu"))
    stop.set()
    counter.join()
    assert counted[0] > 5


def test_threads_share_a_dataset(tmp_path: Path) -> None:
    path = tmp_path / "a.tif"
    pixels = np.arange(512 * 512, dtype="u4").reshape(512, 512)
    tifffile.imwrite(path, pixels, tile=(64, 64), compression="zlib")
    dataset = _core.Dataset.open(str(path))
    wrong: list[int] = []

    def look(seed: int) -> None:
        for at in np.random.default_rng(seed).integers(0, 400, (20, 2)):
            x, y = map(int, at)
            if not np.array_equal(read(dataset, window=(x, y, 100, 90)).numpy()[0], pixels[y : y + 90, x : x + 100]):
                wrong.append(seed)

    threads = [threading.Thread(target=look, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
