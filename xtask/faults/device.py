"""A device that fails: out of memory, or an error that sticks, at driver calls in turn. On the stand-in driver."""
from __future__ import annotations

from collections import Counter

from bench import Bench, Skip, names, right, right_or_refused

# Driver calls that take memory, copy, launch and wait; 2 is out of memory, 700 an illegal address, after which a real
# driver answers every call with the same error (`stick`).
FAILURES = {
    "cuMemAllocFromPoolAsync": 2,
    "cuMemHostAlloc": 2,
    "cuMemcpyHtoDAsync_v2": 700,
    "cuMemcpyDtoHAsync_v2": 700,
    "cuLaunchKernel": 700,
    "cuEventSynchronize": 700,
    "cuStreamSynchronize": 700,
}


def environment(bench: Bench, knobs: str, log: str = "") -> dict[str, str]:
    if bench.standin is None:
        raise Skip("the stand-in for the CUDA driver is built on x86-64 Linux alone")
    more = {"LD_LIBRARY_PATH": str(bench.standin), "STRILE_STANDIN": knobs}
    return more | ({"STRILE_STANDIN_LOG": log} if log else {})


def calls(bench: Bench, *words: object) -> Counter[str]:
    log = bench.folder / "driver.log"
    log.unlink(missing_ok=True)
    done = bench.cli(*words, **environment(bench, "", str(log)))
    assert done.code == 0, f"on the stand-in without faults: {done.code} {done.err}"
    return Counter(line.split(" ", 1)[0] for line in log.read_text().splitlines())


def failing(bench: Bench) -> None:
    """Reads and writes on a device whose calls fail: right pixels or an error, and no file."""
    path, pixels = bench.raster("small")
    folder = bench.fresh("device")
    read = ("dump", "--format", "raw", path, "--decode-on", "cuda:0")
    write = ("convert", path, folder / "out.tif", "--overwrite", "--encode-on", "cuda:0", "--co", "COMPRESS=LZW", "--co", "TILED=YES", "--co", "BLOCKXSIZE=64", "--co", "BLOCKYSIZE=64")
    ends: Counter[str] = Counter()
    for words in (read, write):
        found = calls(bench, *words)
        assert found["cuLaunchKernel"] > 0, f"nothing ran on the stand-in: {found}"
        for call, code in FAILURES.items():
            for nth in sorted({1, found[call]}) if found[call] else ():
                for kind in ("fail", "stick"):
                    (folder / "out.tif").unlink(missing_ok=True)
                    done = bench.cli(*words, limit=60, **environment(bench, f"{kind}={call}:{nth}:{code}"))
                    place = f"{words[0]}, {kind} {call} {nth} of {found[call]}"
                    assert done.code in (0, 2), f"{place}: {done.code} {done.err[-300:]}"
                    ends["error" if done.code else "right"] += 1
                    if words[0] == "dump":
                        right_or_refused(done, pixels)
                    elif done.code == 2:
                        assert names(folder) == [], f"{place}: left {names(folder)}"
                    else:
                        right(bench.cli("dump", "--format", "raw", folder / "out.tif", "--decode-on", "cpu"), pixels)
    print(f"  {sum(ends.values())} runs: {ends['error']} errors, {ends['right']} right")
    assert ends["error"] > 0, "no fault was an error"


def small(bench: Bench) -> None:
    """A device with hardly any memory free."""
    path, pixels = bench.raster("small")
    for free in (0, 1 << 20, 8 << 20, 64 << 20):
        knobs = f"free={free} total={max(free, 1)}"
        done = bench.cli("dump", "--format", "raw", path, "--decode-on", "cuda:0", **environment(bench, knobs))
        right_or_refused(done, pixels)


CASES = {"device/failing": failing, "device/small": small}
