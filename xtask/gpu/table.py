"""Figures as a table, and what they fall short of."""

WHOLE = {"deflate": 5.0, "lzw": 5.0, "zstd": 3.0}  # times xarray-spatial, 256² tiles
LZW_KERNEL = 60.0  # GB/s
DEFLATE_KERNEL = 2.0  # times nvCOMP, on the sets below
DEFLATE_SETS = ("dem_f32", "s2_u16", "rgb_u8")


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

    for figure in (f for f in figures if f["tile"] == 256):
        if wanted := WHOLE.get(figure["codec"]):
            at_least(figure, "times xarray-spatial", ratio(figure["strile"], figure["xarray_spatial"]), wanted)
        at_least(figure, "times GDAL + upload", ratio(figure["strile"], figure["gdal_libertiff_upload"]), 1.0)
        if figure["codec"] == "lzw":
            at_least(figure, "LZW kernel GB/s", figure["strile_kernel"], LZW_KERNEL)
        if figure["codec"] == "deflate" and figure["set"] in DEFLATE_SETS:
            times = ratio(figure["strile_kernel"], figure["nvcomp_kernel"])
            at_least(figure, "times nvCOMP's kernel", times, DEFLATE_KERNEL)
    return found


def markdown(figures: list[dict]) -> str:
    def cell(value, digits=1, times=""):
        return "–" if value is None else f"{value:.{digits}f}{times}"

    lines = [
        "| file | strile GB/s | xarray-spatial | ratio | GDAL + upload | ratio | kernel | nvCOMP 6 kernel | ratio |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for f in figures:
        cells = [
            cell(f["strile"]), cell(f["xarray_spatial"], 2), cell(ratio(f["strile"], f["xarray_spatial"]), 1, "×"),
            cell(f["gdal_libertiff_upload"], 2), cell(ratio(f["strile"], f["gdal_libertiff_upload"]), 1, "×"),
            cell(f["strile_kernel"]), cell(f["nvcomp_kernel"]),
            cell(ratio(f["strile_kernel"], f["nvcomp_kernel"]), 1, "×"),
        ]
        lines.append(f"| {f['file']} | " + " | ".join(cells) + " |")
    return "\n".join(lines)
