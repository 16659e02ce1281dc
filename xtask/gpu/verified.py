"""gpu-verified.toml: what was checked, on what, and what came out. Written here alone; `cargo xtask test` reads it.

It is written when tests, corpus and sanitizers passed for the same sources as those the bundle was built from. Other parts add
their figures. Those that failed or did not run are named in `not_shown`, and `cargo xtask test` repeats them.
"""
import json
from pathlib import Path

MUST_PASS = ("facts", "tests", "corpus", "sanitize")
OTHERS = ("gather", "bench", "growth", "written", "write", "python", "pictures", "batch", "warp", "soak", "fuzz")


def value(item) -> str:
    # JSON's strings, numbers and booleans are TOML's too.
    return json.dumps(item, ensure_ascii=False)


def lines(items: dict) -> str:
    return "\n".join(f"{key} = {value(item)}" for key, item in items.items() if item is not None)


def section(name: str, items: dict) -> str:
    return f"[{name}]\n{lines(items)}"


def has_figures(part: dict | None) -> bool:
    """Whether a part ran: one that ended before it had found anything says why, and no more."""
    return bool(set(part or {}) - {"ok", "why", "took", "names"})


def rows(name: str, figures: list[dict], left_out: tuple[str, ...]) -> list[str]:
    return [f"[[{name}]]\n" + lines({k: v for k, v in figure.items() if k not in left_out}) for figure in figures]


def of_gather(part: dict) -> list[str]:
    return [section("gather", {name: part.get(name) for name in ("times_own_loop", "times_cupy_loop")})]


def of_growth(part: dict) -> list[str]:
    return [section("growth", part["figures"])]


def of_written(part: dict) -> list[str]:
    counts = {"cases": part.get("write_check", {}).get("cases"), "read_back": part.get("read_back", {}).get("files")}
    return [section("round_trips", counts)]


def of_warp(part: dict) -> list[str]:
    times = {f"{method}_ms": ms for method, ms in part.get("gpu_ms", {}).items()}
    return [section("warp", times | {f"{method}_times_gdal": ratio for method, ratio in part.get("times_gdal", {}).items()})]


def of_python(part: dict) -> list[str]:
    above = [round(row["open_geotiff_ms"] - row["rust_ms"], 2) for row in part["times"]]
    return [section("python", {"tests": part["tests"].get("passed"), "open_geotiff_above_rust_ms": above})]


def of_batch(part: dict) -> list[str]:
    names = ("windows", "files", "batch_ms", "batch_gb_s", "times_rasterio", "times_loop", "calls")
    return [section("batch", {name: part.get(name) for name in names})]


def of_soak(part: dict) -> list[str]:
    return [section("soak", {name: part.get(name) for name in ("minutes", "threads", "files")} | part.get("operations", {}))]


def of_bench(part: dict) -> list[str]:
    figures = rows("figures", part["figures"], ("set", "codec", "tile", "notes", "stage_ms"))
    return [section("copies", part.get("copies", {})), *figures]


def of_write(part: dict) -> list[str]:
    memory = [row["resident"]["driver"] for row in part.get("memory", [])]
    shown = ("file", "encoder", "strile", "xarray_spatial", "gdal", "ratio", "zlib_ratio", "kernel")
    figures = [{name: figure.get(name) for name in shown} for figure in part["figures"]]
    streamed = {"streamed_mib_above_input": max(memory) >> 20 if memory else None}
    return [section("write", streamed), *rows("written", figures, ())]


def of_pictures(part: dict) -> list[str]:
    return rows("pictures", part["figures"], ("stage_ms", "notes"))


#: Rows of tables come last: in TOML a table ends those before it.
FIGURES = {
    "gather": of_gather, "growth": of_growth, "written": of_written, "warp": of_warp, "python": of_python, "batch": of_batch,
    "soak": of_soak, "bench": of_bench, "write": of_write, "pictures": of_pictures,
}


def text(bundle: dict, parts: dict[str, dict]) -> str:
    facts, tests, corpus, sanitize = (parts[name] for name in MUST_PASS)
    head = {
        "version": 1, "hash": bundle["hash"], "revision": bundle["revision"], "modified": bundle["modified"],
        "date": facts["date"],
        "not_shown": [f"{name}: {why_of(parts.get(name))}" for name in OTHERS if not parts.get(name, {}).get("ok")],
    }
    device = {name: facts[name] for name in ("name", "driver", "compute_capability")} | {"memory_mib": int(facts["memory_mib"])}
    counts = {
        "files": corpus["files"]["files"], "same": corpus["files"]["same"], "hostile": corpus["hostile"]["files"],
        "hostile_same": corpus["hostile"]["same"], "device_share": corpus["share"],
    }
    results = {kind: {tool: entry["result"] for tool, entry in sanitize[kind].items()} for kind in ("tools", "writing")}
    return "\n\n".join([
        "# Written by xtask/gpu/check.py on a machine with a GPU; the raw log lies beside it.\n"
        "# Rates are GB/s of pixels.",
        lines(head),
        section("device", device),
        section("tests", {"passed": tests["passed"], "failed": tests["failed"]}),
        section("corpus", counts),
        *(section(f"corpus.blocks.{json.dumps(codec)}", blocks) for codec, blocks in sorted(corpus["blocks"].items())),
        section("sanitizer", {"files": sanitize["files"], **results["tools"]}),
        section("sanitizer.writing", results["writing"]),
        *(one for name, make in FIGURES.items() if has_figures(parts.get(name)) for one in make(parts[name])),
    ]) + "\n"


def why_of(found: dict | None) -> str:
    """In one line, whatever it was."""
    if found is None:
        return "not run"
    return "; ".join([found["why"]] if found.get("why") else found.get("names", []))[:300].replace("\n", " ")


def lacking(parts: dict[str, dict]) -> list[str]:
    """Parts without which nothing is written."""
    failed = [f"{name} failed" for name in MUST_PASS if name in parts and not parts[name].get("ok")]
    return failed + [f"{name} not run" for name in MUST_PASS if not has_figures(parts.get(name))]


def write(out: Path, bundle: dict, parts: dict[str, dict]) -> str:
    """The file in `out`, or why there is none, in one line."""
    if missing := lacking(parts):
        return "no gpu-verified.toml: " + ", ".join(missing)
    (out / "gpu-verified.toml").write_text(text(bundle, parts))
    return "gpu-verified.toml written: put it into the repository's root"
