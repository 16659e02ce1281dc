// Colour ramps as evenly spaced stops. Viridis, magma and inferno are in the public domain (CC0, S. van der Walt and N. Smith).

const STOPS = {
  grey: "000000 ffffff",
  viridis: "440154 482878 3e4989 31688e 26828e 1f9e89 35b779 6ece58 b5de2b fde725",
  magma: "000004 180f3d 440f76 721f81 9e2f7f cd4071 f1605d fd9668 feca8d fcfdbf",
  inferno: "000004 1b0c41 4a0c6b 781c6d a52c60 cf4446 ed6925 fb9b06 f7d13d fcffa4",
  terrain: "1f5a4c 3f7d52 7ba35f b9bf78 d9c88c c9a56f a97c55 8f6f62 b9aaa6 ffffff",
  vegetation: "7a4a2b b07d4a d9bf86 f2ecc0 c4dd8a 7fbb56 3c8f3b 12612b",
  diverging: "1b3f7a 3f78b5 8fb8d9 dde6ea f4f1ee f0d9cb dc9a78 b8543c 7a1f23",
  cyclic: "2f2a4d 2a5d8f 3f9f9f b5c98a f2ead0 e3a868 b85a5a 6c3060 2f2a4d",
};

export const NAMES = Object.keys(STOPS);

function stops(name) {
  return STOPS[name].split(" ").map((hex) => [0, 2, 4].map((at) => parseInt(hex.slice(at, at + 2), 16)));
}

/** 256 colours, RGBA. */
export function table(name, reversed) {
  const list = stops(name);
  const colours = new Uint8Array(256 * 4);
  for (let i = 0; i < 256; i += 1) {
    const at = ((reversed ? 255 - i : i) / 255) * (list.length - 1);
    const left = Math.min(Math.floor(at), list.length - 2);
    for (let c = 0; c < 3; c += 1) {
      colours[4 * i + c] = Math.round(list[left][c] + (list[left + 1][c] - list[left][c]) * (at - left));
    }
    colours[4 * i + 3] = 255;
  }
  return colours;
}

/** A CSS colour at 0…1. */
export function css(name, at, alpha = 1) {
  const colours = table(name, false);
  const i = 4 * Math.round(255 * Math.min(Math.max(at, 0), 1));
  return `rgb(${colours[i]} ${colours[i + 1]} ${colours[i + 2]} / ${alpha})`;
}

/** Draws a ramp into a canvas. */
export function paint(canvas, name, reversed) {
  const context = canvas.getContext("2d");
  canvas.width = 256;
  canvas.height = 1;
  context.putImageData(new ImageData(new Uint8ClampedArray(table(name, reversed)), 256, 1), 0, 0);
}
