"""Writes under faults: the new file whole, or an error, the old file as it was, and nothing beside it."""
from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import tifffile
from bench import Bench, Ended, Skip, ended, names

COG = ("--of", "COG", "--co", "COMPRESS=DEFLATE", "--co", "BLOCKSIZE=128")

# What one command writes, in a folder with the input `in.tif` and an older `out.tif`.
WRITES = {
    "convert": ("convert", "in.tif", "out.tif", "--overwrite", *COG),
    "plain": ("convert", "in.tif", "out.tif", "--overwrite", "--co", "COMPRESS=NONE"),
    "overview": ("overview", "out.tif"),
    "index": ("index", "inputs", "-o", "out.tif"),
}


def prepared(bench: Bench, name: str, write: str) -> tuple[Path, np.ndarray]:
    """A folder for a write: the input, and an old file under the name of the output."""
    folder = bench.fresh(name)
    path, pixels = bench.raster("deflate")
    (folder / "in.tif").write_bytes(path.read_bytes())
    if write == "index":
        (folder / "inputs").mkdir()
        (folder / "inputs" / "a.tif").write_bytes(path.read_bytes())
    old = pixels if write == "overview" else pixels[::-1].copy()
    tifffile.imwrite(folder / "out.tif", old, tile=(128, 128), compression="zlib")
    return folder, pixels


def written(bench: Bench, folder: Path, write: str, faults: str = "", **more: str) -> Ended:
    words = [folder / word if word in ("in.tif", "out.tif", "inputs") else word for word in WRITES[write]]
    return ended([bench.strile, "-q", *words], bench.environment(faults, str(folder), **more), 60)


def is_whole(path: Path, pixels: np.ndarray) -> None:
    """The file has these pixels, and each of its levels can be read."""
    with tifffile.TiffFile(path) as file:
        assert np.array_equal(file.pages[0].asarray(), pixels), f"{path.name}: the pixels are wrong"
        for page in file.pages[1:]:
            page.asarray()


def calls(bench: Bench, folder: Path, write: str, faults: str = "") -> Counter[str]:
    """How often the write makes each call that the shim sees."""
    log = bench.folder / "calls.log"
    log.unlink(missing_ok=True)
    done = written(bench, folder, write, faults, STRILE_FAULT_LOG=str(log))
    assert done.code == 0, done.err
    return Counter(line.split(" ", 1)[0] for line in log.read_text().splitlines())


def short_and_interrupted(bench: Bench) -> None:
    """Short counts and EINTR are no errors: the bytes are those of a write without faults."""
    for write in WRITES:
        folder, _ = prepared(bench, "expected", write)
        assert written(bench, folder, write).code == 0
        expected, beside = (folder / "out.tif").read_bytes(), names(folder)
        for faults in ("write:*:short:3000;read:*:short:5000", "write:%2:eintr;read:%3:eintr;write:*:short:20000"):
            folder, _ = prepared(bench, "short", write)
            done = written(bench, folder, write, faults)
            assert done.code == 0, f"{write}, {faults}: {done.err}"
            # An index holds the paths and times of its files.
            assert write == "index" or (folder / "out.tif").read_bytes() == expected, f"{write}, {faults}: other bytes"
            assert names(folder) == beside, f"{write}: left {names(folder)}"


def failing(bench: Bench) -> None:
    """Each call that writes fails in turn, by EIO and by ENOSPC: an error, the old file as it was, nothing left."""
    for write in WRITES:
        folder, _ = prepared(bench, "failing", write)
        found = calls(bench, folder, write)
        assert found["write"] > 0, f"{write}: no write was seen: {found}"
        for call in ("write", "fsync", "truncate"):
            for nth in sorted({1, (found[call] + 1) // 2, found[call]}) if found[call] else ():
                for error in ("eio", "enospc") if call == "write" else ("eio",):
                    folder, _ = prepared(bench, "failing", write)
                    before, old = names(folder), (folder / "out.tif").read_bytes()
                    done = written(bench, folder, write, f"{call}:{nth}+:{error}")
                    place = f"{write}, {error} of {call} {nth} of {found[call]}"
                    assert done.code == 2 and done.err.startswith("error: "), f"{place}: {done.code} {done.err[-300:]}"
                    # After the rename the file is new, and the error says that its folder was not synced.
                    if "is written, but" in done.err:
                        assert call == "fsync", f"{place}: {done.err}"
                        continue
                    assert (folder / "out.tif").read_bytes() == old, f"{place}: the old file has changed"
                    assert names(folder) == before, f"{place}: left {names(folder)}"


TO_GEOTIFF = """
import sys
import strile
strile.to_geotiff(strile.open_geotiff(sys.argv[1]), sys.argv[2], compression="none")
"""


def full_disk(bench: Bench) -> None:
    """Writes to a file system that is too small, by the command line and by Python: ENOSPC is an error, the old file
    stays as it was, and no temporary is left."""
    folder, pixels = prepared(bench, "full", "convert")
    disk, start = folder / "disk", folder / "start"
    disk.mkdir()
    start.mkdir()
    mount = 'mount -t tmpfs -o size=${KIB}k none "$DISK"'
    environment = {**bench.environment(), "DISK": str(disk), "START": str(start), "KIB": "64"}
    if subprocess.run(["unshare", "-rm", "sh", "-c", mount], env=environment, check=False, capture_output=True).returncode:
        raise Skip("this user may not mount a file system in a namespace of its own")
    tifffile.imwrite(start / "out.tif", pixels[:64, :64])
    # The namespace ends with the process, so what is left is told from inside of it.
    script = f'{mount} && cp "$START/out.tif" "$DISK" && "$@"; code=$?; ls -A "$DISK"; cmp "$START/out.tif" "$DISK/out.tif" || exit 9; exit $code'
    source, target = folder / "in.tif", disk / "out.tif"
    convert = [bench.strile, "-q", "convert", source, target, "--overwrite"]
    doors: dict[str, list[object]] = {
        "convert": [*convert, "--co", "COMPRESS=NONE"],
        "COG": [*convert, "--of", "COG", "--co", "COMPRESS=NONE"],
        "to_geotiff": [sys.executable, "-B", "-c", TO_GEOTIFF, source, target],
    }
    for name, words in doors.items():
        for kib in ("24", "128", "512"):
            done = ended(["unshare", "-rm", "sh", "-c", script, "sh", *words], {**environment, "KIB": kib}, 60)
            place = f"{name}, {kib} KiB"
            assert done.code == (1 if name == "to_geotiff" else 2), f"{place}: {done.code} {done.err[-300:]} {done.out!r}"
            assert "no space left" in done.err.lower() or "storage" in done.err.lower(), f"{place}: {done.err[-300:]}"
            assert name != "to_geotiff" or "OSError" in done.err, f"{place}: {done.err[-300:]}"
            assert done.out.decode().split() == ["out.tif"], f"{place}: left {done.out!r}"


KILLS = 200


def kills(bench: Bench) -> None:
    """kill -9 before and after every call that writes, 200 times: the old file or the new one whole. What is left beside
    it is a temporary, which the next attempt clears."""
    # Many short writes, so that there are many moments between them.
    short = "write:*:short:6000"
    rare: list[tuple[str, str]] = []
    often: list[tuple[str, str]] = []
    for write in ("convert", "overview"):
        folder, _ = prepared(bench, "kills", write)
        found = calls(bench, folder, write, short)
        for call in ("write", "fsync", "truncate", "rename", "unlink"):
            moments = [(write, f"{call}:{nth}:{how}") for nth in range(1, found[call] + 1) for how in ("kill", "killed")]
            (often if call == "write" else rare).extend(moments)
    rare = rare[:KILLS]
    room = KILLS - len(rare)
    wanted = rare + [often[i * len(often) // room] for i in range(room)]
    outcomes: Counter[str] = Counter()
    folder, pixels = prepared(bench, "kills", "convert")
    target = folder / "out.tif"
    for write, rule in wanted:
        old = pixels if write == "overview" else pixels[::-1].copy()
        tifffile.imwrite(target, old, tile=(128, 128), compression="zlib")
        done = written(bench, folder, write, f"{short};{rule}")
        assert done.code == -9, f"{write}, {rule}: was not killed: {done.code} {done.err}"
        with tifffile.TiffFile(target) as file:
            fresh = len(file.pages) > 1
        outcomes["new" if fresh else "old"] += 1
        is_whole(target, pixels if fresh else old)
        left = [name for name in names(folder) if name not in ("in.tif", "out.tif")]
        outcomes["temporaries"] += bool(left)
        strange = [name for name in left if not (name.startswith(".out.tif") and ".strile." in name)]
        assert not strange, f"{write}, {rule}: left {strange}"
    done = written(bench, folder, "convert")
    assert done.code == 0 and names(folder) == ["in.tif", "out.tif"], f"the next attempt: {done.err} left {names(folder)}"
    print(f"  {len(wanted)} kills: {outcomes['old']} left the old file, {outcomes['new']} the new one, {outcomes['temporaries']} a temporary")
    assert outcomes["old"] and outcomes["new"] and outcomes["temporaries"], "the kills came too early or too late to show anything"


CASES = {
    "write/short": short_and_interrupted,
    "write/error": failing,
    "write/full-disk": full_disk,
    "write/killed": kills,
}
