"""What the cases of the fault suite share: files, programs under faults, and how a case ends."""
from __future__ import annotations

import json
import os
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import tifffile

HERE = Path(__file__).resolve().parent


class Skip(Exception):
    """The case cannot run on this machine; the words say why."""


@dataclass
class Ended:
    """A program that ended: its exit code (negative for a signal), what it printed, and how long it took."""

    code: int
    out: bytes
    err: str
    seconds: float


@dataclass
class Bench:
    """Programs, and a folder for the files of all cases."""

    strile: Path
    shim: Path
    standin: Path | None
    folder: Path = field(default_factory=lambda: Path(tempfile.mkdtemp(prefix="strile-faults-")))

    def __post_init__(self) -> None:
        self.made: dict[str, tuple[Path, np.ndarray]] = {}

    def fresh(self, name: str) -> Path:
        """An empty folder for one case."""
        folder = self.folder / name.replace("/", "-")
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        return folder

    def environment(self, faults: str = "", path: str = "", **more: str) -> dict[str, str]:
        """The environment of a program under these faults; none, where there are none."""
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        environment.pop("STRILE_CORPUS", None)
        environment.pop("RUST_BACKTRACE", None)
        if faults or more:
            environment["LD_PRELOAD"] = str(self.shim)
        if faults:
            environment["STRILE_FAULT"] = faults
        if path:
            environment["STRILE_FAULT_PATH"] = path
        return {**environment, **more}

    def cli(self, *words: object, faults: str = "", path: str = "", limit: float = 60, **more: str) -> Ended:
        """Runs the command line."""
        return ended([self.strile, "-q", *words], self.environment(faults, path, **more), limit)

    def python(self, script: str, *words: object, faults: str = "", path: str = "", limit: float = 60, **more: str) -> Ended:
        """Runs a script of Python."""
        return ended([sys.executable, "-B", "-c", script, *words], self.environment(faults, path, **more), limit)

    def raster(self, kind: str) -> tuple[Path, np.ndarray]:
        """A file of a kind and its pixels, made by tifffile once."""
        if kind not in self.made:
            pixels = terrain(110, 150) if kind == "small" else terrain(600, 700)
            options = {
                "deflate": dict(tile=(128, 128), compression="zlib", predictor=2),
                "lzw": dict(rowsperstrip=16, compression="lzw"),
                "stored": dict(tile=(64, 64)),
                "zstd": dict(tile=(256, 256), compression="zstd"),
                "small": dict(tile=(64, 64), compression="zstd"),
            }[kind]
            path = self.folder / f"{kind}.tif"
            tifffile.imwrite(path, pixels, photometric="minisblack", **options)
            self.made[kind] = path, pixels
        return self.made[kind]


def terrain(rows: int, columns: int, seed: int = 1) -> np.ndarray:
    """Smooth hills with a little noise: no two rows are alike."""
    y, x = np.mgrid[0:rows, 0:columns]
    noise = np.random.default_rng(seed).integers(0, 40, (rows, columns))
    return (2000 + 900 * np.sin(x / 37 + seed) + 700 * np.cos(y / 29) + noise).astype("<u2")


def ended(command: list[object], environment: dict[str, str], limit: float) -> Ended:
    began = time.monotonic()
    words = [str(word) for word in command]
    try:
        done = subprocess.run(
            words, env=environment, capture_output=True, stdin=subprocess.DEVNULL, timeout=limit, check=False
        )
    except subprocess.TimeoutExpired as late:
        raise AssertionError(f"{' '.join(words[:4])} did not end within {limit:.0f} s: {late.stderr!r}") from None
    return Ended(done.returncode, done.stdout, done.stderr.decode(errors="replace"), time.monotonic() - began)


def pixels_of(raw: bytes) -> np.ndarray:
    """The pixels that `dump --format raw` printed."""
    head, _, data = raw.partition(b"\n")
    facts = json.loads(head)
    return np.frombuffer(data, np.dtype(facts["dtype"]).newbyteorder("<")).reshape(facts["shape"])


def right(done: Ended, pixels: np.ndarray) -> None:
    """The program printed these pixels."""
    assert done.code == 0, f"expected pixels, got exit code {done.code}: {done.err.strip()[-400:]}"
    found = pixels_of(done.out)
    assert found.shape[-2:] == pixels.shape[-2:], f"expected {pixels.shape}, got {found.shape}"
    assert np.array_equal(found.reshape(pixels.shape), pixels), "the pixels are wrong"


def refused(done: Ended, words: str = "") -> None:
    """The program ended with an error in one sentence."""
    assert done.code == 2, f"expected exit code 2, got {done.code}: {done.err.strip()[-400:]}"
    assert done.err.startswith("error: ") and words.lower() in done.err.lower(), f"error without `{words}`: {done.err!r}"
    assert "panicked" not in done.err, done.err


def right_or_refused(done: Ended, pixels: np.ndarray) -> bool:
    """Right pixels or an error; returns whether it was pixels."""
    if done.code == 0:
        right(done, pixels)
        return True
    refused(done)
    return False


def names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


def interrupted(
    command: list[object], environment: dict[str, str], folder: Path, after: float | Callable[[], bool], limit: float = 30
) -> tuple[Ended, float]:
    """Starts a program, sends SIGINT after some seconds or when `after` says so; returns how it ended and how long
    that took from the signal on."""
    process = subprocess.Popen(
        [str(word) for word in command], env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE, cwd=folder, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    began = time.monotonic()
    while process.poll() is None and time.monotonic() - began < limit:
        if (after() if callable(after) else time.monotonic() - began >= after):
            break
        time.sleep(0.005)
    if process.poll() is not None:
        _, err = process.communicate()
        raise AssertionError(f"ended with {process.returncode} before it was interrupted: {err.decode()[-300:]}")
    sent = time.monotonic()
    process.send_signal(signal.SIGINT)
    try:
        _, err = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        process.kill()
        _, err = process.communicate()
        raise AssertionError(f"did not end within {limit:.0f} s of the signal: {err.decode()[-300:]}") from None
    return Ended(process.returncode, b"", err.decode(errors="replace"), sent - began), time.monotonic() - sent


def slow_file(path: Path, side: int = 20, block: int = 1024) -> Path:
    """A small file that takes long to decode: one tile of noise in LZMA that is named by every one of side × side tiles."""
    # Few values, so that LZMA does not store them as they are, which is quick to read.
    noise = np.random.default_rng(3).integers(0, 13, (block, block), dtype="u1")
    one = path.with_suffix(".one")
    tifffile.imwrite(one, noise, tile=(block, block), compression="lzma")
    with tifffile.TiffFile(one) as file:
        page = file.pages[0]
        payload = one.read_bytes()[page.dataoffsets[0] :][: page.databytecounts[0]]
    one.unlink()
    count = side * side
    header = 8 + 2 + 12 * 9 + 4
    tables = header + len(payload)
    fields = [
        (256, 4, 1, block * side), (257, 4, 1, block * side), (258, 3, 1, 8), (259, 3, 1, 34925), (262, 3, 1, 1),
        (322, 3, 1, block), (323, 3, 1, block), (324, 4, count, tables), (325, 4, count, tables + 4 * count),
    ]
    data = struct.pack("<2sHIH", b"II", 42, 8, len(fields)) + b"".join(struct.pack("<HHII", *f) for f in fields)
    data += struct.pack("<I", 0) + payload + struct.pack(f"<{count}I", *[header] * count)
    path.write_bytes(data + struct.pack(f"<{count}I", *[len(payload)] * count))
    return path
