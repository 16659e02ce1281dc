"""Whole reads and kernels beside the peers, on the rasters of make_rasters.py.

A round reads every file with strile (one process, `strile bench`), then with each peer; rounds alternate. For all the
same: a file's figure is the median over the rounds of the best of REPEAT reads, in GB/s of decoded bytes, from the
page cache to an array on the device. Kernels: strile's own decode time of the same reads (events on the device)
against nvCOMP 6's batched decompression of the same tiles (nvcomp_bench.cu).
"""
import json
import shutil
import statistics
import sys
import zipfile
from pathlib import Path

import corpus
import peers
import table
from session import Session

ROUNDS = 3
REPEAT = 3


def prepare(session: Session) -> list[dict]:
    """Peers unpacked and rasters made; meta.json."""
    scripts = Path(__file__).parent
    session.run(["bash", scripts / "unpack_peers.sh", session.carry, session.work / "peers"], 60)
    for wheel in (session.carry / "wheel").glob("*.whl"):
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(session.work / "wheel")
    rasters = session.work / "rasters"
    made = session.run(
        [sys.executable, scripts / "make_rasters.py", rasters], 150, peers.environment(session, "six")
    )
    session.say(made.tail(3))
    try:
        return json.loads((rasters / "meta.json").read_text())
    except (OSError, ValueError):
        return []


def nvcomp_program(session: Session) -> Path | None:
    library = session.work / "peers/six/nvidia/libnvcomp"
    built = session.work / "nvcomp_bench"
    if built.exists():
        return built
    if not library.is_dir() or shutil.which("nvcc") is None:
        return None
    source = Path(__file__).with_name("nvcomp_bench.cu")
    ended = session.run(
        [
            "nvcc", "-O3", "-std=c++17", "-arch=sm_90", f"-I{library}/include", source, "-o", built,
            f"-L{library}/lib64", "-lnvcomp",
        ],
        120,
    )
    if not ended.well:
        session.say(f"nvcc: {ended.tail()}")
    return built if ended.well else None


def pixels_agree(session: Session, meta: list[dict]) -> str | None:
    """Both engines on every raster of the benchmark; why not, where they differ."""
    program = session.program("device_check")
    if program is None:
        return "the bundle has no device_check: pixels not compared"
    ended = session.run([program, Path(meta[0]["path"]).parent], 120)
    lines = corpus.records(ended.output)
    differ = [f"{Path(r['file']).name}: {r.get('cuda')}" for r in lines if not r.get("same")]
    if len(lines) == len(meta) and not differ and ended.well:
        return None
    said = "; ".join(differ)[:300] if lines else ended.tail(2)
    return f"{len(lines)} of {len(meta)} rasters compared, {len(differ)} differ: {said}"


def strile_round(session: Session, program: Path, rows: dict[str, dict], device: str) -> str | None:
    """One process over all files; adds to `rows`; why not, where it fails."""
    paths = list(rows)
    words = ["bench", "--device", device, "--to", "device", "--repeat", REPEAT, "--json"]
    ended = session.run([program, *words, *paths], 120)
    start = ended.output.find("{")
    try:
        results = json.loads(ended.output[start:])["results"]
    except (ValueError, KeyError, TypeError):
        return f"strile bench: {ended.tail(3)}"
    for result in results:
        if row := rows.get(result["file"]):
            row["strile"].append(result["seconds"])
            row["stages"].append(result.get("stages") or {})
            row["host_blocks"] = result.get("host_blocks", row.get("host_blocks"))
    return None


def rate(decoded: int, seconds: list[float]) -> float | None:
    return round(decoded / statistics.median(seconds) / 1e9, 2) if seconds else None


def decode_rate(row: dict) -> float | None:
    times = [stages["decode"] for stages in row["stages"] if stages.get("decode")]
    return round(row["decoded"] / statistics.median(times) / 1e9, 1) if times else None


def run(session: Session, rounds: int = ROUNDS) -> dict:
    strile = session.program("strile")
    meta = prepare(session)
    if strile is None or not meta:
        return {"ok": False, "why": "carry/bin/strile or the rasters are missing"}
    here = {"xarray-spatial": "peers/base/xrspatial", "strile-python": "wheel/strile"}
    names = ["gdal", *(name for name, folder in here.items() if (session.work / folder).is_dir())]
    readers = {name: peers.Peer(session, name) for name in names}
    rows = {m["path"]: {**m, "strile": [], "stages": [], **{name: [] for name in names}} for m in meta}
    found: dict = {"ok": True, "names": []}
    if why := pixels_agree(session, meta):
        found["names"].append(why)
        session.say(why)
    for number in range(rounds):
        if why := strile_round(session, strile, rows, "cuda:0"):
            found["names"].append(why)
        for name, reader in readers.items():
            for path, row in rows.items():
                if row["tile"] != 256 or session.left() < 30:
                    continue
                npy = str(Path(path).parent / f"{row['name']}.npy") if number == 0 else None
                reply = reader.ask(path, REPEAT, npy)
                if "seconds" in reply:
                    row[name].append(reply["seconds"])
                    if reply.get("same") is False:
                        row.setdefault("notes", []).append(f"{name} gives other pixels")
                        if name == "strile-python":
                            found["names"].append(f"{Path(path).name}: other pixels than were written")
                else:
                    row.setdefault("notes", []).append(f"{name}: {reply['error'][:120]}")
        session.say(f"round {number + 1} of {rounds}, {session.left():.0f} s left")
    for reader in readers.values():
        reader.close()
    program = nvcomp_program(session)
    for path, row in rows.items():
        if program and row["codec"] in ("deflate", "zstd") and session.left() > 15:
            ended = session.run([program, path, row["codec"], row["tile_bytes"]], 30, peers.environment(session, "six"))
            try:
                row["nvcomp"] = json.loads(ended.output.strip().splitlines()[-1]).get("gb_s")
            except (ValueError, IndexError):
                row["nvcomp"] = None
    found["figures"] = [
        {
            "file": Path(path).stem, "set": row["name"], "codec": row["codec"], "tile": row["tile"],
            "strile": rate(row["decoded"], row["strile"]),
            "strile_python": rate(row["decoded"], row.get("strile-python", [])),
            "xarray_spatial": rate(row["decoded"], row.get("xarray-spatial", [])),
            "gdal_libertiff_upload": rate(row["decoded"], row["gdal"]), "strile_kernel": decode_rate(row),
            "nvcomp_kernel": row.get("nvcomp"), "host_blocks": row.get("host_blocks"), "notes": row.get("notes", []),
        }
        for path, row in rows.items()
    ]
    (session.out / "bench.json").write_text(json.dumps(list(rows.values()), indent=1))
    found["missed"] = table.missed(found["figures"])
    found["ok"] = not found["names"] and all(figure["strile"] for figure in found["figures"])
    session.say(table.markdown(found["figures"]))
    for line in found["missed"]:
        session.say(f"missed: {line}")
    return found
