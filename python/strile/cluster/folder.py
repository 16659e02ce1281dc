"""The folder of a write's part files, beside the target: made by the client, seen by the workers, gone with
the write, whether it succeeded or not."""

from __future__ import annotations

import os
import shutil
import uuid
from pathlib import Path


class PartFolder:
    """A hidden folder with a unique name. Tasks that still run after it is removed cannot make files in it."""

    def __init__(self, target: str) -> None:
        place = Path(target).absolute()
        self.path = str(place.parent / f".{place.name}.{uuid.uuid4().hex[:12]}.strile-parts")

    @staticmethod
    def has_parent(target: str) -> bool:
        """Returns whether the folder of the target is there."""
        return Path(target).absolute().parent.is_dir()

    @staticmethod
    def possible(target: str) -> bool:
        """Returns whether it can be made beside the target."""
        return os.access(Path(target).absolute().parent, os.W_OK | os.X_OK)

    def __enter__(self) -> PartFolder:
        os.mkdir(self.path)
        return self

    def __exit__(self, *_: object) -> None:
        # Under another name first: a part that is completed meanwhile does not find it.
        gone = self.path + "-gone"
        try:
            os.rename(self.path, gone)
        except OSError:
            gone = self.path
        shutil.rmtree(gone, ignore_errors=True)
