"""Makes `xarray_spatial.json`: what xarray-spatial says of every file of the list, opened in every way.

    python make_answers.py          # with an interpreter that has xarray-spatial 0.10 (Python 3.12 or newer)

The answers are kept, so that the comparison runs where xarray-spatial does not.
"""

from __future__ import annotations

import json
import tempfile
import warnings
from importlib.metadata import version
from pathlib import Path
from typing import Any

import made
from described import described, ways
from xrspatial.geotiff import open_geotiff


def answer(path: Path, options: dict[str, Any]) -> dict[str, Any]:
    try:
        return described(open_geotiff(str(path), **options))
    except Exception as error:  # noqa: BLE001  # whatever it raises is the answer
        kinds = [
            kind.__name__ for kind in type(error).__mro__ if kind not in (object, BaseException, Exception)
        ]
        return {"error": kinds}


def main() -> None:
    warnings.simplefilter("ignore")
    answers: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name in made.MAKERS:
            path = made.make(name, Path(folder))
            answers[name] = {case: answer(path, options) for case, options in ways(name).items()}
    kept = {"xarray-spatial": version("xarray-spatial"), "answers": answers}
    (Path(__file__).parent / "xarray_spatial.json").write_text(_lines(kept) + "\n")


def _lines(kept: dict[str, Any]) -> str:
    """One line an answer: a change of one is a change of one line."""
    rows = []
    for name, cases in sorted(kept["answers"].items()):
        for case, said in sorted(cases.items()):
            rows.append(f"{json.dumps(name + '/' + case)}: {json.dumps(said, sort_keys=True)}")
    return (
        '{"xarray-spatial": '
        + json.dumps(kept["xarray-spatial"])
        + ',\n"answers": {\n'
        + ",\n".join(rows)
        + "\n}}"
    )


if __name__ == "__main__":
    main()
