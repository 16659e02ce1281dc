"""Figures of writing as tables, and what they fall short of: `write_table.py state.json` or `write.json` prints both again."""
import json
import sys
from pathlib import Path

SEED = GDAL = 5.0  # times their writers, Deflate and ZSTD
OF_ZLIB = 0.97  # of zlib's ratio at level 6
LIKE_ZLIB = ("dem_f32", "s2_u16")
NVCOMP = 2.0  # times nvCOMP's Deflate kernel of effort 2, at its ratio
BELOW_LOOP = 45.0  # percent: one copy back of 1024 × 16 KiB against a copy each
MIB = 1 << 20
DEVICE_MIB = 192  # above the input
HOST_MB = 200


def by(over, under) -> float | None:
    return over / under if over and under else None


def below_loop(found: dict) -> float | None:
    copies = found.get("copies_back", {})
    share = by(copies.get("gather_us"), copies.get("loop_us"))
    return None if share is None else (1 - share) * 100


def missed(found: dict) -> list[str]:
    """Every target that a figure misses or that could not be measured, in words."""
    lines = []

    def at_least(name, what, value, wanted):
        if value is None:
            lines.append(f"{name}: {what} not measured")
        elif value < wanted:
            lines.append(f"{name}: {what} {value:.2f}, at least {wanted} wanted")

    for figure in found["figures"]:
        name, codec, ours = figure["file"], figure["codec"], figure["strile"]
        if codec not in ("deflate", "zstd"):
            continue
        at_least(name, "times xarray-spatial", by(ours, figure["xarray_spatial"]), SEED)
        at_least(name, "times GDAL", by(ours, figure["gdal"]), GDAL)
        if figure["set"] in LIKE_ZLIB:
            at_least(name, "of zlib's ratio", by(figure["ratio"], figure["zlib_ratio"]), OF_ZLIB)
        if codec == "deflate":
            theirs = figure["nvcomp"].get("nvcomp_2", {})
            at_least(name, "times nvCOMP's kernel", by(figure["kernel"], theirs.get("gb_s")), NVCOMP)
            at_least(name, "of its ratio", by(figure["kernel_ratio"], theirs.get("ratio")), 1.0)
    at_least("copies back", "percent below the loop", below_loop(found), BELOW_LOOP)
    for record in found.get("memory", []):
        name = f"{record['codec']}{', COG' if record['cog'] else ''}"
        for key in ("counted", "driver"):
            above = record["resident"][key] / MIB
            if above > DEVICE_MIB:
                lines.append(f"{name}: {above:.0f} MiB above the input ({key}), at most {DEVICE_MIB} wanted")
        for way in ("streamed", "resident"):
            host = record[way]["host"] / 1e6
            if host >= HOST_MB:
                lines.append(f"{name}: the process grew by {host:.0f} MB ({way}), less than {HOST_MB} wanted")
    if not found.get("memory"):
        lines.append("memory not measured")
    return lines


def cell(value, digits=2, after="") -> str:
    return "–" if value is None else f"{value:.{digits}f}{after}"


def markdown(found: dict) -> str:
    head = (
        "file", "strile GB/s", "xarray-spatial", "times", "GDAL, 16 threads", "times", "ratio", "zlib 6", "of it",
        "xarray-spatial", "GDAL",
    )
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for f in found["figures"]:
        ours, seed, gdal = f["strile"], f["xarray_spatial"], f["gdal"]
        cells = [
            cell(ours), cell(seed), cell(by(ours, seed), 1, "×"), cell(gdal), cell(by(ours, gdal), 1, "×"),
            cell(f["ratio"], 3), cell(f["zlib_ratio"], 3), cell(by(f["ratio"], f["zlib_ratio"]), 3),
            cell(f["xarray_spatial_ratio"], 3), cell(f["gdal_ratio"], 3),
        ]
        lines.append(f"| {f['file']} | " + " | ".join(cells) + " |")
    efforts = sorted({effort for f in found["figures"] for effort in f["nvcomp"]})
    head = ("file", "kernels GB/s", "ratio", *efforts)
    lines += ["", "| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for f in found["figures"]:
        if f["kernel"] or f["nvcomp"]:
            theirs = [f["nvcomp"].get(effort) for effort in efforts]
            told = [f"{one['gb_s']:.2f} at {one['ratio']:.3f}" if one else "–" for one in theirs]
            lines.append(f"| {f['file']} | {cell(f['kernel'])} | {cell(f['kernel_ratio'], 3)} | " + " | ".join(told) + " |")
    lines += ["", "| 8192² float32, MiB | way | device, counted | device, driver | host | s |", "|---|---|---|---|---|---|"]
    for record in found.get("memory", []):
        name = f"{record['codec']}{', COG' if record['cog'] else ''}"
        for way in ("streamed", "resident", "eager"):
            taken = [f"{record[way][key] / MIB:.0f}" for key in ("counted", "driver", "host")]
            lines.append(f"| {name} | {way} | " + " | ".join(taken) + f" | {record[way]['seconds']:.3f} |")
    copies = found.get("copies_back", {})
    lines += ["", f"Copies back: {copies}, {cell(below_loop(found), 0)} % below the loop"]
    return "\n".join(lines)


def main() -> None:
    kept = json.loads(Path(sys.argv[1]).read_text())
    found = kept["parts"]["write"] if "parts" in kept else kept
    print(markdown(found))
    print("\nMissed:")
    for line in missed(found):
        print(f"- {line}")


if __name__ == "__main__":
    main()
