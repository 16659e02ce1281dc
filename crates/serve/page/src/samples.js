// Bytes of a tile → typed arrays that WebGL takes.
//
// Kinds: "u" and "i" are textures of 8 or 16 bit integers, "f" of float32, "c" of two float32 (complex numbers).
// Types with more bits than float32 keeps are stored as differences from a base value, one per band.

import { Failure } from "./api.js";

const COPIED = {
  bool: ["u", Uint8Array],
  uint8: ["u", Uint8Array],
  uint16: ["u", Uint16Array],
  int8: ["i", Int8Array],
  int16: ["i", Int16Array],
  float32: ["f", Float32Array],
  complex64: ["c", Float32Array],
};
const WIDE = {
  uint32: Uint32Array,
  int32: Int32Array,
  uint64: BigUint64Array,
  int64: BigInt64Array,
  float64: Float64Array,
};
const PAIRS = { complex128: Float64Array, complex_int16: Int16Array, complex_int32: Int32Array };
const ITEM = { float16: 2, complex128: 16, complex_int16: 4, complex_int32: 8, complex64: 8 };

export const isComplex = (dtype) => dtype.startsWith("complex");
export const isInteger = (dtype) => dtype === "bool" || /^u?int/.test(dtype);

/** Smallest and largest value of an integer type. */
export function rangeOf(dtype) {
  if (dtype === "bool") return [0, 1];
  const match = /^(u?)int(\d+)$/.exec(dtype);
  if (!match) return null;
  const bits = Number(match[2]);
  return match[1] ? [0, 2 ** bits - 1] : [-(2 ** (bits - 1)), 2 ** (bits - 1) - 1];
}

function itemSize(dtype) {
  return ITEM[dtype] ?? COPIED[dtype]?.[1].BYTES_PER_ELEMENT ?? WIDE[dtype]?.BYTES_PER_ELEMENT;
}

/** Splits a tile into bands. `bases` maps band numbers to base values and is filled here; `numbers` are the bands asked for. */
export function decode(tile, numbers, bases) {
  const size = itemSize(tile.dtype);
  if (!size) throw new Failure(`cannot draw samples of type ${tile.dtype || "(none)"}`);
  const count = tile.width * tile.height;
  const expected = count * size * tile.bands + (tile.mask === "bytes" ? count : 0);
  if (tile.buffer.byteLength !== expected || tile.bands !== numbers.length) {
    throw new Failure(`expected a tile of ${expected} bytes, got ${tile.buffer.byteLength}`);
  }
  const mask = tile.mask === "bytes" ? new Uint8Array(tile.buffer, expected - count, count) : null;
  const bands = new Map();
  numbers.forEach((number, index) => {
    bands.set(number, band(tile, index * count * size, count, mask, bases, number));
  });
  return { width: tile.width, height: tile.height, bands, mask, draft: tile.draft };
}

function band({ buffer, dtype }, offset, count, mask, bases, number) {
  const copied = COPIED[dtype];
  if (copied) {
    const [kind, type] = copied;
    return { kind, data: new type(buffer, offset, kind === "c" ? count * 2 : count) };
  }
  if (dtype === "float16") return { kind: "f", data: halves(new Uint16Array(buffer, offset, count)) };
  if (PAIRS[dtype]) return { kind: "c", data: Float32Array.from(new PAIRS[dtype](buffer, offset, count * 2)) };
  return { kind: "f", data: differences(new WIDE[dtype](buffer, offset, count), mask, bases, number) };
}

function differences(values, mask, bases, number) {
  if (!bases.has(number)) {
    const first = values.findIndex((value, index) => (!mask || mask[index]) && Number.isFinite(Number(value)));
    if (first >= 0) bases.set(number, values[first]);
  }
  const base = bases.get(number) ?? (typeof values[0] === "bigint" ? 0n : 0);
  const data = new Float32Array(values.length);
  for (let i = 0; i < data.length; i += 1) data[i] = Number(values[i] - base);
  return data;
}

function halves(bits) {
  const data = new Float32Array(bits.length);
  for (let i = 0; i < data.length; i += 1) {
    const sign = bits[i] & 0x8000 ? -1 : 1;
    const exponent = (bits[i] >> 10) & 31;
    const fraction = bits[i] & 1023;
    if (exponent === 31) data[i] = fraction ? NaN : sign * Infinity;
    else data[i] = sign * (exponent ? 2 ** (exponent - 15) * (1 + fraction / 1024) : 2 ** -14 * (fraction / 1024));
  }
  return data;
}

/** One real number of a complex one. */
export function part(name, real, imaginary) {
  if (name === "real") return real;
  if (name === "imaginary") return imaginary;
  return name === "phase" ? Math.atan2(imaginary, real) : Math.hypot(real, imaginary);
}

/** Value of a decoded band at an index, as a double. */
export function valueAt({ kind, data }, index, base, partName) {
  if (kind === "c") return part(partName, data[2 * index], data[2 * index + 1]);
  return data[index] + base;
}
