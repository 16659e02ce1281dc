"""Whole reads and kernels beside the peers, on the rasters of make_rasters.py.

A round reads every file with strile (one process, `bench`), then with each peer; rounds alternate. For all the
same: a file's figure is the median over the rounds of the best of REPEAT reads (one fewer for the slow Python peers
after the first round), in GB/s of decoded bytes, from the page cache to an array on the device. The floor of a row is
its compressed bytes over LINK. Kernels: strile's decompression of all tiles in one launch (`kernel_bench FILE…`, events
on the device; 256² tiles before and after nvCOMP's turn) against nvCOMP 6's batched decompression of the same tiles
(nvcomp_bench.cu); placing against a copy within the device, measured by the same program.
"""
import json
import statistics
import sys
import zipfile
from pathlib import Path

import corpus
import peer_programs
import peers
import table
from session import Session

ROUNDS = 2
REPEAT = 3
LINK = 55.0  # GB/s, stated: what pinned copies reach on PCIe 5; kernel_bench prints what they do here


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


def strile_round(session: Session, program: Path, rows: dict[str, dict]) -> str | None:
    """One process over all files; adds to `rows`; why not, where it fails."""
    words = ["--decode-on", "cuda:0", "--to", "device", "--repeat", REPEAT, "--link", LINK, "--json"]
    ended = session.run([program, *words, *rows], 120)
    start = ended.output.find("{")
    try:
        results = json.loads(ended.output[start:])["results"]
    except (ValueError, KeyError, TypeError):
        return f"bench: {ended.tail(3)}"
    for result in results:
        if row := rows.get(result["file"]):
            row["strile"].append(result["seconds"])
            row["stages"].append(result.get("stages") or {})
            row["host_blocks"] = result.get("host_blocks", row.get("host_blocks"))
    return None


def kernel_round(session: Session, rows: dict[str, dict], found: dict) -> None:
    """strile's kernels on files, one launch each; adds to `rows`."""
    program = session.program("kernel_bench")
    if program is None or session.left() < 40:
        if all(row["kernel"] for row in rows.values()):
            session.say("no time left: kernels measured before nvCOMP's turn, not after it")
        else:
            found["names"].append("kernels not measured: no kernel_bench, or no time left")
        return
    ended = session.run([program, "--json", "--runs", 5, *rows], 90)
    by_name = {Path(path).stem: row for path, row in rows.items()}
    for record in peer_programs.records(ended):
        if "up_gb_s" in record:
            found["copies"] = record
        elif row := by_name.get(record.get("name")):
            row["kernel"].append(record)
            if record["launches"] != 1:
                row["notes"].append(f"{record['launches']} launches")
    if not ended.well:
        found["names"].append(f"kernel_bench: {ended.tail(3)}")


def nvcomp_round(session: Session, program: Path | None, rows: dict[str, dict]) -> None:
    for row in rows.values():
        if program and row["codec"] in ("deflate", "zstd") and session.left() > 15:
            answer = peer_programs.nvcomp(session, program, row)
            row["nvcomp"] = answer.get("gb_s")
            if "error" in answer:
                row["notes"].append(f"nvCOMP: {answer['error'][:120]}")


def nvtiff_round(session: Session, program: Path | None, rows: dict[str, dict], first: bool) -> None:
    asked = [row for row in rows.values() if row["tile"] == 256 and not row.get("no_nvtiff")]
    if program is None or not asked or session.left() < 30:
        return
    for path, answer in peer_programs.nvtiff(session, program, asked, REPEAT, first).items():
        row = rows[path]
        if "seconds" in answer:
            row["nvtiff"].append(answer["seconds"])
            if answer["same"] is False:
                row["notes"].append("nvTIFF gives other pixels")
        else:
            row["no_nvtiff"] = True
            row["notes"].append(f"nvTIFF: {answer.get('error')}")


def python_round(session: Session, readers: dict, rows: dict[str, dict], first: bool, found: dict) -> None:
    for name, reader in readers.items():
        for path, row in rows.items():
            if row["tile"] != 256 or session.left() < 30:
                continue
            npy = str(Path(path).parent / f"{row['name']}.npy") if first else None
            reply = reader.ask(path, REPEAT if first else REPEAT - 1, npy)
            if "seconds" in reply:
                row[name].append(reply["seconds"])
                if reply.get("same") is False:
                    row["notes"].append(f"{name} gives other pixels")
                    if name == "strile-python":
                        found["names"].append(f"{Path(path).name}: other pixels than were written")
            elif reply["error"][:120] not in str(row["notes"]):
                row["notes"].append(f"{name}: {reply['error'][:120]}")


def rate(decoded: int, seconds: list[float]) -> float | None:
    return round(decoded / statistics.median(seconds) / 1e9, 2) if seconds else None


def middle(records: list[dict], key: str, digits: int = 1) -> float | None:
    values = [record[key] for record in records if record.get(key)]
    return round(statistics.median(values), digits) if values else None


def figure(path: str, row: dict) -> dict:
    whole = statistics.median(row["strile"]) if row["strile"] else None
    floor = row["encoded"] / (LINK * 1e9)
    copy, place = middle(row["kernel"], "copy_gb_s"), middle(row["kernel"], "place_gb_s")
    stages = {key: [s[key] for s in row["stages"] if s.get(key)] for key in ("open", "read", "copy", "decode", "place")}
    return {
        "file": Path(path).stem, "set": row["name"], "codec": row["codec"], "tile": row["tile"],
        "strile": rate(row["decoded"], row["strile"]),
        "floor_percent": round(floor / whole * 100, 1) if whole else None,
        "strile_python": rate(row["decoded"], row["strile-python"]),
        "xarray_spatial": rate(row["decoded"], row["xarray-spatial"]),
        "gdal_libertiff_upload": rate(row["decoded"], row["gdal"]),
        "nvtiff": rate(row["decoded"], row["nvtiff"]),
        "strile_kernel": middle(row["kernel"], "decode_gb_s") if row["codec"] != "none" else None,
        "nvcomp_kernel": row.get("nvcomp"),
        "place_kernel": place, "place_percent_of_copy": round(place / copy * 100, 1) if place and copy else None,
        "stage_ms": {key: round(statistics.median(times) * 1e3, 2) for key, times in stages.items() if times},
        "host_blocks": row.get("host_blocks"), "notes": row["notes"],
    }


def run(session: Session) -> dict:
    rounds = session.rounds(ROUNDS)
    program = session.program("bench")
    meta = prepare(session)
    if program is None or not meta:
        return {"ok": False, "why": "carry/bin/bench or the rasters are missing"}
    programs = peer_programs.build_all(session)
    here = {"xarray-spatial": "peers/base/xrspatial", "strile-python": "wheel/strile"}
    names = ["gdal", *(name for name, folder in here.items() if (session.work / folder).is_dir())]
    readers = {name: peers.Peer(session, name) for name in names}
    empty = ("strile", "stages", "gdal", "xarray-spatial", "strile-python", "nvtiff", "kernel", "notes")
    rows = {m["path"]: {**m, **{key: [] for key in empty}} for m in meta}
    found: dict = {"ok": True, "names": [], "link": LINK}
    if why := pixels_agree(session, meta):
        found["names"].append(why)
        session.say(why)
    kernel_round(session, rows, found)
    for number in range(rounds):
        if why := strile_round(session, program, rows):
            found["names"].append(why)
        nvtiff_round(session, programs["nvtiff"], rows, number == 0)
        python_round(session, readers, rows, number == 0, found)
        session.say(f"round {number + 1} of {rounds}, {session.left():.0f} s left")
        if number == 0:
            nvcomp_round(session, programs["nvcomp"], rows)
            again = {path: row for path, row in rows.items() if "nvcomp" in row and row["tile"] == 256}
            kernel_round(session, again or rows, found)
    for reader in readers.values():
        reader.close()
    found["figures"] = [figure(path, row) for path, row in rows.items()]
    (session.out / "bench.json").write_text(json.dumps(list(rows.values()), indent=1))
    found["missed"] = table.missed(found["figures"])
    found["ok"] = not found["names"] and all(figure["strile"] for figure in found["figures"])
    session.say(table.markdown(found["figures"]))
    session.say(f"copies: {found.get('copies')}; floor by {LINK} GB/s")
    for line in found["missed"]:
        session.say(f"missed: {line}")
    return found
