"""Figures as tables, and what they fall short of: `table.py gpu-verified.toml` or `state.json` prints both again."""
import json
import sys
import tomllib
from pathlib import Path

# Whole reads, 256² tiles: times xarray-spatial, and times the better of GDAL with an upload and nvTIFF.
WHOLE = {"deflate": 10.0, "lzw": 10.0, "none": 10.0, "zstd": 5.0}
WHOLE_RGB_ZSTD = 4.0
BEST_PEER = 4.0
ZSTD_OF_KERNEL = 0.7  # whole read by zstd kernel
# Kernels, device to device.
DEFLATE_KERNEL = {"dem_f32": 4.0, "s2_u16": 4.0, "rgb_u8": 4.0, "lc_u8": 1.0}  # times nvCOMP, both tile sizes
ZSTD_KERNEL = 0.7
LZW_KERNEL = 100.0  # GB/s
PLACE_OF_COPY = 85.0  # percent
# Growth.
MOST = {
    "t64_by_t1": 1.5, "t4096_by_t1024": 4.2, "one_percent_by_its_tiles": 1.2, "first_ms": 400.0,
    "over_output_mib": 576.0,
}


def ratio(ours, theirs) -> float | None:
    return ours / theirs if ours and theirs else None


def missed(figures: list[dict]) -> list[str]:
    """Every target that a figure misses or that could not be measured, in words."""
    found = []

    def at_least(figure, what, value, wanted):
        if value is None:
            found.append(f"{figure['file']}: {what} not measured")
        elif value < wanted:
            found.append(f"{figure['file']}: {what} {value:.2f}, at least {wanted} wanted")

    for figure in figures:
        ours, codec, kernel = figure.get("strile"), figure["codec"], figure.get("strile_kernel")
        if figure["tile"] == 256:
            wanted = WHOLE_RGB_ZSTD if (figure["set"], codec) == ("rgb_u8", "zstd") else WHOLE[codec]
            at_least(figure, "times xarray-spatial", ratio(ours, figure.get("xarray_spatial")), wanted)
            nvtiff, gdal = figure.get("nvtiff"), figure.get("gdal_libertiff_upload")
            if figure["set"] == "lc_u8" and nvtiff:
                at_least(figure, "times nvTIFF", ratio(ours, nvtiff), 1.0)
            else:
                best = max((rate for rate in (nvtiff, gdal) if rate), default=None)
                at_least(figure, "times the best of GDAL and nvTIFF", ratio(ours, best), BEST_PEER)
            if codec == "zstd":
                at_least(figure, "whole by own kernel", ratio(ours, kernel), ZSTD_OF_KERNEL)
        if codec == "lzw":
            at_least(figure, "LZW kernel GB/s", kernel, LZW_KERNEL)
        if codec == "deflate":
            wanted = DEFLATE_KERNEL[figure["set"]]
            at_least(figure, "times nvCOMP's kernel", ratio(kernel, figure.get("nvcomp_kernel")), wanted)
        if codec == "zstd":
            at_least(figure, "times nvCOMP's kernel", ratio(kernel, figure.get("nvcomp_kernel")), ZSTD_KERNEL)
        at_least(figure, "place, percent of a copy", figure.get("place_percent_of_copy"), PLACE_OF_COPY)
    return found


def missed_growth(figures: dict) -> list[str]:
    found = []
    for name, most in MOST.items():
        value = figures.get(name)
        if value is None:
            found.append(f"growth: {name} not measured")
        elif value > most:
            found.append(f"growth: {name} {value:.2f}, at most {most} wanted")
    return found


def cell(value, digits=1, after="") -> str:
    return "–" if value is None else f"{value:.{digits}f}{after}"


def markdown(figures: list[dict]) -> str:
    lines = [
        "| file | strile GB/s | of floor | xarray-spatial | ratio | GDAL + upload | ratio | nvTIFF | ratio "
        "| kernel | nvCOMP 6 kernel | ratio | place | of copy |",
        "|" + "---|" * 14,
    ]
    for f in figures:
        ours = f.get("strile")

        def beside(key, digits=2, ours=ours, f=f):
            return [cell(f.get(key), digits), cell(ratio(ours, f.get(key)), 1, "×")]

        cells = [
            cell(ours), cell(f.get("floor_percent"), 0, " %"), *beside("xarray_spatial"),
            *beside("gdal_libertiff_upload"), *beside("nvtiff"), cell(f.get("strile_kernel")),
            *beside("nvcomp_kernel", 1, f.get("strile_kernel")), cell(f.get("place_kernel"), 0),
            cell(f.get("place_percent_of_copy"), 0, " %"),
        ]
        lines.append(f"| {f['file']} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def growth_markdown(figures: dict) -> str:
    lines = ["| growth | measured | at most |", "|---|---|---|"]
    for name, value in figures.items():
        if isinstance(value, (int, float)):
            lines.append(f"| {name.replace('_', ' ')} | {value:.2f} | {MOST.get(name, '–')} |")
    return "\n".join(lines)


def named(figure: dict) -> dict:
    """Set, codec and tile size, which gpu-verified.toml leaves to the name."""
    name, codec, tile = figure["file"].rsplit("_", 2)
    return {"set": name, "codec": codec, "tile": int(tile), **figure}


def main() -> None:
    path = Path(sys.argv[1])
    if path.suffix == ".toml":
        kept = tomllib.loads(path.read_text())
        figures, growth = kept["figures"], kept.get("growth", {})
    else:
        parts = json.loads(path.read_text())["parts"]
        figures, growth = parts["bench"]["figures"], parts.get("growth", {}).get("figures", {})
    figures = [named(figure) for figure in figures]
    print(markdown(figures), growth_markdown(growth), sep="\n\n")
    print("\nMissed:")
    for line in missed(figures) + missed_growth(growth):
        print(f"- {line}")


if __name__ == "__main__":
    main()
