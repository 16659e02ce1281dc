// The server's answers. Every address is relative, so the page works behind proxies that add a prefix. A page that holds a raster
// itself has no server.

import { held } from "./embedded.js";

/** Whether the page holds the raster. */
export const embedded = held !== null;

/** A request that the server answered with an error, or did not answer. */
export class Failure extends Error {
  constructor(message, details = {}) {
    super(message);
    this.block = details.block;
    this.codec = details.codec;
    this.unanswered = Boolean(details.unanswered);
  }
}

async function request(address, options) {
  let response;
  try {
    response = embedded ? await held.answer(address) : await fetch(address, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Failure("The server does not answer. Is `strile view` still running?", { unanswered: true });
  }
  if (response.ok) return response;
  const text = await response.text();
  let told = {};
  try {
    told = JSON.parse(text);
  } catch {
    told = { error: text.trim() };
  }
  throw new Failure(told.error || `the server answered ${response.status}`, told);
}

/** Keeps the digits of integers that a double cannot hold. */
function exact(_key, value, context) {
  const digits = context?.source;
  const loses = typeof value === "number" && digits && Number.isInteger(value) && !Number.isSafeInteger(value);
  return loses && /^-?\d+$/.test(digits) ? digits : value;
}

export async function json(address, options) {
  const response = await request(address, options);
  return JSON.parse(await response.text(), exact);
}

function query(values) {
  const given = Object.entries(values).filter(([, value]) => value !== undefined);
  return given.map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join("&");
}

export const sources = () => json("api/sources");
export const info = (id) => json(`api/${id}/info`);
export const progress = (id) => json(`api/${id}/progress`);
export const value = (id, x, y, signal) => json(`api/${id}/value?${query({ x, y, level: 0 })}`, { signal });
export const statistics = (id, bands) => json(`api/${id}/statistics?${query({ bands: bands.join() })}`);
export const profile = (id, line, signal) => json(`api/${id}/profile?${query(line)}`, { signal });
export const structure = (id, level, part, signal) => json(`api/${id}/structure/${level}?${query(part)}`, { signal });
export const stats = () => json("api/stats");

/** The bytes of a tile and the headers that describe them. */
export async function tile(id, { level, column, row, bands }, signal) {
  const address = `api/${id}/tile/${level}/${column}/${row}?${query({ bands: bands.join() })}`;
  const response = await request(address, { signal });
  const buffer = await response.arrayBuffer();
  const number = (name) => Number(response.headers.get(name));
  return {
    buffer,
    width: number("X-Width"),
    height: number("X-Height"),
    bands: number("X-Bands"),
    dtype: response.headers.get("X-Dtype") ?? "",
    mask: response.headers.get("X-Mask") ?? "none",
    draft: number("X-Draft"),
  };
}

/** Tells the server that the page was closed. */
export function close() {
  navigator.sendBeacon("api/close");
}
