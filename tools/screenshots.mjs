// Looks at reports in a real browser: pictures of the whole page at each width, light, dark and printed, of the opened card
// of a node, and what axe-core says of the page.
//
//     npm install playwright-core axe-core          # in any folder; run from there
//     node REPOSITORY/tools/screenshots.mjs OUT runs/a/report.html runs/b/report.html …
//     node REPOSITORY/tools/screenshots.mjs --widths 1200,1920 OUT runs/large/report.html     # axe-core takes minutes for thousands of nodes
//     node REPOSITORY/tools/screenshots.mjs --picture docs/report.png --node 054934 fedgrid-demo/report.html
//
// Pictures are OUT/a-400-light.png, OUT/a-400-light-card.png, OUT/a-print.png, OUT/a-print.pdf and so on. The browser is
// CHROMIUM, by default /usr/bin/chromium. The exit code is 1 where a page is wider than its window, where its script fails, or
// where axe-core finds a violation that is moderate or worse.
import { mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, dirname, join, resolve } from "node:path";

const require = createRequire(`${process.cwd()}/`);
const { chromium } = require("playwright-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

const SCHEMES = ["light", "dark"];
const A4 = { width: 794, height: 1123 };

const flags = process.argv.slice(2);
const flag = (name) => {
  const at = flags.indexOf(name);
  return at < 0 ? null : flags.splice(at, 2)[1];
};
const [picture, node, widths] = [flag("--picture"), flag("--node"), flag("--widths")];
const WIDTHS = widths ? widths.split(",").map(Number) : [400, 800, 1200, 1920];
const out = picture ? null : flags.shift();
if (out) mkdirSync(out, { recursive: true });

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
});
let wrong = 0;
const say = (text) => {
  wrong += 1;
  console.log(text);
};

// The page of a report in a window; the name of a node opens its card.
const opened = async (report, viewport, colorScheme, name = null) => {
  // The page's policy forbids every script but its own, and axe-core is another.
  const context = await browser.newContext({ viewport, colorScheme, bypassCSP: true });
  const page = await context.newPage();
  // Thousands of nodes on a machine that has other work take more than the usual half minute.
  page.setDefaultTimeout(300_000);
  page.on("pageerror", (error) => say(`${report}: ${error}`));
  await page.goto(`file://${resolve(report)}${name === null ? "" : `#node=${encodeURIComponent(name)}`}`);
  return page;
};

const grid = async (report) => {
  const name = basename(report) === "report.html" ? basename(dirname(resolve(report))) : basename(report, ".html");
  for (const width of WIDTHS) {
    for (const scheme of SCHEMES) {
      const page = await opened(report, { width, height: 900 }, scheme);
      const path = (more) => join(out, `${name}-${width}-${scheme}${more}.png`);
      await page.screenshot({ path: path(""), fullPage: true });
      const inside = await page.evaluate(() => document.documentElement.scrollWidth);
      if (inside > width) say(`${path("")}: ${inside} px wide`);
      await page.evaluate(axe);
      const violations = async (what) => {
        const found = await page.evaluate(() => globalThis.axe.run());
        for (const { id, impact, help, nodes } of found.violations.filter((one) => one.impact !== "minor")) {
          say(`${what}: ${impact}: ${id}: ${help} (${nodes.length}, first ${nodes[0].target})`);
        }
      };
      await violations(path(""));
      await page.evaluate(() => globalThis.fedgrid?.open?.(0) ?? document.querySelector("#nodes tbody .open").click());
      await page.screenshot({ path: path("-card") });
      await violations(path("-card"));
      await page.context().close();
    }
  }
  const page = await opened(report, A4, "light");
  await page.emulateMedia({ media: "print" });
  await page.screenshot({ path: join(out, `${name}-print.png`), fullPage: true });
  await page.pdf({ path: join(out, `${name}-print.pdf`), format: "A4" });
  await page.context().close();
};

if (picture) {
  // The map and the card of a node, beside each other: one window, as it is.
  const page = await opened(flags[0], { width: 1600, height: 1080 }, "light", node);
  await page.locator("#map").evaluate((heading) => scrollTo(0, heading.getBoundingClientRect().top + scrollY - 32));
  await page.screenshot({ path: picture });
} else {
  for (const report of flags) await grid(report);
}
await browser.close();
process.exitCode = wrong ? 1 : 0;
