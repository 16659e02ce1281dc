"""The drawn cases of `xtask/python/check_warp.py` on the GPU, which must have the bits of the CPU: `warp_cases_check.py FOLDER [EVERY]`.

All cases, or every so many. A JSON object is printed last: how many were compared, and which are wrong."""

import itertools
import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "xtask" / "python"))

import cupy  # noqa: E402
import strile  # noqa: E402

try:
    import warp_cases
except ImportError as problem:
    # pyproj is in the fourth archive of the peers.
    print(json.dumps({"left_out": str(problem)}))
    sys.exit()
from warp_gdal import fill_of, write  # noqa: E402

NAMES = {"med": "median"}


def read(case, path: Path, device: str):
    grid = strile.Grid(case.target, case.target_transform, case.target_shape)
    return strile.read(
        path, bands=list(range(1, case.bands + 1)), grid=grid, resampling=NAMES.get(case.method, case.method), tolerance=case.tolerance,
        level=case.level, fill=fill_of(case), device=device, decode_on=device,
    )  # fmt: skip


def main() -> None:
    folder = Path(sys.argv[1])
    every = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    folder.mkdir(parents=True, exist_ok=True)
    path, compared, wrong = folder / "case.tif", 0, []
    for case in itertools.islice(warp_cases.all_cases(), 0, None, every):
        write(case, str(path))
        expected = read(case, path, "cpu").numpy()
        found = cupy.asnumpy(cupy.from_dlpack(read(case, path, "cuda:0")))
        compared += 1
        if found.dtype != expected.dtype or found.tobytes() != expected.tobytes():
            wrong.append(f"{case.name}: {int((found != expected).sum())} pixels are not the CPU's")
        path.unlink()
    print(json.dumps({"compared": compared, "wrong": wrong}))


if __name__ == "__main__":
    main()
