"""What tests of several folders share."""

from __future__ import annotations

import sys
from pathlib import Path

# The list of files is a module, since a program that makes answers of another reader needs it as well.
sys.path.insert(0, str(Path(__file__).parent / "parity"))
