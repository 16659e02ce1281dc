// Statistics of samples that are here already: of ratios and complex numbers, and until the server's have come.

const BINS = 128;

/** Figures of a list of finite numbers, in the server's form; `null` of an empty one. */
export function figures(values) {
  if (!values.length) return null;
  const sorted = Float64Array.from(values).sort();
  const count = sorted.length;
  const mean = sorted.reduce((sum, value) => sum + value, 0) / count;
  const variance = sorted.reduce((sum, value) => sum + (value - mean) ** 2, 0) / count;
  const at = (percent) => sorted[Math.min(Math.floor((percent / 100) * count), count - 1)];
  const [min, max] = [sorted[0], sorted[count - 1]];
  const counts = new Array(BINS).fill(0);
  for (const value of sorted) {
    counts[max > min ? Math.min(Math.floor(((value - min) / (max - min)) * BINS), BINS - 1) : 0] += 1;
  }
  return { min, max, mean, std: Math.sqrt(variance), percentiles: { 2: at(2), 98: at(98) }, histogram: { counts, from: min, to: max } };
}

/** Values of a formula over the bands of a decoded tile, without masked and non-finite ones. */
export function gather(samples, numbers, read, into) {
  const bands = numbers.map((number) => [samples.bands.get(number), number]);
  if (bands.some(([band]) => !band)) return;
  const count = samples.width * samples.height;
  for (let i = 0; i < count; i += 1) {
    if (samples.mask && !samples.mask[i]) continue;
    const value = read(bands, i);
    if (Number.isFinite(value)) into.push(value);
  }
}
