// Numbers, sizes and coordinates as text.

/** A value as short as it stays exact enough to read: integers whole, others with seven digits. */
export function short(value) {
  if (value === null || value === undefined) return "nodata";
  if (typeof value !== "number") return String(value);
  if (Number.isInteger(value) && Math.abs(value) < 1e15) return String(value);
  if (!Number.isFinite(value)) return String(value);
  return String(Number(value.toPrecision(7)));
}

/** A limit in its field: as many digits as a range of that span needs. */
export function precise(value, span) {
  const digits = Math.ceil(Math.log10(Math.max(Math.abs(value / (span || 1)), 1))) + 6;
  return String(Number(value.toPrecision(Math.min(digits, 17))));
}

/** A value as the server gave it; a complex one as a pair. */
export function exact(value) {
  if (Array.isArray(value)) return `${exact(value[0])} ${String(value[1]).startsWith("-") ? "−" : "+"} ${String(value[1]).replace("-", "")}i`;
  return value === null || value === undefined ? "nodata" : String(value);
}

export function bytes(count) {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let unit = 0;
  let value = count;
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${unit ? value.toPrecision(3) : value} ${units[unit]}`;
}

export function degrees(value, positive, negative) {
  return `${Math.abs(value).toFixed(6)}° ${value < 0 ? negative : positive}`;
}

export function coordinate(value) {
  return Math.abs(value) >= 1000 ? value.toFixed(2) : String(Number(value.toPrecision(9)));
}
