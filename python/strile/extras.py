"""Packages that strile can do without: imported where they are needed, named where they are missing."""

from __future__ import annotations

import importlib
from typing import Any


def require(module: str, what: str, extra: str) -> Any:
    """Imports a package, or says which extra of strile installs it. `what` needs it."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as problem:
        if problem.name is None or problem.name.partition(".")[0] != module.partition(".")[0]:
            raise
        raise ModuleNotFoundError(
            f"{what} needs {module.partition('.')[0]}, which is not installed: pip install 'strile[{extra}]'", name=module
        ) from None
