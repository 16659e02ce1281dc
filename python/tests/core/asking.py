"""Reads and plans of the core by plain keywords, sorted into the classes that have them."""

from __future__ import annotations

from typing import Any

from strile._core import Dataset, Execution, Layout, Meaning, Place, Plan, ReadOptions

MEANING = ("masked", "unpack", "float_type", "invert_white", "look_for")
LAYOUT = ("interleave", "apply_orientation")
EXECUTION = ("decode_on", "on_fault", "max_pixels", "max_cloud_bytes", "cache", "device_memory", "memory", "threads")


def options(*, device: str | None = None, **given: Any) -> ReadOptions:
    def taken(names: tuple[str, ...]) -> dict[str, Any]:
        return {name: given.pop(name) for name in names if name in given}

    meaning, layout, execution = Meaning(**taken(MEANING)), Layout(**taken(LAYOUT)), Execution(**taken(EXECUTION))
    return ReadOptions(Place(**given), meaning, layout, execution, device=device)


def read(dataset: Dataset, *, out: Any = None, stream: int | None = None, progress: Any = None, **given: Any) -> Any:
    return dataset.read(options(**given), out=out, stream=stream, progress=progress)


def planned(dataset: Dataset, **given: Any) -> Plan:
    return dataset.plan(options(**given))
