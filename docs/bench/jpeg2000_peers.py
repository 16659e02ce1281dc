#!/usr/bin/env python3
"""JPEG 2000 and HTJ2K tiles decoded on the CPU: strile beside OpenJPEG and OpenJPH (imagecodecs).

Needs Python with numpy and imagecodecs (`cargo xtask bench` makes such an environment) and the example of strile-cpu:

  cargo build --release -p strile-cpu --example jpeg2000
  jpeg2000_peers.py DATA [--example target/release/examples/jpeg2000] [--threads 1,2] [--output docs/bench/log/jpeg2000]

DATA gets a folder for each kind of tile (made when missing): pictures of 512 x 512 pixels written by the peer, in one
file with an index, as the example reads them. What is timed, for both programs: decoding streams in memory to arrays,
one tile a thread, threads taking the next tile until none is left. Rounds alternate the programs; the figure is the
best of all rounds. Processor time of one thread is given besides: on a machine with other work it says more than the
clock. What is checked first: on lossless tiles strile gives the samples that were encoded. Lossy ones may differ from
the peer's by one, where a float is rounded another way. Kinds that begin with `ht` are HTJ2K; the example counts processor
time in hundredths of a second, so they need many tiles (`--kinds ht_u16_lossless --tiles 256`).
"""
import argparse
import json
import os
import platform
import re
import resource
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

SIDE = 512
KINDS = {
    "u16_lossless": dict(bands=1, dtype="u2", reversible=True, level=0),
    "u16_lossy": dict(bands=1, dtype="u2", reversible=False, level=70),
    "rgb_lossless": dict(bands=3, dtype="u1", reversible=True, level=0),
    "rgb_lossy": dict(bands=3, dtype="u1", reversible=False, level=40),
    "ht_u16_lossless": dict(bands=1, dtype="u2", reversible=True),
    "ht_u16_lossy": dict(bands=1, dtype="u2", reversible=False),
    "ht_rgb_lossless": dict(bands=3, dtype="u1", reversible=True),
    "ht_rgb_lossy": dict(bands=3, dtype="u1", reversible=False),
}


def arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("data", help="folder of the tiles; made when missing")
    p.add_argument("--example", default="target/release/examples/jpeg2000", help="the example of strile-cpu")
    p.add_argument("--tiles", type=int, default=32, help="tiles of a kind (default 32)")
    p.add_argument("--threads", default="1,2", help="thread counts (default 1,2)")
    p.add_argument("--rounds", type=int, default=3, help="rounds over the programs (default 3)")
    p.add_argument("--kinds", default=",".join(KINDS), help="of " + ", ".join(KINDS))
    p.add_argument("--output", help="write PATH.json")
    return p.parse_args()


def fractal(seed, beta):
    import numpy as np
    k = np.hypot(np.fft.fftfreq(SIDE)[:, None], np.fft.rfftfreq(SIDE)[None])
    k[0, 0] = 1
    noise = np.random.default_rng(seed).standard_normal((SIDE, SIDE))
    a = np.fft.irfft2(np.fft.rfft2(noise) * k ** -beta, s=(SIDE, SIDE))
    return a / a.std()


def tile(kind, seed):
    """Reflectance with sensor noise, or a picture in three colours."""
    import numpy as np
    if KINDS[kind]["bands"] == 1:
        noise = np.random.default_rng(seed).standard_normal((SIDE, SIDE))
        return np.clip(fractal(seed, 1.1) * 600 + 1800 + noise * 12, 0, 1e4).astype("u2")
    base = fractal(seed, 1.3) * 0.8
    bands = [np.clip((base + fractal(1000 * c + seed, 0.8) * 0.3) * 45 + 120, 0, 255) for c in (1, 2, 3)]
    return np.stack(bands, -1).astype("u1")


def make(folder, kind, count):
    import imagecodecs
    import numpy as np
    os.makedirs(folder, exist_ok=True)
    if os.path.exists(os.path.join(folder, "j2k.idx")):
        return
    about = KINDS[kind]
    tiles = [tile(kind, seed) for seed in range(count)]
    if kind.startswith("ht"):
        encoded = [imagecodecs.htj2k_encode(a, reversible=about["reversible"]) for a in tiles]
    else:
        encoded = [imagecodecs.jpeg2k_encode(a, level=about["level"], codecformat="j2k", reversible=about["reversible"])
                   for a in tiles]
    offsets = np.cumsum([0] + [len(e) for e in encoded[:-1]])
    with open(os.path.join(folder, "j2k.bin"), "wb") as out:
        out.write(b"".join(encoded))
    if about["reversible"]:
        np.concatenate([a.ravel() for a in tiles]).tofile(os.path.join(folder, "j2k.ref"))
    np.array([offsets, [len(e) for e in encoded]], "u8").T.copy().tofile(os.path.join(folder, "j2k.idx"))


def streams(folder):
    import numpy as np
    index = np.fromfile(os.path.join(folder, "j2k.idx"), "u8").reshape(-1, 2)
    with open(os.path.join(folder, "j2k.bin"), "rb") as source:
        whole = source.read()
    return [whole[o:o + n] for o, n in index.tolist()]


def decoder(kind):
    """The peer's decoder."""
    import imagecodecs
    if kind.startswith("ht"):
        return imagecodecs.htj2k_decode
    return lambda stream: imagecodecs.jpeg2k_decode(stream, numthreads=1)


def peer(decode, encoded, threads):
    """(seconds, processor seconds) of one round."""
    before, start = resource.getrusage(resource.RUSAGE_SELF).ru_utime, time.perf_counter()
    with ThreadPoolExecutor(threads) as pool:
        for _ in pool.map(decode, encoded):
            pass
    return time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF).ru_utime - before


def strile(example, folder, threads):
    printed = subprocess.run([example, folder, str(threads), "--only"], capture_output=True, text=True)
    if printed.returncode:
        sys.exit(f"error: {example}: {printed.stderr.strip()}")
    found = re.search(r"([0-9.]+) ms, ([0-9.]+) ms of processor time", printed.stdout)
    return float(found[1]) / 1e3, float(found[2]) / 1e3


def main():
    o = arguments()
    try:
        import imagecodecs
        import numpy  # noqa: F401
    except ImportError as e:
        sys.exit(f"error: {e}; `cargo xtask bench` makes an environment with numpy and imagecodecs")
    rows = []
    for kind in o.kinds.split(","):
        folder = os.path.join(o.data, kind)
        make(folder, kind, o.tiles)
        encoded = streams(folder)
        name, decode = "OpenJPH" if kind.startswith("ht") else "OpenJPEG", decoder(kind)
        raw = decode(encoded[0]).nbytes * len(encoded)
        for threads in map(int, o.threads.split(",")):
            best = {"strile": (1e9, 1e9), name: (1e9, 1e9)}
            for _ in range(o.rounds):
                best["strile"] = tuple(map(min, best["strile"], strile(o.example, folder, threads)))
                best[name] = tuple(map(min, best[name], peer(decode, encoded, threads)))
            row = dict(kind=kind, threads=threads, ratio=raw / sum(map(len, encoded)))
            for program, (wall, cpu) in best.items():
                row[program] = dict(mb_s=raw / wall / 1e6, cpu_mb_s=raw / cpu / 1e6)
            rows.append(row)
            s, j = row["strile"], row[name]
            print(f"{kind:14} {row['ratio']:5.2f}:1 {threads:2} threads: strile {s['mb_s']:7.1f} MB/s, {name} "
                  f"{j['mb_s']:7.1f}, x{s['mb_s'] / j['mb_s']:.2f}; a second of a core: {s['cpu_mb_s']:.1f}, "
                  f"{j['cpu_mb_s']:.1f}, x{s['cpu_mb_s'] / j['cpu_mb_s']:.2f}", flush=True)
    about = dict(openjpeg=imagecodecs.jpeg2k_version(), openjph=imagecodecs.htj2k_version(),
                 machine=platform.processor() or platform.machine(), cores=os.cpu_count())
    print(json.dumps(about))
    if o.output:
        with open(o.output + ".json", "w") as out:
            json.dump(dict(about=about, rows=rows), out, indent=1)


if __name__ == "__main__":
    main()
