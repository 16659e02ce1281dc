// Chromium, driven by puppeteer-core.

import { access, mkdir } from "node:fs/promises";
import { join } from "node:path";
import puppeteer from "puppeteer-core";

const PLACES = [process.env.STRILE_CHROMIUM, "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
const FLAGS = ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--hide-scrollbars", "--force-color-profile=srgb"];

/** The program, or `null`. */
export async function chromium() {
  for (const place of PLACES.filter(Boolean)) {
    if (await access(place).then(() => true, () => false)) return place;
  }
  return null;
}

export async function launch(program) {
  return puppeteer.launch({ executablePath: program, headless: true, args: FLAGS, protocolTimeout: 120_000 });
}

/** A page with a raster, and what tests do with it. */
export class Tab {
  static async open(browser, address, { width = 760, height = 500, out } = {}) {
    const tab = new Tab();
    tab.page = await browser.newPage();
    tab.out = out;
    tab.errors = [];
    tab.page.on("pageerror", (error) => tab.errors.push(error.message));
    tab.page.on("console", (message) => {
      if (message.type() === "error" && !/the server responded with a status of|net::ERR/.test(message.text())) tab.errors.push(message.text());
    });
    await tab.page.setViewport({ width, height });
    await tab.page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: "dark" }]);
    // What the page said while it was loading.
    tab.said = [];
    await tab.page.exposeFunction("noteSaid", (text) => tab.said.push(text));
    await tab.page.evaluateOnNewDocument(() => {
      addEventListener("DOMContentLoaded", () => {
        const notices = document.getElementById("notices");
        new MutationObserver(() => notices.textContent && globalThis.noteSaid(notices.textContent)).observe(notices, { childList: true, subtree: true });
      });
    });
    await tab.page.goto(address);
    await tab.idle();
    return tab;
  }

  /** Waits until everything visible is drawn. */
  async idle() {
    const settled = () => document.documentElement.dataset.state === "idle" || document.documentElement.dataset.state === "failed";
    const twoFrames = () => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
    for (let i = 0; i < 2; i += 1) {
      await this.page.evaluate(twoFrames);
      await this.page.waitForFunction(settled, { timeout: 60_000, polling: 20 });
    }
  }

  async choose(id, value) {
    await this.page.select(`#${id}`, String(value));
    await this.idle();
  }

  async click(id) {
    await this.page.click(`#${id}`);
    await this.idle();
  }

  /** Types a number into a field. */
  async type(id, value) {
    await this.page.$eval(`#${id}`, (field, text) => {
      field.value = text;
      field.dispatchEvent(new Event("input"));
      field.dispatchEvent(new Event("change"));
    }, String(value));
    await this.idle();
  }

  /** Opens a section of the panel. */
  async section(name) {
    await this.page.$eval(`[data-section="${name}"]`, (section) => {
      section.open = true;
    });
    await this.idle();
  }

  async text(selector) {
    return this.page.$eval(selector, (element) => element.textContent);
  }

  async number(id) {
    return Number(await this.page.$eval(`#${id}`, (field) => field.value));
  }

  /** Looks at a place: the raster pixel (x, y) at the middle, `zoom` screen pixels per raster pixel. */
  async look(x, y, zoom) {
    await this.page.evaluate((hash) => {
      location.hash = hash;
    }, `x=${x}&y=${y}&zoom=${zoom}`);
    await this.idle();
  }

  /** Screen place of the middle of a raster pixel. */
  async place(x, y) {
    const box = await this.page.$eval("#picture", (canvas) => {
      const { left, top, width, height } = canvas.getBoundingClientRect();
      return { left, top, width, height };
    });
    const state = new URLSearchParams(new URL(this.page.url()).hash.slice(1));
    const [cx, cy, zoom] = ["x", "y", "zoom"].map((name) => Number(state.get(name)));
    const left = Math.round(box.width / 2 - cx * zoom);
    const top = Math.round(box.height / 2 - cy * zoom);
    return [box.left + left + (x + 0.5) * zoom, box.top + top + (y + 0.5) * zoom];
  }

  /** Colours [r, g, b] on the screen at places of raster pixels. */
  async colours(pixels) {
    const places = [];
    for (const [x, y] of pixels) places.push(await this.place(x, y));
    const picture = await this.page.screenshot({ encoding: "base64" });
    return this.page.evaluate(
      async (data, wanted) => {
        const bytes = Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0));
        const bitmap = await createImageBitmap(new Blob([bytes], { type: "image/png" }));
        const canvas = new OffscreenCanvas(bitmap.width, bitmap.height);
        const context = canvas.getContext("2d");
        context.drawImage(bitmap, 0, 0);
        return wanted.map(([x, y]) => [...context.getImageData(Math.floor(x), Math.floor(y), 1, 1).data].slice(0, 3));
      },
      picture,
      places,
    );
  }

  /** Points at a raster pixel and returns the line at the bottom. */
  async point(x, y) {
    const [left, top] = await this.place(x, y);
    await this.page.mouse.move(left, top);
    await this.idle();
    return this.text("#readout");
  }

  async shot(name) {
    await mkdir(this.out, { recursive: true });
    await this.page.screenshot({ path: join(this.out, `${name}.png`) });
  }

  /** Ends; what the page complained of is an error. */
  async close() {
    await this.page.close();
    if (this.errors.length) throw new Error(`the page says: ${this.errors.join("; ")}`);
  }
}
