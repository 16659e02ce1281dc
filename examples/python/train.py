"""Trains a small network on synthetic scenes, and says how long the device waits for data.

    python train.py                          # on a GPU where there is one
    python train.py --device cpu --scenes 2 --edge 256 --size 32 --steps 20

The scenes are GeoTIFFs written by strile: four bands of reflectance and one with the class of each pixel, which the network
learns to tell from the others. It is trained twice over the same windows: each batch read when it is asked for (depth 0), then
read ahead while the one before is used. The last line is JSON; docs/python/training.md says what its numbers mean."""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import strile
import torch
from strile.ml import BatchDataset, RandomWindows

CODECS = ("deflate", "zstd", "lzw")
BANDS = 4


def write_scenes(folder: Path, count: int, edge: int) -> list[str]:
    """Scenes of smooth fields with noise; the class is where one field is above another."""
    paths = []
    for number in range(count):
        random = np.random.default_rng(number)
        coarse = random.normal(1800, 500, (BANDS, edge // 32, edge // 32))
        fields = np.repeat(np.repeat(coarse, 32, axis=1), 32, axis=2)
        fields += random.normal(0, 40, fields.shape)
        label = (fields[0] > fields[3]).astype(np.uint16)
        pixels = np.concatenate([fields.clip(0, 10_000).astype(np.uint16), label[None]])
        path = folder / f"{number:03}.tif"
        strile.to_geotiff(
            np.moveaxis(pixels, 0, -1), path, compression=CODECS[number % 3], predictor=True, tile_size=256
        )
        paths.append(str(path))
    return paths


def network() -> torch.nn.Module:
    layers: list[torch.nn.Module] = []
    for before, after in ((BANDS, 32), (32, 64), (64, 32)):
        layers += [torch.nn.Conv2d(before, after, 3, padding=1), torch.nn.ReLU()]
    return torch.nn.Sequential(*layers, torch.nn.Conv2d(32, 1, 1))


class Waits:
    """The part of a loop in which the device has nothing to do: between the last work of a step and the first of the next.

    On a GPU by events in its own queue, so that work queued ahead counts as work; on the CPU by the clock."""

    def __init__(self, device: torch.device) -> None:
        self._gpu = device.type == "cuda"
        self._marks: list[Any] = []

    def mark(self) -> None:
        """Called when a step begins and when all of it is queued."""
        if not self._gpu:
            return self._marks.append(time.perf_counter())
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        self._marks.append(event)

    def result(self) -> tuple[float, float]:
        """Seconds from the first step's begin to the last one's end, and the share of them without work."""
        if self._gpu:
            torch.cuda.synchronize()
        pairs = list(zip(self._marks, self._marks[1:], strict=False))
        spans = [a.elapsed_time(b) / 1e3 if self._gpu else b - a for a, b in pairs]
        return sum(spans), sum(spans[1::2]) / max(sum(spans), 1e-9)


def train(files: list[str], given: argparse.Namespace, device: torch.device, depth: int) -> dict[str, Any]:
    """One epoch; the first steps, in which memory and kernels are made ready, are not counted."""
    torch.manual_seed(given.seed)
    model = network().to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    loss_of = torch.nn.BCEWithLogitsLoss()
    warm = min(5, given.steps // 4)
    windows = RandomWindows(files, given.size, given.steps * given.batch, seed=given.seed)
    batches = BatchDataset(
        files, windows, given.batch, device=str(device), dtype="float32", depth=depth, drop_last=True
    )
    losses, waits = [], Waits(device)
    for step, batch in enumerate(batches):
        if step >= warm:
            waits.mark()
        pixels, label = batch[:, :BANDS] / 2000 - 1, batch[:, BANDS:]
        loss = loss_of(model(pixels), label)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
        if step >= warm:
            waits.mark()
    seconds, idle = waits.result()
    half = len(losses) // 2
    first, last = (float(torch.stack(part).mean()) for part in (losses[:half], losses[half:]))
    return {
        "depth": depth,
        "windows_per_second": round((given.steps - warm) * given.batch / seconds, 1),
        "idle_percent": round(100 * idle, 2),
        "loss_first_half": round(first, 4),
        "loss_second_half": round(last, 4),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--scenes", type=int, default=32)
    parser.add_argument("--edge", type=int, default=2048, help="columns and rows of a scene")
    parser.add_argument("--size", type=int, default=128, help="columns and rows of a window")
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--depth", type=int, default=2, help="batches read ahead")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    device = torch.device(given.device)
    with tempfile.TemporaryDirectory() as folder:
        files = write_scenes(Path(folder), given.scenes, given.edge)
        runs = [train(files, given, device, depth) for depth in (0, given.depth)]
    for run in runs:
        print(
            f"depth {run['depth']}: {run['windows_per_second']:,} windows a second, {device.type} without work for "
            f"{run['idle_percent']} % of the time, loss {run['loss_first_half']} -> {run['loss_second_half']}"
        )
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu"
    print(json.dumps({"device": name, **{key: getattr(given, key) for key in ("size", "batch", "steps")}, "runs": runs}))


if __name__ == "__main__":
    main()
