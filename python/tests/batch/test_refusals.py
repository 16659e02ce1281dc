"""Arguments of batches that cannot be: told in words of the call, and nothing rounded in silence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import strile
from strile.ml import GridWindows, valid_fractions

ONE = [[0, 0, 0, 8, 8]]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"bands": 2}, r"bands is 2: expected a list of whole numbers, from 1, as \[1\]"),
        ({"bands": [1.5]}, r"bands is \[1.5\]: expected a list of whole numbers"),
        ({"bands": [0]}, "bands count from 1"),
        ({"size": 16.5}, r"size is 16.5: expected a whole number, or two: \(width, height\)"),
        ({"size": (3, 4, 5)}, r"size is \(3, 4, 5\): expected a whole number, or two"),
        ({"size": (16.7, 16.2)}, r"size is \(16.7, 16.2\): expected a whole number, or two"),
        ({"size": 0}, "size is 0: expected 1 to 4,294,967,295 pixels"),
        ({"level": [0, 0]}, r"level is \[0, 0\] and there are 1 windows: .* one for each window"),
        ({"level": 0.5}, "level is 0.5 and there are 1 windows: expected a whole number"),
        ({"dtype": "bfloat16"}, "dtype bfloat16: expected float16, float32 or float64"),
        ({"windows": [[0, 0, 0, -3, 4]]}, "window 0: -3 x 4 pixels; expected a width and a height of 1 to"),
        ({"windows": [*ONE, [0, 0, 0, 8, 1 << 62]]}, "window 1: 8 x 4611686018427387904 pixels"),
    ],
)
def test_refused_in_words_of_the_call(scenes: list[str], options: dict[str, Any], words: str) -> None:
    with pytest.raises(strile.StrileError, match=words):
        strile.read_batch(scenes, **{"windows": ONE, "device": "cpu", **options})


def test_other_calls_check_the_same(scenes: list[str], tmp_path: Path) -> None:
    with pytest.raises(strile.StrileError, match="bands is 2: expected a list"):
        strile.read(scenes[0], bands=2)  # type: ignore[arg-type]
    with pytest.raises(strile.StrileError, match="size is 8.5"):
        GridWindows(scenes, 8.5)
    with pytest.raises(strile.StrileError, match="step is 0: expected 1 to"):
        GridWindows(scenes, 8, 0)
    with pytest.raises(strile.StrileError, match="valid_fractions sets masked itself"):
        valid_fractions(scenes, ONE, masked=True)
    with pytest.raises(strile.StrileError, match="files is -1: expected a whole number, 0 or more"):
        strile.Headers(files=-1)
    with pytest.raises(strile.UnsafeURLError, match="http://127.0.0.1:9/b.tif: .* private network"):
        strile.write_header_index(str(tmp_path / "a.index"), [scenes[0], "http://127.0.0.1:9/b.tif?sig=1"])
    assert not (tmp_path / "a.index").exists()


def test_too_little_memory_names_the_keyword(scenes: list[str]) -> None:
    with pytest.raises(MemoryError, match="read less at once, or allow more by `memory=`") as refusal:
        strile.read_batch(scenes, ONE, memory=1000, device="cpu")
    assert "--memory" not in str(refusal.value)


class Named:
    """Types and devices of PyTorch, by how they are written."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __str__(self) -> str:
        return self.name


def test_types_and_devices_of_torch_are_taken_by_name(scenes: list[str]) -> None:
    found = strile.read_batch(scenes, ONE, dtype=Named("torch.float32"), device=Named("cpu"))
    assert found.dtype == "float32"
    np.testing.assert_array_equal(found.numpy(), strile.read_batch(scenes, ONE, dtype=np.float32, device="cpu").numpy())
    with pytest.raises(strile.StrileError, match="dtype int8: expected float16"):
        strile.read_batch(scenes, ONE, dtype=Named("torch.int8"), device="cpu")
