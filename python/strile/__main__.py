"""The program `strile`: `python -m strile` and the script that pip installs. It runs the Rust command line in this process."""

from __future__ import annotations

import signal
import sys


def main() -> int:
    """Runs the command line with the arguments of the process and returns its exit code."""
    # Until the command line listens for Ctrl-C, end at once and without a traceback, as any program does.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    from ._core import command_line

    return command_line(["strile", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
