"""Clusters for the tests: real ones, of processes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

distributed = pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    """A client of two worker processes; active in every test that asks for it."""
    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, memory_limit=0
    )
    with cluster, distributed.Client(cluster) as client:
        yield client
