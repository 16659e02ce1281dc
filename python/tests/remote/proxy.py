"""A proxy on loopback that stands before a server and does what a test says with each request."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Plan = Callable[[int, str, str], str | None]
"""Of a request's number, method and path: None to pass it on, "503" to refuse it, "lost" to pass it on and close the connection
without an answer, "cut" to close the connection at once, "silent" to wait, "slow" to pass it on after three seconds."""


class Proxy:
    def __init__(self, port: int) -> None:
        self.target = port
        self.plan: Plan = lambda number, method, path: None
        self.count, self.lock = 0, threading.Lock()
        self.ended = threading.Event()
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def stop(self) -> None:
        self.ended.set()
        self.server.shutdown()
        self.server.server_close()

    def _handler(proxy) -> type[BaseHTTPRequestHandler]:  # noqa: N805
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *words: Any) -> None:
                pass

            def handle_one_request(self) -> None:
                try:
                    super().handle_one_request()
                except ConnectionError:
                    self.close_connection = True

            def _pass(self) -> None:
                with proxy.lock:
                    proxy.count += 1
                    number = proxy.count
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                does = proxy.plan(number, self.command, self.path)
                if does == "503":
                    self.send_response(503)
                    self.send_header("Content-Length", "0")
                    self.end_headers()
                    return
                if does == "silent":
                    proxy.ended.wait(60)
                if does == "slow":
                    proxy.ended.wait(3)
                if does in ("cut", "silent"):
                    self.close_connection = True
                    return
                onward = http.client.HTTPConnection("127.0.0.1", proxy.target, timeout=60)
                onward.request(self.command, self.path, body, dict(self.headers))
                answer = onward.getresponse()
                content = answer.read()
                onward.close()
                if does == "lost":
                    self.close_connection = True
                    return
                self.send_response(answer.status)
                for name, value in answer.getheaders():
                    if name.lower() not in ("connection", "content-length", "date", "server", "transfer-encoding"):
                        self.send_header(name, value)
                length = answer.getheader("Content-Length") if self.command == "HEAD" else str(len(content))
                self.send_header("Content-Length", length or "0")
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(content)

            do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = _pass

        return Handler
