// Servers around `strile view`: files over HTTP, and a proxy that adds a prefix as Jupyter's does.

import { createReadStream, statSync } from "node:fs";
import { createServer, request } from "node:http";
import { basename, join } from "node:path";

async function listening(server) {
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const close = () => new Promise((resolve) => {
    server.closeAllConnections();
    server.close(resolve);
  });
  return { address: `http://127.0.0.1:${server.address().port}`, close };
}

/** Serves the files of a folder by ranges; `asked` counts requests. */
export async function files(folder) {
  let asked = 0;
  const server = createServer((incoming, response) => {
    asked += 1;
    const path = join(folder, basename(incoming.url));
    const size = statSync(path, { throwIfNoEntry: false })?.size;
    if (size === undefined) return response.writeHead(404).end();
    const [, first, last] = /^bytes=(\d+)-(\d*)$/.exec(incoming.headers.range ?? "") ?? [];
    const headers = { "Accept-Ranges": "bytes", ETag: `"${size}"` };
    const [start, end] = [Number(first ?? 0), Math.min(Number(last || size - 1), size - 1)];
    const part = first === undefined ? {} : { "Content-Range": `bytes ${start}-${end}/${size}` };
    response.writeHead(first === undefined ? 200 : 206, { ...headers, ...part, "Content-Length": end - start + 1 });
    return incoming.method === "HEAD" ? response.end() : createReadStream(path, { start, end }).pipe(response);
  });
  return { ...(await listening(server)), asked: () => asked };
}

/** Passes what is below a prefix on to another address, without the prefix. */
export async function proxy(target, prefix) {
  const { hostname, port } = new URL(target);
  const server = createServer((incoming, response) => {
    if (!incoming.url.startsWith(prefix)) return response.writeHead(404).end("outside of the prefix");
    const options = { hostname, port, method: incoming.method, path: `/${incoming.url.slice(prefix.length)}`, headers: { ...incoming.headers, host: `${hostname}:${port}` } };
    const passed = request(options, (answer) => {
      response.writeHead(answer.statusCode, answer.headers);
      answer.pipe(response);
    });
    passed.on("error", () => response.writeHead(502).end());
    return incoming.pipe(passed);
  });
  return listening(server);
}
