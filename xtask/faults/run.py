#!/usr/bin/env python3
"""The fault suite: `run.py --strile PROGRAM --shim LIBRARY [--standin FOLDER] [NAME…]`; `cargo xtask faults` calls it.

Each case prints `PASS faults/NAME`, `FAIL faults/NAME: reason` or `SKIP faults/NAME: reason`, then how long it took. With
NAMEs only the cases whose names contain one of them are run. The last line counts them.
"""
from __future__ import annotations

import argparse
import shutil
import sys
import time
from pathlib import Path

import device
import forks
import interrupts
import reading
import resources
import writing
from bench import Bench, Skip

CASES = {**reading.CASES, **writing.CASES, **resources.CASES, **device.CASES, **interrupts.CASES, **forks.CASES}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--strile", type=Path, required=True)
    parser.add_argument("--shim", type=Path, required=True)
    parser.add_argument("--standin", type=Path)
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    bench = Bench(args.strile.resolve(), args.shim.resolve(), args.standin)
    passed = failed = skipped = 0
    for name, case in CASES.items():
        if args.names and not any(part in name for part in args.names):
            continue
        began = time.monotonic()
        try:
            case(bench)
        except Skip as why:
            skipped += 1
            print(f"SKIP faults/{name}: {why}", flush=True)
            continue
        except Exception as why:  # one case that goes wrong hides nothing about the others
            failed += 1
            print(f"FAIL faults/{name}: {type(why).__name__}: {why}", flush=True)
        else:
            passed += 1
            print(f"PASS faults/{name}", flush=True)
        print(f"  {time.monotonic() - began:.1f} s", flush=True)
    shutil.rmtree(bench.folder, ignore_errors=True)
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
