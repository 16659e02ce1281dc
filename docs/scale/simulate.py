"""A mosaic of the world at 30 m, read, processed and written as one COG by a cluster: a simulation of the tasks that
`to_geotiff` makes. Prints the table of docs/scale.md.

    python docs/scale/simulate.py

Every task slot takes the next part when it is free; the scheduler hands tasks out one after the other; links and
storage are shared by those that use them. Rates come from docs/bench and from `measured.json`, or are assumed and
named so. The same numbers come out each time.
"""

from __future__ import annotations

import heapq
import json
import random
from dataclasses import dataclass, replace
from pathlib import Path

MEASURED = json.loads((Path(__file__).parent / "measured.json").read_text())

GB, TB = 1e9, 1e12
WIDTH, HEIGHT, SAMPLE, TILE = 1_296_000, 648_000, 2, 512
"""One second of arc, one band of uint16."""

RATIO = 1.373
"""Pixels by bytes of a file: uint16 reflectance by Deflate and ZSTD, docs/bench/log/writing.md."""

STEP = 4.0
"""GB/s of pixels that the caller's own work takes on a core: an expression of numpy over a chunk. Assumed."""

TASKS_OF_A_PART = 2
"""Read and processed (one task, fused); encoded."""


@dataclass(frozen=True)
class Cluster:
    """`decode` and `encode` are GB/s of pixels of one task slot, overviews included."""

    name: str
    decode: float
    encode: float
    step: float
    workers: int = 100
    part: int = 8192
    halo: int = 0
    link: float = 3.0  # GB/s of a worker, each way: 25 Gbit/s. Assumed.
    storage: float = 100.0  # GB/s that all workers can read or write together. Assumed.
    lost: int = 0  # Workers that die when half of the parts are done.
    files: int = 1  # COGs that the mosaic is cut into, each with its own finishing task.


# One slot of eight threads a worker. Threads: docs/bench/log/cpu.md (u16, 512) and write.md (u16, COG; 33.6 MB in 0.32 and
# 0.79 s). H200: docs/bench/log/python.md (537 MB in 11.8 and 11.4 ms) and writing.md.
THREADS = 8
CPU = Cluster("CPU, deflate", 0.31 * THREADS, 0.105 * THREADS, STEP * THREADS)
CASES = [
    CPU,
    replace(CPU, name="CPU, zstd", decode=0.77 * THREADS, encode=0.0425 * THREADS),
    replace(CPU, name="CPU, deflate, cubic overviews", halo=3),
    replace(CPU, name="CPU, deflate, parts of 2048²", part=2048),
    replace(CPU, name="CPU, deflate, storage 10 GB/s", storage=10.0),
    replace(CPU, name="CPU, deflate, 5 workers lost", lost=5),
    replace(CPU, name="CPU, deflate, 1000 workers", workers=1000),
    Cluster("GPU, deflate", 45.0, 4.1, 500.0),
    replace(CPU, name="CPU, deflate, as 64 COGs", files=64),
    Cluster("GPU, deflate, as 64 COGs", 45.0, 4.1, 500.0, files=64),
]


@dataclass(frozen=True)
class Tier:
    parts: int
    blocks: int
    halvings: int


def tiers(part: int) -> list[Tier]:
    """As `Parts` cuts them: a part has whole blocks of as many levels as it can."""
    width, height, found = WIDTH, HEIGHT, []
    while True:
        whole = width <= part and height <= part
        halvings, blocks = 0, 0
        across, down = -(-width // part), -(-height // part)
        while True:
            blocks += -(-width // TILE) * -(-height // TILE)
            last = width <= TILE and height <= TILE
            width, height = -(-width // 2), -(-height // 2)
            halvings += 1
            if last or (not whole and TILE << halvings > part):
                break
        found.append(Tier(across * down, blocks, halvings))
        if last:
            return found


@dataclass(frozen=True)
class Result:
    parts: int
    blocks: int
    tasks: int
    read: float
    written: float
    copied: float
    worker_memory: float
    scheduler_memory: float
    scheduler: float
    encoding: float
    finishing: float
    bound: str


def simulate(cluster: Cluster) -> Result:
    levels = tiers(cluster.part)
    parts, blocks = sum(tier.parts for tier in levels), sum(tier.blocks for tier in levels)
    pixels = WIDTH * HEIGHT * SAMPLE
    # Of the full image the read, of all levels the blocks: 4/3 of the pixels.
    of_a_part = pixels / levels[0].parts
    edges = 8 if cluster.halo else 0
    margin = cluster.halo * (2 ** levels[0].halvings - 1)
    by_neighbours = 4 * margin * cluster.part * SAMPLE
    tasks = parts * (TASKS_OF_A_PART + edges) + cluster.files
    share = min(cluster.link, cluster.storage / cluster.workers)
    stages = {
        "reading": of_a_part / RATIO / (share * GB),
        "decoding": of_a_part / (cluster.decode * GB),
        "the caller's work": of_a_part / (cluster.step * GB),
        "neighbours' edges": by_neighbours / (cluster.link * GB),
        "encoding": of_a_part / (cluster.encode * GB),
        "writing part files": of_a_part * 4 / 3 / RATIO / (share * GB),
    }
    cost = MEASURED["seconds_of_scheduler_and_client_for_a_task"] * (TASKS_OF_A_PART + edges)
    seconds = sum(stages.values())
    chance = random.Random(1)
    free = [0.0] * cluster.workers
    heapq.heapify(free)
    told = 0.0
    todo = parts
    # A lost worker takes along what its parts were to hand on: those of two parts of the next tier, for which others
    # wait, are encoded again. Blocks are in files and stay.
    waiting = 2 * min(levels[0].parts, (cluster.part // (cluster.part >> levels[0].halvings)) ** 2)
    todo += round(cluster.lost * waiting / cluster.workers)
    for number in range(todo):
        if cluster.lost and number == parts // 2:
            for _ in range(cluster.lost):
                heapq.heappop(free)
        told += cost
        begin = max(heapq.heappop(free), told)
        heapq.heappush(free, begin + seconds * chance.uniform(0.9, 1.1))
    encoding = max(free)
    size = pixels * 4 / 3 / RATIO
    # The finishing task reads every block and writes it again; several run side by side.
    finisher = min(MEASURED["finisher_gb_per_second_of_processor"], cluster.link)
    together = min(finisher * min(cluster.files, cluster.workers), cluster.storage / 2)
    finishing = size / (together * GB)
    slowest = max(stages, key=lambda stage: stages[stage])
    bound = "the scheduler" if cost * parts > encoding * 0.9 else slowest
    if finishing > encoding:
        bound = "the finishing task" if cluster.files == 1 else "the finishing tasks"
    index = blocks / cluster.files * MEASURED["bytes_of_index_for_a_block"]
    # Two parts: one being encoded and one that is read ahead; blocks and buffers beside them. Or the index.
    worker_memory = max(2 * of_a_part + by_neighbours + of_a_part / 3 + 0.2 * GB, index)
    return Result(
        parts=parts,
        blocks=blocks,
        tasks=tasks,
        read=pixels / RATIO,
        written=size,
        copied=size,
        worker_memory=worker_memory,
        scheduler_memory=tasks * MEASURED["bytes_of_scheduler_and_client_for_a_task"],
        scheduler=tasks * MEASURED["seconds_of_scheduler_and_client_for_a_task"],
        encoding=encoding,
        finishing=finishing,
        bound=bound,
    )


def table() -> str:
    head = (
        "| cluster of 100 | parts | tasks | scheduler, MB / min | a worker, GB | encode, min | finish, min "
        "| bound by |"
    )
    lines = [head, "|---|---|---|---|---|---|---|---|"]
    for cluster in CASES:
        found = simulate(cluster)
        lines.append(
            f"| {cluster.name} | {found.parts:,} | {found.tasks:,} | {found.scheduler_memory / 1e6:,.0f} / "
            f"{found.scheduler / 60:.1f} | {found.worker_memory / GB:.2f} | {found.encoding / 60:.1f} | "
            f"{found.finishing / 60:.1f} | {found.bound} |"
        )
    return "\n".join(lines)


def facts() -> str:
    found = simulate(CPU)
    return (
        f"{WIDTH * HEIGHT / 1e12:.2f} · 10¹² pixels, {WIDTH * HEIGHT * SAMPLE / TB:.2f} TB; {found.blocks:,} blocks; "
        f"{found.read / TB:.2f} TB read, {found.written / TB:.2f} TB of blocks written to part files and "
        f"{found.copied / TB:.2f} TB copied into the file; tiers of "
        + ", ".join(f"{tier.parts:,}" for tier in tiers(CPU.part))
        + " parts"
    )


if __name__ == "__main__":
    print(facts(), table(), sep="\n\n")
