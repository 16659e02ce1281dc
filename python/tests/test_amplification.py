"""Small files that ask for much, through every function: in processes with hard limits, none may take much memory, or
long, or end in anything but an error of strile.

The files come from `cargo run -p testkit --example hostile FOLDER`, named by STRILE_HOSTILE: a folder per case, listed in
`list`. Each call runs in a fork of a process that has imported everything and done nothing yet."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

#: Memory beside the budget, over that of the same call with an ordinary small file.
SPARE = 64 << 20
#: The budget of calls that take one; what the others are measured by.
BUDGET = 64 << 20
#: Budgets are for pixels; what else a read needs may be this many times as much.
TIMES = 8
#: Seconds that a call may take with a release build.
SECONDS = 5.0
#: Debug builds are slower, and so is a machine that builds and tests at once.
SLOWER = 4
#: Refused by the system beyond, over what the process has when it begins.
ADDRESS_SPACE = 4 << 30

DOORS = {
    "open_geotiff": "strile.open_geotiff(path).load()",
    "read": "strile.read(path)",
    "read_batch": f"strile.read_batch([path], windows=[(0, 0, 1, 1)], memory={BUDGET})",
    "xarray": "xr.open_dataset(path, engine='strile').load()",
    "Dataset.read": "strile.open(path).read()",
    "read onto a grid": "strile.read(path, grid=strile.Grid(4326, (0.5, 0, -2, 0, -0.5, 2), (16, 16)), source_crs=4326)",
    "read_batch onto a grid": (
        "strile.read_batch([path], windows=[(0, 0, 8, 8), (4, 4, 8, 8)], grid=strile.Grid(4326, (0.5, 0, -2, 0, -0.5, 2), (16, 16)), "
        f"source_crs=4326, resampling='average', memory={BUDGET})"
    ),
}

#: Cases whose file itself is good: what lies beside it may only make it warn.
GOOD = ("good", "aux-", "ovr-", "msk-", "world-file-")

#: Cases that a world file beside them cannot place.
UNPLACED = ("world-file-",)

RUNNER = r"""
import json, os, resource, select, signal, sys, time, warnings
import strile, strile._core, strile.batch, strile.backend, strile.dataset, strile.opening
import dask.array, numpy as np, xarray as xr
warnings.simplefilter("ignore")

def status(key):
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) << 10 for line in file if line.startswith(key))

def call(code, path, write):
    resource.setrlimit(resource.RLIMIT_AS, (status("VmSize:") + int(sys.argv[1]),) * 2)
    error, text = None, ""
    try:
        eval(code, {"strile": strile, "xr": xr, "np": np}, {"path": path})
    except BaseException as caught:
        error, text = caught, str(caught)[:300]
    kinds = [kind.__name__ for kind in type(error).__mro__] if error is not None else []
    os.write(write, json.dumps({"peak": status("VmHWM:"), "kinds": kinds, "text": text}).encode())
    os._exit(0)

for line in sys.stdin:
    code, path, seconds = json.loads(line)
    read, write = os.pipe()
    begin = time.monotonic()
    child = os.fork()
    if child == 0:
        call(code, path, write)
    os.close(write)
    ready, _, _ = select.select([read], [], [], seconds)
    said = os.read(read, 1 << 16) if ready else b""
    if not ready:
        os.kill(child, signal.SIGKILL)
    _, ended = os.waitpid(child, 0)
    os.close(read)
    found = json.loads(said) if said else {}
    found |= {"took": time.monotonic() - begin, "hung": not ready, "signal": os.WTERMSIG(ended)}
    print(json.dumps(found), flush=True)
"""


def cases() -> list[tuple[str, str]]:
    folder = os.environ.get("STRILE_HOSTILE")
    if folder is None:
        pytest.skip("STRILE_HOSTILE names no folder of hostile files; `cargo xtask python` makes one")
    lines = Path(folder, "list").read_text().splitlines()
    return [(line.split("/")[0], str(Path(folder, line))) for line in lines]


def placed(path: str, folder: Path) -> str:
    """The same files with a world file, without which none of them has a place on a grid."""
    own = Path(path)
    folder.mkdir(parents=True)
    for file in own.parent.iterdir():
        try:
            os.link(file, folder / file.name, follow_symlinks=False)
        except OSError:
            os.symlink(file, folder / file.name)
    if not list(folder.glob("*.tfw")):
        (folder / own.with_suffix(".tfw").name).write_text("1\n0\n0\n-1\n-1.5\n1.5\n")
    return str(folder / own.name)


def problem(name: str, found: dict[str, Any], usual: int) -> str | None:
    allowed = usual + SPARE + TIMES * BUDGET
    if found["hung"]:
        return f"took more than {SECONDS * SLOWER} s"
    if found["signal"] or "peak" not in found:
        return f"ended by signal {found['signal']}"
    if found["kinds"] and not {"StrileError", "OSError", "MemoryError"} & set(found["kinds"]):
        return f"raised {found['kinds'][0]}: {found['text']}"
    if found["kinds"] and name.startswith(GOOD):
        return f"a sidecar made the file unreadable: {found['text']}"
    if found["peak"] > allowed:
        return f"took {found['peak'] >> 20} MiB, {allowed >> 20} MiB are allowed"
    return None


@pytest.mark.skipif(sys.platform != "linux", reason="memory is measured as Linux tells it")
@pytest.mark.parametrize("door", DOORS)
def test_small_files_take_little(door: str, tmp_path: Path) -> None:
    listed = cases()
    assert len(listed) > 60
    if door.endswith("onto a grid"):
        here = Path(os.environ["STRILE_HOSTILE"])
        listed = [(name, placed(path, tmp_path / Path(path).parent.relative_to(here))) for name, path in listed]
        listed = [(name, path) for name, path in listed if not name.startswith(UNPLACED)]
    command = [sys.executable, "-B", "-c", RUNNER, str(ADDRESS_SPACE)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as runner:
        assert runner.stdin is not None and runner.stdout is not None

        def run(path: str) -> dict[str, Any]:
            assert runner.stdin is not None and runner.stdout is not None
            print(json.dumps([DOORS[door], path, SECONDS * SLOWER]), file=runner.stdin, flush=True)
            return json.loads(runner.stdout.readline())

        usual = run(listed[0][1])["peak"]
        problems = []
        for name, path in listed:
            found = problem(name, run(path), usual)
            if found is not None:
                problems.append(f"{name}: {found}")
        runner.stdin.close()
    assert not problems, "\n".join(problems)
