"""Runs something as soon as another package is imported, or now where it is.

It lets `import strile` and `import xarray`, in any order, give `DataArray.strile` without strile importing
xarray. The finder stands first in `sys.meta_path`, answers for one name, once, and takes itself away."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any


def when_imported(name: str, work: Callable[[], None]) -> None:
    module = sys.modules.get(name)
    # One that is being imported just now has no names yet to register with; the finder comes too late for it,
    # but `strile.backend` registers as well, and a package that imports strile while it loads does not exist.
    if module is not None:
        if not getattr(getattr(module, "__spec__", None), "_initializing", False):
            work()
        return
    sys.meta_path.insert(0, _Finder(name, work))


class _Finder:
    """A finder by its methods alone: the base class of finders would import a dozen modules."""

    def __init__(self, name: str, work: Callable[[], None]) -> None:
        self.name = name
        self.work = work

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != self.name:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(fullname)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader, self.work)  # type: ignore[assignment]
        return spec


class _Loader:
    """The package's own loader, and the work after it."""

    def __init__(self, loader: Any, work: Callable[[], None]) -> None:
        self.loader = loader
        self.work = work

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        made: ModuleType | None = self.loader.create_module(spec)
        return made

    def exec_module(self, module: ModuleType) -> None:
        # Callers that ask the module for its loader (resources, pickles) get the real one.
        if module.__spec__ is not None:
            module.__spec__.loader = self.loader
        module.__loader__ = self.loader
        self.loader.exec_module(module)
        self.work()
