// Draws tiles with WebGL 2.

import { compose, scaling, translation } from "../affine.js";
import { table } from "../ramps.js";
import { FORMULA, fragment, MODE, PART, VERTEX } from "./shaders.js";
import { paletteTexture, rampTexture } from "./textures.js";

function shader(gl, type, source) {
  const made = gl.createShader(type);
  gl.shaderSource(made, source);
  gl.compileShader(made);
  if (!gl.getShaderParameter(made, gl.COMPILE_STATUS) && !gl.isContextLost()) {
    throw new Error(`a shader does not compile: ${gl.getShaderInfoLog(made)}`);
  }
  return made;
}

const UNITS = ["u_a", "u_b", "u_c", "u_mask", "u_ramp", "u_palette"];

class Program {
  constructor(gl, kind) {
    this.program = gl.createProgram();
    gl.attachShader(this.program, shader(gl, gl.VERTEX_SHADER, VERTEX));
    gl.attachShader(this.program, shader(gl, gl.FRAGMENT_SHADER, fragment(kind)));
    gl.linkProgram(this.program);
    if (!gl.getProgramParameter(this.program, gl.LINK_STATUS) && !gl.isContextLost()) {
      throw new Error(`shaders do not link: ${gl.getProgramInfoLog(this.program)}`);
    }
    this.at = {};
    const count = gl.getProgramParameter(this.program, gl.ACTIVE_UNIFORMS) ?? 0;
    for (let i = 0; i < count; i += 1) {
      const { name } = gl.getActiveUniform(this.program, i);
      this.at[name] = gl.getUniformLocation(this.program, name);
    }
    gl.useProgram(this.program);
    UNITS.forEach((name, unit) => gl.uniform1i(this.at[name], unit));
  }
}

function hex(colour) {
  return [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16) / 255);
}

export class Painter {
  #programs = {};
  #ramps = new Map();
  #palettes = new WeakMap();

  constructor(canvas) {
    const options = { alpha: true, antialias: false, depth: false, powerPreference: "low-power" };
    this.gl = canvas.getContext("webgl2", options);
  }

  /** Forgets what a lost context held. */
  reset() {
    this.#programs = {};
    this.#ramps.clear();
    this.#palettes = new WeakMap();
  }

  /** Clears the picture; what lies below shows where nothing is drawn. */
  begin(width, height) {
    const { gl } = this;
    gl.viewport(0, 0, width, height);
    gl.disable(gl.SCISSOR_TEST);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    this.height = height;
    this.toClip = compose([1, 0, -1, 0, -1, 1], scaling(2 / width, 2 / height));
  }

  /** Limits drawing to a rectangle of device pixels. */
  clip({ x, y, w, h }) {
    this.gl.enable(this.gl.SCISSOR_TEST);
    this.gl.scissor(x, this.height - y - h, w, h);
  }

  /** Draws tiles of one layer: [{entry, box}] with boxes in full-size pixels; `map` takes these to device pixels. */
  draw(layer, tiles, map) {
    const look = this.#look(layer);
    const kinds = new Map();
    for (const tile of tiles) {
      const kind = { c: "f" }[tile.entry.kind] ?? tile.entry.kind;
      if (!kinds.has(kind)) kinds.set(kind, []);
      kinds.get(kind).push(tile);
    }
    for (const [kind, some] of kinds) {
      const program = (this.#programs[kind] ??= new Program(this.gl, kind));
      this.gl.useProgram(program.program);
      this.#setLook(program.at, look);
      for (const tile of some) this.#tile(program.at, layer, look, tile, map);
    }
  }

  #look(layer) {
    const { style, info } = layer;
    const { azimuth, altitude } = style.shade;
    const radians = (degrees) => (degrees * Math.PI) / 180;
    const bases = layer.channels().map((band) => Number(layer.bases.get(band) ?? 0));
    const relative = style.mode === "ratio" ? [0, 0, 0] : bases;
    const limits = layer.limits();
    const low = [0, 1, 2].map((i) => (limits[i] ?? limits[0])[0] - (relative[i] ?? relative[0]));
    const span = [0, 1, 2].map((i) => (limits[i] ?? limits[0])[1] - (limits[i] ?? limits[0])[0]);
    return {
      mode: MODE[style.mode],
      formula: FORMULA[style.formula],
      part: layer.complex ? PART[style.part] : 0,
      bases: [0, 1, 2].map((i) => bases[i] ?? 0),
      low,
      gain: span.map((s) => 1 / (s || 1e-30)),
      gamma: style.gamma,
      nodata: style.nodata.transparent ? [0, 0, 0, 0] : [...hex(style.nodata.colour), 1],
      ramp: this.#ramp(style.ramp, style.reversed),
      palette: info.palette?.length ? this.#palette(info.palette) : null,
      colours: info.palette?.length ?? 0,
      shaded: style.shade.on && (style.mode === "grey"),
      light: [
        Math.sin(radians(azimuth)) * Math.cos(radians(altitude)),
        Math.cos(radians(azimuth)) * Math.cos(radians(altitude)),
        Math.sin(radians(altitude)),
      ],
      cell: layer.cell,
      exaggeration: style.shade.exaggeration,
      channels: layer.channels(),
    };
  }

  #setLook(at, look) {
    const { gl } = this;
    gl.uniform1i(at.u_mode, look.mode);
    gl.uniform1i(at.u_formula, look.formula);
    gl.uniform1i(at.u_part, look.part);
    gl.uniform3fv(at.u_base, look.bases);
    gl.uniform3fv(at.u_low, look.low);
    gl.uniform3fv(at.u_gain, look.gain);
    gl.uniform1f(at.u_gamma, look.gamma);
    gl.uniform4fv(at.u_nodata, look.nodata);
    gl.uniform1i(at.u_shaded, look.shaded ? 1 : 0);
    gl.uniform3fv(at.u_light, look.light);
    gl.uniform1i(at.u_colours, look.colours);
    this.#bind(4, look.ramp);
    if (look.palette) this.#bind(5, look.palette);
  }

  #tile(at, layer, look, { entry, box }, map) {
    const { gl } = this;
    const [x, y] = [(box[2] - box[0]) / entry.width, (box[3] - box[1]) / entry.height];
    const place = compose(map, compose(translation(box[0], box[1]), scaling(x, y)));
    const [a, b, c, d, e, f] = compose(this.toClip, place);
    gl.uniformMatrix3fv(at.u_place, false, [a, d, 0, b, e, 0, c, f, 1]);
    gl.uniform2f(at.u_size, entry.width, entry.height);
    const step = [1 / Math.hypot(place[0], place[3]), 1 / Math.hypot(place[1], place[4])];
    gl.uniform2fv(at.u_step, step);
    gl.uniform1i(at.u_samples, Math.max(...step) > 1.01 && look.mode !== MODE.palette ? 4 : 1);
    gl.uniform2f(at.u_slope, look.exaggeration / (look.cell[0] * x), look.exaggeration / (look.cell[1] * y));
    gl.uniform1i(at.u_masked, entry.mask ? 1 : 0);
    [0, 1, 2].forEach((i) => this.#bind(i, entry.textures.get(look.channels[i] ?? look.channels[0])));
    if (entry.mask) this.#bind(3, entry.mask);
    gl.drawArrays(gl.TRIANGLE_STRIP, 0, 4);
  }

  #bind(unit, texture) {
    this.gl.activeTexture(this.gl.TEXTURE0 + unit);
    this.gl.bindTexture(this.gl.TEXTURE_2D, texture);
  }

  #ramp(name, reversed) {
    const key = `${name} ${reversed}`;
    if (!this.#ramps.has(key)) this.#ramps.set(key, rampTexture(this.gl, table(name, reversed)));
    return this.#ramps.get(key);
  }

  #palette(palette) {
    if (!this.#palettes.has(palette)) this.#palettes.set(palette, paletteTexture(this.gl, palette));
    return this.#palettes.get(palette);
  }
}
