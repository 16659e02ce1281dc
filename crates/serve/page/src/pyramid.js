// Levels of a raster and their tiles of 256 × 256 pixels.

export const TILE = 256;

/** The coarsest level that has at least one pixel per screen pixel; `density` is full-size pixels per screen pixel. */
export function chooseLevel(levels, density) {
  let chosen = levels[0];
  for (const level of levels) {
    // A hair of slack, so that a zoom that is meant to be exact is.
    if (Math.max(level.scale_x, level.scale_y) <= density * 1.001 && level.scale_x >= chosen.scale_x) chosen = level;
  }
  return chosen;
}

export function coarsest(levels) {
  return levels.reduce((found, level) => (level.scale_x > found.scale_x ? level : found), levels[0]);
}

/** Tiles of a level that meet a box of full-size pixels: {column0, row0, column1, row1}, ends excluded. */
export function tilesIn(level, [x0, y0, x1, y1]) {
  const columns = Math.ceil(level.width / TILE);
  const rows = Math.ceil(level.height / TILE);
  const first = (at, scale) => Math.max(Math.floor(at / scale / TILE), 0);
  const end = (at, scale, count) => Math.min(Math.ceil(at / scale / TILE), count);
  return {
    column0: first(x0, level.scale_x),
    row0: first(y0, level.scale_y),
    column1: end(x1, level.scale_x, columns),
    row1: end(y1, level.scale_y, rows),
  };
}

/** The part of the full-size raster that a tile covers. */
export function tileBox(level, column, row) {
  return [
    column * TILE * level.scale_x,
    row * TILE * level.scale_y,
    Math.min((column + 1) * TILE, level.width) * level.scale_x,
    Math.min((row + 1) * TILE, level.height) * level.scale_y,
  ];
}
