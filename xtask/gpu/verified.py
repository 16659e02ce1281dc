"""gpu-verified.toml: what was checked, on what, and what came out. Written here alone; `cargo xtask test` reads it.

It is written when tests, corpus and sanitizers passed for the same sources as those the bundle was built from, and everything
else was run; what of that failed is in it, and `cargo xtask test` repeats it.
"""
import json
from pathlib import Path

MUST_PASS = ("facts", "tests", "corpus", "sanitize")
MUST_RUN = ("gather", "bench", "growth", "written", "write", "python", "pictures", "batch", "warp", "soak", "fuzz")


def value(item) -> str:
    # JSON's strings, numbers and booleans are TOML's too.
    return json.dumps(item, ensure_ascii=False)


def section(name: str, items: dict) -> str:
    lines = [f"{key} = {value(item)}" for key, item in items.items() if item is not None]
    return f"[{name}]\n" + "\n".join(lines)


def text(bundle: dict, parts: dict[str, dict]) -> str:
    facts, tests, corpus = parts["facts"], parts["tests"], parts["corpus"]
    head = {
        "version": 1, "hash": bundle["hash"], "revision": bundle["revision"], "modified": bundle["modified"],
        "date": facts["date"],
        "not_shown": [f"{name}: {why_of(parts[name])}" for name in MUST_RUN if not parts[name]["ok"]],
    }
    blocks = [
        section(f"corpus.blocks.{json.dumps(codec)}", counts) for codec, counts in sorted(corpus["blocks"].items())
    ]
    sanitizer = {tool: entry["result"] for tool, entry in parts["sanitize"]["tools"].items()}
    writing = {tool: entry["result"] for tool, entry in parts["sanitize"]["writing"].items()}
    gather = parts["gather"]
    figures = []
    for figure in parts["bench"]["figures"]:
        left_out = ("set", "codec", "tile", "notes", "stage_ms")
        shown = {k: v for k, v in figure.items() if k not in left_out and v is not None}
        figures.append("[[figures]]\n" + "\n".join(f"{key} = {value(item)}" for key, item in shown.items()))
    written = []
    for figure in parts["write"]["figures"]:
        shown = ("file", "encoder", "strile", "xarray_spatial", "gdal", "ratio", "zlib_ratio", "kernel")
        lines = [f"{key} = {value(figure[key])}" for key in shown if figure[key] is not None]
        written.append("[[written]]\n" + "\n".join(lines))
    pictures = []
    for figure in parts["pictures"]["figures"]:
        left_out = ("stage_ms", "notes")
        shown = {k: v for k, v in figure.items() if k not in left_out and v is not None}
        pictures.append("[[pictures]]\n" + "\n".join(f"{key} = {value(item)}" for key, item in shown.items()))
    return "\n\n".join([
        "# Written by xtask/gpu/check.py on a machine with a GPU; the raw log lies beside it.\n"
        "# Rates are GB/s of pixels.",
        "\n".join(f"{key} = {value(item)}" for key, item in head.items()),
        section("device", {
            "name": facts["name"], "driver": facts["driver"], "compute_capability": facts["compute_capability"],
            "memory_mib": int(facts["memory_mib"]),
        }),
        section("tests", {"passed": tests["passed"], "failed": tests["failed"]}),
        section("corpus", {
            "files": corpus["files"]["files"], "same": corpus["files"]["same"], "hostile": corpus["hostile"]["files"],
            "hostile_same": corpus["hostile"]["same"], "device_share": corpus["share"],
        }),
        *blocks,
        section("sanitizer", {"files": parts["sanitize"]["files"], **sanitizer}),
        section("sanitizer.writing", writing),
        section("gather", {
            "times_own_loop": gather.get("times_own_loop"), "times_cupy_loop": gather.get("times_cupy_loop"),
        }),
        section("growth", parts["growth"]["figures"]),
        section("copies", parts["bench"].get("copies", {})),
        section("write", {
            "cases": parts["written"]["write_check"]["cases"], "read_back": parts["written"]["read_back"]["files"],
            "streamed_mib_above_input": max(r["resident"]["driver"] for r in parts["write"]["memory"]) >> 20,
        }),
        section("warp", {
            f"{method}_ms": ms for method, ms in parts["warp"].get("gpu_ms", {}).items()
        } | {f"{method}_times_gdal": times for method, times in parts["warp"].get("times_gdal", {}).items()}),
        section("python", {
            "tests": parts["python"]["tests"]["passed"],
            "open_geotiff_above_rust_ms": [
                round(row["open_geotiff_ms"] - row["rust_ms"], 2) for row in parts["python"]["times"]
            ],
        }),
        section("batch", {
            name: parts["batch"].get(name)
            for name in ("windows", "files", "batch_ms", "batch_gb_s", "times_rasterio", "times_loop", "calls")
        }),
        section("soak", {
            "minutes": parts["soak"].get("minutes"), "threads": parts["soak"].get("threads"),
            "files": parts["soak"].get("files"), **parts["soak"].get("operations", {}),
        }),
        *figures,
        *written,
        *pictures,
    ]) + "\n"


def why_of(found: dict) -> str:
    """In one line, whatever it was."""
    return "; ".join([found["why"]] if found.get("why") else found.get("names", []))[:300].replace("\n", " ")


def lacking(parts: dict[str, dict]) -> list[str]:
    failed = [f"{name} failed" for name in MUST_PASS if name in parts and not parts[name].get("ok")]
    # One that ended before it had found anything says why, and no more.
    found = {name for name, part in parts.items() if set(part) - {"ok", "why", "took", "names"}}
    return failed + [f"{name} not run" for name in MUST_PASS + MUST_RUN if name not in found]


def write(out: Path, bundle: dict, parts: dict[str, dict]) -> str:
    """The file in `out`, or why there is none, in one line."""
    if missing := lacking(parts):
        return "no gpu-verified.toml: " + ", ".join(missing)
    (out / "gpu-verified.toml").write_text(text(bundle, parts))
    return "gpu-verified.toml written: put it into the repository's root"
