"""The table of environment variables lists every variable that the code reads, and no other."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TABLE = ROOT / "docs" / "environment.md"
FOLDERS = ("crates", "python", "xtask", "fuzz")
KINDS = {".rs", ".py", ".c", ".cpp"}
NAME = r"STRILE_[A-Z0-9_]*[A-Z0-9]"


def read_by_the_code() -> set[str]:
    """Names in quotes: in Rust, Python and C++ a variable of the environment is read by such."""
    found: set[str] = set()
    for folder in FOLDERS:
        for path in (ROOT / folder).rglob("*"):
            if path.suffix in KINDS and path.name != Path(__file__).name and "target" not in path.parts:
                found |= set(re.findall(rf'"({NAME})"', path.read_text(encoding="utf-8", errors="replace")))
    return {name for name in found if not name.startswith("STRILE_TEST_")}


@pytest.mark.skipif(not TABLE.exists(), reason="needs the repository")
def test_the_table_is_complete() -> None:
    """The variables were documented in no place together."""
    listed = set(re.findall(rf"`({NAME})`", TABLE.read_text(encoding="utf-8")))
    assert listed == read_by_the_code()
