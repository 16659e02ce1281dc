"""Servers of all tests here: each is started when the first test asks for it, and stopped after the last."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from servers import KINDS, S3, Missing, Store


def started(kind: str) -> Iterator[Store]:
    try:
        server: Store = KINDS[kind].start()
    except Missing as reason:
        pytest.skip(f"no {kind} server: {reason}")
    yield server
    server.stop()


@pytest.fixture(scope="session", params=sorted(KINDS))
def store(request: pytest.FixtureRequest) -> Iterator[Store]:
    yield from started(request.param)


@pytest.fixture(scope="session")
def s3() -> Iterator[S3]:
    for server in started("s3"):
        assert isinstance(server, S3)
        yield server
