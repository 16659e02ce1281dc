"""Identifies this process among those it was forked from: process numbers alone do not, since the system reuses them."""

from __future__ import annotations

import os

_forks = 0


def process() -> tuple[int, int]:
    return os.getpid(), _forks


def _forked() -> None:
    global _forks
    _forks += 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
