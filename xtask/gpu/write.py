"""Writing: device array to file beside the peers, round trips through other readers, memory of a streamed write.

- Rates, on the benchmark's rasters in 256² tiles, to files in a file system in memory: ours (`bench --write`, from an
  array on the device, stored as the raster is), xarray-spatial (from a CuPy array) and GDAL with 16 threads (from a NumPy
  array). Rounds alternate; a figure is the median of all writes but each process's first, in GB/s of pixels.
- Ratios: pixels by bytes of the file, beside zlib's level 6 on the very bytes that GDAL's Deflate tiles hold.
- Kernels: our passes alone (`kernel_bench --encode`) beside nvCOMP 6's compressors on the same packed tiles.
- Round trips: `write_check` (both engines, streamed and eager, every type and codec, byte for byte); what it and the
  benchmark wrote is read by GDAL and tifffile; cloud-optimized files by `strile cog validate`.
- Memory: `write_memory`, the raster of seed 004. Copies back: `gather_bench 1024 16384`.
"""
import concurrent.futures
import hashlib
import json
import os
import shutil
import statistics
import sys
import zlib
from pathlib import Path

import bench
import peer_programs
import peers
import write_table
from session import Session

ROUNDS = 2
REPEAT = 3
# What peers write: LZW and plain files are ours alone.
PEERS_CODECS = ("deflate", "zstd")
MEMORY = Path("/dev/shm")


def rasters(session: Session) -> list[dict]:
    """Those in 256² tiles, made where they were not."""
    try:
        meta = json.loads((session.work / "rasters/meta.json").read_text())
    except (OSError, ValueError):
        meta = bench.prepare(session)
    return [row for row in meta if row["tile"] == 256]


def strile_round(session: Session, program: Path, rows: dict[str, dict], found: dict) -> None:
    words = ["--write", MEMORY, "--encode-on", "cuda:0", "--to", "device", "--repeat", REPEAT, "--json"]
    ended = session.run([program, *words, *rows], 150)
    try:
        results = json.loads(ended.output[ended.output.find("{") :])["results"]
    except (ValueError, KeyError, TypeError):
        found["names"].append(f"bench --write: {ended.tail(3)}")
        return
    for result in results:
        row = rows[result["file"]]
        row["strile"].append(result["median_seconds"])
        row |= {key: result[key] for key in ("encoder", "ratio", "stages", "device")}
        row["predictor"] = int(result["options"].get("PREDICTOR", 1))
        if not result["same"]:
            found["names"].append(f"{Path(result['file']).stem}: other pixels are read back than were written")


def by_nvcomp(session: Session, program: Path, rows: dict[str, dict], found: dict) -> None:
    """The elevations in Deflate written by nvCOMP's effort 2 in our pipeline, beside our own encoder's row."""
    path = next((path for path, row in rows.items() if (row["name"], row["codec"]) == ("dem_f32", "deflate")), None)
    if path is None:
        return
    words = ["--write", MEMORY, "--encode-on", "cuda:0", "--to", "device", "--repeat", REPEAT, "--json"]
    ended = session.run([program, *words, "--nvcomp-effort", 2, path], 90, peers.environment(session, "six"))
    try:
        result = json.loads(ended.output[ended.output.find("{") :])["results"][0]
    except (ValueError, KeyError, TypeError, IndexError):
        found["names"].append(f"bench --write --nvcomp-effort 2: {ended.tail(3)}")
        return
    rate = round(rows[path]["decoded"] / result["median_seconds"] / 1e9, 3)
    found["by_nvcomp"] = {"encoder": result["encoder"], "gb_s": rate, "ratio": result["ratio"], "same": result["same"]}
    if not result["same"]:
        found["names"].append("by nvCOMP: other pixels are read back than were written")
    session.say(f"by nvCOMP: {found['by_nvcomp']}")


def peer_round(session: Session, writers: dict[str, peers.Peer], rows: dict[str, dict]) -> None:
    for name, writer in writers.items():
        for path, row in rows.items():
            if row["codec"] not in PEERS_CODECS or session.left() < 40:
                continue
            target = MEMORY / f"strile-peer-{name}.tif"
            request = {
                "npy": str(Path(path).parent / f"{row['name']}.npy"), "target": str(target), "codec": row["codec"],
                "predictor": row.get("predictor", 1), "tile": row["tile"], "repeat": REPEAT,
            }
            reply = writer.request(request, Path(path).name)
            target.unlink(missing_ok=True)
            if "seconds" in reply:
                row[name] += reply["seconds"]
                row[f"{name} ratio"] = row["decoded"] / reply["bytes"]
            elif reply["error"][:120] not in str(row["notes"]):
                row["notes"].append(f"{name}: {reply['error'][:120]}")


def zlib_ratio(path: str) -> float:
    """Level 6 of zlib on the decompressed tiles of a Deflate file, which are packed and predicted already."""
    index = Path(path + ".idx").read_bytes()
    table = [int.from_bytes(index[at : at + 8], "little") for at in range(0, len(index), 8)]
    data = Path(path).read_bytes()

    def tile(at: int) -> tuple[int, int]:
        packed = zlib.decompress(data[table[at] : table[at] + table[at + 1]])
        return len(packed), len(zlib.compress(packed, 6))

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        sizes = list(pool.map(tile, range(0, len(table), 2)))
    return sum(raw for raw, _ in sizes) / sum(packed for _, packed in sizes)


def kernels(session: Session, rows: dict[str, dict], found: dict) -> None:
    """Our passes and nvCOMP's compressors, device to device; adds to `rows`."""
    program = session.program("kernel_bench")
    if program is not None:
        ended = session.run([program, "--encode", "--json", "--runs", 5, *rows], 90)
        by_name = {Path(path).stem: row for path, row in rows.items()}
        for record in peer_programs.records(ended):
            if row := by_name.get(record.get("name")):
                row["kernel"] = record
        if not ended.well:
            found["names"].append(f"kernel_bench --encode: {ended.tail(3)}")
    nvcomp = peer_programs.build(session, "nvcomp_bench", "six", "libnvcomp")
    for path, row in rows.items():
        if nvcomp is None or row["codec"] not in PEERS_CODECS or session.left() < 40:
            continue
        words = [nvcomp, "compress", path, row["codec"], row["tile_bytes"]]
        ended = session.run(words, 60, peers.environment(session, "six"))
        row["nvcomp"] = [record for record in peer_programs.records(ended) if "gb_s" in record]
        if not ended.well:
            row["notes"].append(f"nvCOMP: {ended.tail(1)[:120]}")


READ_BACK = """
import json, sys, warnings
from pathlib import Path
warnings.simplefilter("ignore")
import numpy as np
import rasterio, tifffile
for line in sys.stdin:
    path, npy = json.loads(line)
    expected = np.load(npy)
    expected = expected[None] if expected.ndim == 2 else expected
    def same(array):
        return array.shape == expected.shape and array.dtype == expected.dtype and array.tobytes() == expected.tobytes()
    answer = {"file": Path(path).stem}
    try:
        with rasterio.open(path) as dataset:
            answer["gdal"] = same(dataset.read())
    except Exception as reason:
        answer["gdal_error"] = f"{type(reason).__name__}: {reason}"[:200]
    try:
        with tifffile.TiffFile(path) as tiff:
            array = tiff.pages[0].asarray()
            planes = tiff.pages[0].planarconfig == 2
        array = array[None] if array.ndim == 2 else array if planes else np.moveaxis(array, -1, 0)
        answer["tifffile"] = same(np.ascontiguousarray(array))
    except Exception as reason:
        answer["tifffile_error"] = f"{type(reason).__name__}: {reason}"[:200]
    print(json.dumps(answer), flush=True)
"""

# What GDAL has no driver for: it was said when it was written.
NOT_GDAL = ("lz4",)


def read_back(session: Session, pairs: list[tuple[Path, Path]], found: dict) -> None:
    """Files against arrays, by GDAL and, where it decodes them, tifffile; adds what differs to `found`."""
    listed = session.work / "read_back.jsonl"
    listed.write_text("".join(json.dumps([str(tif), str(npy)]) + "\n" for tif, npy in pairs))
    script = f"import sys; sys.stdin = open({str(listed)!r})\n{READ_BACK}"
    ended = session.run([sys.executable, "-c", script], 120, peers.environment(session, "six"))
    answers = peer_programs.records(ended)
    counts = {reader: sum(bool(answer.get(reader)) for answer in answers) for reader in ("gdal", "tifffile")}
    for answer in answers:
        left_out = any(codec in answer["file"].split("_") for codec in NOT_GDAL)
        if not answer.get("gdal") and not left_out:
            found["names"].append(f"GDAL reads {answer['file']} otherwise: {answer.get('gdal_error', 'other pixels')}")
        if answer.get("tifffile") is False:
            found["names"].append(f"tifffile reads {answer['file']} otherwise")
    reasons = sorted({answer["tifffile_error"].split(":")[0] for answer in answers if "tifffile_error" in answer})
    found["read_back"] = {"files": len(answers), **counts, "tifffile_cannot": reasons}
    if len(answers) != len(pairs):
        found["names"].append(f"read back: {len(answers)} of {len(pairs)} files: {ended.tail(3)}")


def written(session: Session) -> dict:
    """What is written is right: both engines' bytes, read back by others."""
    meta = rasters(session)
    if session.program("strile") is None or not meta:
        return {"ok": False, "why": "carry/bin/strile or the rasters are missing"}
    found: dict = {"names": []}
    round_trips(session, {row["path"]: row for row in meta}, found)
    session.say(json.dumps({name: found.get(name) for name in ("write_check", "read_back")}))
    return {"ok": not found["names"], **found}


def round_trips(session: Session, rows: dict[str, dict], found: dict) -> None:
    folder = session.work / "written"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    program = session.program("write_check")
    if program is None:
        found["names"].append("the bundle has no write_check")
    else:
        ended = session.run([program, folder], 200)
        cases = [record for record in peer_programs.records(ended) if "case" in record]
        failed = [case for case in cases if case.get("ok") is False]
        found["write_check"] = {
            "cases": sum(bool(case.get("ok")) for case in cases), "failed": len(failed),
            "left_out": [case["case"] for case in cases if "left_out" in case],
        }
        found["names"] += [f"write_check {case['case']}: {case['problem']}" for case in failed[:8]]
        if not ended.well and not failed:
            found["names"].append(f"write_check: {ended.tail(3)}")
    pairs = [(path, path.with_suffix(".npy")) for path in sorted(folder.glob("*.tif"))]
    pairs += convert(session, rows, folder, found)
    read_back(session, pairs, found)
    check = session.program("device_check")
    if check is not None and any((folder / "large").glob("*.tif")):
        ended = session.run([check, folder / "large"], 90)
        if not ended.well:
            found["names"].append(f"device_check of what was written: {ended.tail(2)}")
    shutil.rmtree(folder, ignore_errors=True)


def convert(session: Session, rows: dict[str, dict], folder: Path, found: dict) -> list[tuple[Path, Path]]:
    """Whole rasters by `strile convert`: on both devices, with several buffers, as plain and cloud-optimized files."""
    strile, large = session.program("strile"), folder / "large"
    large.mkdir()
    pairs = []
    for path, row in rows.items():
        if row["codec"] not in PEERS_CODECS or row["name"] not in ("dem_f32", "rgb_u8"):
            continue
        if session.left() < 60:
            found["names"].append(f"convert of {row['name']} in {row['codec']}: left out, {session.left():.0f} s were left")
            continue
        for of in ("GTiff", "COG"):
            digests = {}
            ways = {
                "cuda": ["--encode-on", "cuda:0"], "cpu": ["--encode-on", "cpu", "--decode-on", "cpu"],
                "cuda 64 MiB": ["--encode-on", "cuda:0", "--streaming-buffer", "64MiB"],
            }
            for name, how in ways.items():
                out = large / f"{row['name']}_{row['codec']}_{of}_{name.replace(' ', '')}.tif"
                words = ["convert", path, out, "--of", of, "--co", f"COMPRESS={row['codec']}", "--reencode", "--reproducible"]
                ended = session.run([strile, "-q", *words, *how], 60)
                if not ended.well:
                    found["names"].append(f"convert {out.stem}: {ended.tail(2)}")
                    continue
                digests[name] = hashlib.sha256(out.read_bytes()).hexdigest()
                if name == "cuda":
                    pairs.append((out, Path(path).parent / f"{row['name']}.npy"))
                    if of == "COG":
                        valid = session.run([strile, "cog", "validate", "--strict", out], 30)
                        if not valid.well:
                            found["names"].append(f"cog validate {out.stem}: {valid.tail(3)}")
                else:
                    out.unlink()
            if len(set(digests.values())) > 1:
                found["names"].append(f"{row['name']} {row['codec']} {of}: other bytes: {digests}")
    return pairs


def memory(session: Session, found: dict) -> None:
    program = session.program("write_memory")
    if program is None:
        found["names"].append("the bundle has no write_memory")
        return
    ended = session.run([program, MEMORY], 90)
    found["memory"] = [record for record in peer_programs.records(ended) if "streamed" in record]
    if not ended.well or not found["memory"]:
        found["names"].append(f"write_memory: {ended.tail(3)}")
    for record in found["memory"]:
        if not record["same"]:
            found["names"].append(f"write_memory: streamed is not eager: {record['codec']}, cog {record['cog']}")


def copies_back(session: Session, found: dict) -> None:
    program = session.program("gather_bench")
    if program is not None:
        ended = session.run([program, 1024, 16384], 60)
        found["copies_back"] = next(iter(peer_programs.records(ended)), {})


def figure(path: str, row: dict) -> dict:
    def rate(seconds: list[float]) -> float | None:
        return round(row["decoded"] / statistics.median(seconds) / 1e9, 3) if seconds else None

    efforts = {
        f"nvcomp{'_64k' if record['chunk'] == 65536 != row['tile_bytes'] else ''}_{record['effort']}":
            {key: record[key] for key in ("gb_s", "ratio")}
        for record in row.get("nvcomp", [])
    }
    kernel = row.get("kernel", {})
    return {
        "file": Path(path).stem, "set": row["name"], "codec": row["codec"], "encoder": row.get("encoder"),
        "strile": rate(row["strile"]), "xarray_spatial": rate(row["xarray-spatial"]), "gdal": rate(row["gdal"]),
        "ratio": row.get("ratio"), "zlib_ratio": row.get("zlib_ratio"),
        "xarray_spatial_ratio": row.get("xarray-spatial ratio"), "gdal_ratio": row.get("gdal ratio"),
        "kernel": kernel.get("encode_gb_s"), "kernel_ratio": kernel.get("ratio"), "passes_ms": kernel.get("passes_ms"),
        "nvcomp": efforts, "stages": row.get("stages"), "notes": row["notes"],
    }


def run(session: Session) -> dict:
    rounds = session.rounds(ROUNDS)
    program, meta = session.program("bench"), rasters(session)
    if program is None or not meta:
        return {"ok": False, "why": "carry/bin/bench or the rasters are missing"}
    empty = ("strile", "xarray-spatial", "gdal", "notes")
    rows = {row["path"]: {**row, **{key: [] for key in empty}} for row in meta}
    found: dict = {"ok": True, "names": []}
    names = ["gdal", *(["xarray-spatial"] if (session.work / "peers/base/xrspatial").is_dir() else [])]
    writers = {name: peers.Peer(session, name, "peer_writer.py") for name in names}
    for number in range(rounds):
        strile_round(session, program, rows, found)
        peer_round(session, writers, rows)
        session.say(f"round {number + 1} of {rounds}, {session.left():.0f} s left")
    for writer in writers.values():
        writer.close()
    for name in {row["name"] for row in rows.values()}:
        of_set = {row["codec"]: path for path, row in rows.items() if row["name"] == name}
        ratio = round(zlib_ratio(of_set["deflate"]), 4)
        for path in of_set.values():
            rows[path]["zlib_ratio"] = ratio
    kernels(session, rows, found)
    by_nvcomp(session, program, rows, found)
    memory(session, found)
    copies_back(session, found)
    found["figures"] = [figure(path, row) for path, row in rows.items()]
    (session.out / "write.json").write_text(json.dumps({**found, "rows": list(rows.values())}, indent=1))
    found["missed"] = write_table.missed(found)
    found["ok"] = not found["names"] and all(figure["strile"] for figure in found["figures"])
    session.say(write_table.markdown(found))
    for line in found["missed"]:
        session.say(f"missed: {line}")
    return found
