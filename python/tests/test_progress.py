"""`progress=`: what it may be, and that a bar ends full."""

from __future__ import annotations

import io
import sys

import pytest
from strile.progress import resolve


def test_nothing_and_a_callable_stay_what_they_are() -> None:
    assert resolve(None) is None and resolve(False) is None
    assert resolve(print) is print
    with pytest.raises(TypeError, match="True, False or a callable"):
        resolve("bar")  # type: ignore[arg-type]


def test_tqdm_shows_the_last_block(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("tqdm")
    tell = resolve(True, "write")
    assert tell is not None
    for done in (3, 8, 10):
        tell(done, 10)
    shown = capsys.readouterr().err
    assert "write" in shown and "10/10" in shown


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_without_tqdm_a_terminal_gets_a_line_and_a_log_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    tell = resolve(True, "read")
    assert tell is not None
    tell(1, 4)
    tell(4, 4)
    assert terminal.getvalue() == "\rread:  25% of 4 blocks\rread: 100% of 4 blocks\n"
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    assert resolve(True) is None
