// Affine maps [a, b, c, d, e, f]: x' = a·x + b·y + c, y' = d·x + e·y + f.

export const IDENTITY = [1, 0, 0, 0, 1, 0];

export function apply([a, b, c, d, e, f], x, y) {
  return [a * x + b * y + c, d * x + e * y + f];
}

/** The map that applies `inner` first, then `outer`. */
export function compose(outer, inner) {
  const [a, b, c, d, e, f] = outer;
  const [p, q, r, s, t, u] = inner;
  return [a * p + b * s, a * q + b * t, a * r + b * u + c, d * p + e * s, d * q + e * t, d * r + e * u + f];
}

export function determinant([a, b, , d, e]) {
  return a * e - b * d;
}

/** The inverse map; `null` where there is none. */
export function invert(map) {
  const [a, b, c, d, e, f] = map;
  const det = determinant(map);
  if (!Number.isFinite(det) || det === 0) return null;
  return [e / det, -b / det, (b * f - c * e) / det, -d / det, a / det, (c * d - a * f) / det];
}

export function scaling(x, y = x) {
  return [x, 0, 0, 0, y, 0];
}

export function translation(x, y) {
  return [1, 0, x, 0, 1, y];
}

/** The bounding box [x0, y0, x1, y1] of a box after the map. */
export function mapBox(map, [x0, y0, x1, y1]) {
  const corners = [[x0, y0], [x1, y0], [x0, y1], [x1, y1]].map(([x, y]) => apply(map, x, y));
  const xs = corners.map(([x]) => x);
  const ys = corners.map(([, y]) => y);
  return [Math.min(...xs), Math.min(...ys), Math.max(...xs), Math.max(...ys)];
}
