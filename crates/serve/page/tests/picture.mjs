// Takes the picture of the documentation: node tests/picture.mjs STRILE RASTER PICTURE

import { Tab, chromium, launch } from "./browser.mjs";
import { view } from "./strile.mjs";

const [strile, raster, picture] = process.argv.slice(2);
const server = await view(strile, [raster]);
const browser = await launch(await chromium());
try {
  const tab = await Tab.open(browser, server.address, { width: 1000, height: 580 });
  await tab.choose("ramp", "terrain");
  await tab.section("Hillshade");
  await tab.click("shade");
  await tab.page.$eval("#panel", (panel) => {
    panel.scrollTop = 0;
  });
  await tab.page.mouse.move(360, 280);
  await tab.idle();
  await tab.page.screenshot({ path: picture });
} finally {
  await browser.close();
  await server.stop();
}
