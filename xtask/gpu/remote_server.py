"""`remote_server.py FOLDER PROCESSES`: serves a folder by ranges on a free port of loopback; prints the port; ends with its standard input.

Processes share the port (SO_REUSEPORT), files go to the socket by sendfile. `/counts` tells requests and bytes of all of them.
"""
import json
import os
import re
import signal
import socket
import sys
import threading
from http.server import BaseHTTPRequestHandler
from multiprocessing import RawArray
from pathlib import Path

RANGE = re.compile(r"bytes=(\d+)-(\d*)$")


def serve(listening: socket.socket, folder: Path, counts, mine: int) -> None:
    files = {f"/{path.name}": (os.open(path, os.O_RDONLY), path.stat().st_size) for path in folder.glob("*.tif")}
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def log_message(self, *_) -> None:
            pass

        def do_HEAD(self) -> None:
            self.answer(body=False)

        def do_GET(self) -> None:
            if self.path == "/counts":
                text = json.dumps({"requests": sum(counts[::2]), "bytes": sum(counts[1::2])}).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)
                return
            self.answer(body=True)

        def answer(self, body: bool) -> None:
            found = files.get(self.path)
            if found is None:
                self.send_response(404)
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            descriptor, size = found
            first, end, asked = 0, size, RANGE.match(self.headers.get("Range", ""))
            if asked:
                first = int(asked[1])
                end = min(int(asked[2]) + 1, size) if asked[2] else size
            self.send_response(206 if asked else 200)
            if asked:
                self.send_header("Content-Range", f"bytes {first}-{end - 1}/{size}")
            self.send_header("Accept-Ranges", "bytes")
            self.send_header("ETag", f'"{self.path[1:]}-{size}"')
            self.send_header("Content-Length", str(end - first))
            self.end_headers()
            self.wfile.flush()
            with lock:
                counts[2 * mine] += 1
                counts[2 * mine + 1] += end - first if body else 0
            while body and first < end:
                sent = os.sendfile(self.connection.fileno(), descriptor, first, end - first)
                if sent == 0:
                    break
                first += sent

    def talk(connection: socket.socket, address) -> None:
        try:
            Handler(connection, address, None)
        except OSError:
            pass
        finally:
            connection.close()

    while True:
        connection, address = listening.accept()
        threading.Thread(target=talk, args=(connection, address), daemon=True).start()


def main() -> None:
    folder, processes = Path(sys.argv[1]), int(sys.argv[2])
    counts = RawArray("q", 2 * processes)
    sockets: list[socket.socket] = []
    for _ in range(processes):
        made = socket.socket()
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        made.bind(("127.0.0.1", sockets[0].getsockname()[1] if sockets else 0))
        made.listen(512)
        sockets.append(made)
    port = sockets[0].getsockname()[1]
    children = []
    for mine, listening in enumerate(sockets):
        child = os.fork()
        if child == 0:
            serve(listening, folder, counts, mine)
        children.append(child)
    print(port, flush=True)
    sys.stdin.read()
    for child in children:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


if __name__ == "__main__":
    main()
