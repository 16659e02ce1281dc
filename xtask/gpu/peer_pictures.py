"""What 16 CPU cores do with picture tiles: `peer_pictures.py FILE.tif CODEC THREADS REPEAT`; one JSON line.

JPEG 2000 by OpenJPEG and HTJ2K by OpenJPH through imagecodecs, tile by tile on a pool of threads, streams in memory
already, pixels left on the host: less than a whole read does.
"""
import json
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import imagecodecs
import numpy as np


def main() -> None:
    path, codec, threads, repeat = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    data = open(path, "rb").read()
    index = np.fromfile(f"{path}.idx", dtype="<u8").reshape(-1, 2).tolist()
    streams = [data[offset : offset + length] for offset, length in index]
    decode = imagecodecs.htj2k_decode if codec == "ht" else imagecodecs.jpeg2k_decode
    times = []
    with ThreadPoolExecutor(threads) as pool:
        for _ in range(repeat):
            start = time.perf_counter()
            total = sum(pool.map(lambda stream: decode(stream).nbytes, streams))
            times.append(time.perf_counter() - start)
    print(json.dumps({"by": "imagecodecs", "threads": threads, "seconds": min(times), "gb_s": total / min(times) / 1e9}))


if __name__ == "__main__":
    main()
