"""Prints the round-trip matrix as docs/round-trips.md has it: `python table.py > docs/round-trips.md`."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from inputs import FEATURES  # noqa: E402
from ways import WAYS, Cell, batch, cell  # noqa: E402

HEAD = """# Round trips

This table shows which features of a file survive each way of copying it with strile. rasterio and GDAL write the inputs,
and rasterio compares input and output. A test generates this table and fails if a cell is `lost` or differs from this
page.

- **kept**: rasterio sees the same in both files.
- **error**: nothing is written, and the message says why and what to do.
- **warning**: the file is written without the feature, and a warning names it.
- **—**: does not apply: `read_batch` returns pixels, and this feature is not part of the pixels.

`convert` stands for `strile convert` and `strile.convert`, which share one implementation.

"""


def matrix(folder: Path) -> dict[tuple[str, str], Cell]:
    cells: dict[tuple[str, str], Cell] = {}
    for number, feature in enumerate(FEATURES):
        source = folder / f"in{number}.tif"
        feature.make(source)
        for at, (name, way) in enumerate(WAYS.items()):
            cells[feature.name, name] = cell(feature, way, source, folder / f"out{number}_{at}.tif")
        cells[feature.name, "read_batch"] = batch(feature, source)
    return cells


def page(cells: dict[tuple[str, str], Cell]) -> str:
    columns = [*WAYS, "read_batch"]
    lines = ["| feature | " + " | ".join(f"`{name}`" for name in columns) + " |", "| --- |" + " --- |" * len(columns)]
    notes: list[str] = []
    for feature in FEATURES:
        row = [feature.name]
        for name in columns:
            found = cells[feature.name, name]
            mark = ""
            if found.message:
                note = _anonymous(found.message)
                if note not in notes:
                    notes.append(note)
                mark = f" [{notes.index(note) + 1}]"
            row.append(found.state + mark)
        lines.append("| " + " | ".join(row) + " |")
    told = [f"{number}. {note}" for number, note in enumerate(notes, 1)]
    return HEAD + "\n".join(lines) + "\n" + ("\nMessages:\n\n" + "\n".join(told) + "\n" if told else "")


def _anonymous(message: str) -> str:
    """Without the names of temporary files."""
    import re

    return re.sub(r"\S*/(in|out)\d+(_\d+)?(\.\w+)", r"\1\3", message).replace("|", "\\|")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        print(page(matrix(Path(name))), end="")
