// Textures of samples, masks, ramps and palettes.

/** Internal format, format and type of a band, by its kind and the bytes per element. */
function formatOf(gl, { kind, data }) {
  const bytes = data.BYTES_PER_ELEMENT;
  if (kind === "u") return bytes === 1 ? [gl.R8UI, gl.RED_INTEGER, gl.UNSIGNED_BYTE] : [gl.R16UI, gl.RED_INTEGER, gl.UNSIGNED_SHORT];
  if (kind === "i") return bytes === 1 ? [gl.R8I, gl.RED_INTEGER, gl.BYTE] : [gl.R16I, gl.RED_INTEGER, gl.SHORT];
  return kind === "c" ? [gl.RG32F, gl.RG, gl.FLOAT] : [gl.R32F, gl.RED, gl.FLOAT];
}

function make(gl, width, height, [internal, format, type], data, filter) {
  const texture = gl.createTexture();
  gl.bindTexture(gl.TEXTURE_2D, texture);
  gl.pixelStorei(gl.UNPACK_ALIGNMENT, 1);
  gl.texImage2D(gl.TEXTURE_2D, 0, internal, width, height, 0, format, type, data);
  for (const [name, value] of [
    [gl.TEXTURE_MIN_FILTER, filter],
    [gl.TEXTURE_MAG_FILTER, filter],
    [gl.TEXTURE_WRAP_S, gl.CLAMP_TO_EDGE],
    [gl.TEXTURE_WRAP_T, gl.CLAMP_TO_EDGE],
  ]) {
    gl.texParameteri(gl.TEXTURE_2D, name, value);
  }
  return texture;
}

export function bandTexture(gl, width, height, band) {
  return make(gl, width, height, formatOf(gl, band), band.data, gl.NEAREST);
}

export function maskTexture(gl, width, height, mask) {
  return make(gl, width, height, [gl.R8UI, gl.RED_INTEGER, gl.UNSIGNED_BYTE], mask, gl.NEAREST);
}

export function rampTexture(gl, colours) {
  return make(gl, colours.length / 4, 1, [gl.RGBA8, gl.RGBA, gl.UNSIGNED_BYTE], colours, gl.LINEAR);
}

/** Colours [r, g, b] or [r, g, b, a] of a palette, 256 in a row. */
export function paletteTexture(gl, palette) {
  const rows = Math.max(Math.ceil(palette.length / 256), 1);
  const colours = new Uint8Array(rows * 256 * 4);
  palette.forEach(([red, green, blue, alpha = 255], index) => colours.set([red, green, blue, alpha], 4 * index));
  return make(gl, 256, rows, [gl.RGBA8, gl.RGBA, gl.UNSIGNED_BYTE], colours, gl.NEAREST);
}
