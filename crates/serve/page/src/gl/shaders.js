// The shaders: one per kind of texture, since integers and floats have samplers of their own.

export const VERTEX = `#version 300 es
precision highp float;
uniform mat3 u_place;   // texels of the tile → clip space
uniform vec2 u_size;
out vec2 v_at;
void main() {
  vec2 corner = vec2(gl_VertexID & 1, gl_VertexID >> 1);
  v_at = corner * u_size;
  gl_Position = vec4((u_place * vec3(v_at, 1.0)).xy, 0.0, 1.0);
}`;

export const MODE = { grey: 0, rgb: 1, ratio: 2, palette: 3 };
export const FORMULA = { normalized: 0, quotient: 1, difference: 2 };
export const PART = { none: 0, real: 0, magnitude: 1, phase: 2, imaginary: 3 };

/** Sampler types of the kinds of textures. */
export const SAMPLERS = { u: "usampler2D", i: "isampler2D", f: "sampler2D" };

export const fragment = (kind) => `#version 300 es
precision highp float;
precision highp int;
precision highp ${SAMPLERS[kind]};
uniform ${SAMPLERS[kind]} u_a, u_b, u_c;
uniform highp usampler2D u_mask;
uniform sampler2D u_ramp;
uniform sampler2D u_palette;
uniform vec2 u_size;
uniform int u_mode, u_formula, u_part, u_samples;
uniform bool u_masked, u_shaded;
uniform vec3 u_base, u_low, u_gain;
uniform float u_gamma;
uniform vec4 u_nodata;
uniform vec2 u_step;     // one screen pixel in texels
uniform vec2 u_slope;    // exaggeration over the size of a cell, signed: east and north
uniform vec3 u_light;
uniform int u_colours;
in vec2 v_at;
out vec4 o_colour;

float part(vec2 pair) {
  if (u_part == 1) return length(pair);
  if (u_part == 2) return atan(pair.y, pair.x);
  return u_part == 3 ? pair.y : pair.x;
}
float number(${SAMPLERS[kind]} band, ivec2 at) {
  return part(vec2(texelFetch(band, at, 0).rg));
}
bool invalid(float value) {
  return (floatBitsToUint(value) & 0x7fffffffu) > 0x7f800000u;
}
bool masked(ivec2 at) {
  return u_masked && texelFetch(u_mask, at, 0).r == 0u;
}
vec3 stretch(vec3 value) {
  return pow(clamp((value - u_low) * u_gain, 0.0, 1.0), vec3(1.0 / u_gamma));
}
// Height of a neighbour, or of the place itself where that has none.
float height(ivec2 at, float here) {
  float value = number(u_a, at);
  return masked(at) || invalid(value) ? here : value;
}
float shade(ivec2 at, float here) {
  ivec2 end = ivec2(u_size) - 1;
  ivec2 left = ivec2(max(at.x - 1, 0), at.y), right = ivec2(min(at.x + 1, end.x), at.y);
  ivec2 above = ivec2(at.x, max(at.y - 1, 0)), below = ivec2(at.x, min(at.y + 1, end.y));
  float x = (height(right, here) - height(left, here)) / float(max(right.x - left.x, 1));
  float y = (height(above, here) - height(below, here)) / float(max(below.y - above.y, 1));
  vec3 normal = normalize(vec3(-x * u_slope.x, -y * u_slope.y, 1.0));
  return clamp(dot(normal, u_light), 0.0, 1.0);
}
vec4 ramp(float at) {
  return texture(u_ramp, vec2(at * 255.0 / 256.0 + 0.5 / 256.0, 0.5));
}
vec4 colour(vec2 place) {
  ivec2 at = clamp(ivec2(floor(place)), ivec2(0), ivec2(u_size) - 1);
  if (masked(at)) return u_nodata;
  float a = number(u_a, at);
  if (invalid(a)) return u_nodata;
  vec4 result;
  if (u_mode == 3) {
    int index = int(a);
    if (index < 0 || index >= u_colours) return u_nodata;
    result = texelFetch(u_palette, ivec2(index & 255, index >> 8), 0);
    return vec4(result.rgb * result.a, result.a);
  }
  if (u_mode == 1) {
    float b = number(u_b, at), c = number(u_c, at);
    if (invalid(b) || invalid(c)) return u_nodata;
    return vec4(stretch(vec3(a, b, c)), 1.0);
  }
  float value = a;
  if (u_mode == 2) {
    float b = number(u_b, at);
    if (invalid(b)) return u_nodata;
    float x = a + u_base.x, y = b + u_base.y;
    float divisor = u_formula == 0 ? x + y : u_formula == 1 ? y : 1.0;
    if (divisor == 0.0) return u_nodata;
    value = (u_formula == 1 ? x : x - y) / divisor;
  }
  result = ramp(stretch(vec3(value)).x);
  if (u_shaded) result.rgb *= 0.25 + 0.9 * shade(at, a);
  return vec4(clamp(result.rgb, 0.0, 1.0), 1.0);
}
void main() {
  if (u_samples == 1) {
    o_colour = colour(v_at);
    return;
  }
  vec2 step = u_step * 0.25;
  o_colour = 0.25 * (colour(v_at + step) + colour(v_at - step)
    + colour(v_at + vec2(step.x, -step.y)) + colour(v_at + vec2(-step.x, step.y)));
}`;
