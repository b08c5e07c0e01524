// Looks at the live page of an agent in a real browser while sites fall and come back: a federation of the bundled weather
// stations as processes of this machine, the page of its first site at each width, light and dark, and what axe-core says of it.
//
//     npm install playwright-core axe-core          # in any folder; run from there
//     node REPOSITORY/tools/live_page.mjs OUT REPOSITORY/target/release/fedgrid 3
//     node REPOSITORY/tools/live_page.mjs OUT REPOSITORY/target/release/fedgrid 100
//
// Pictures are OUT/live-3-400-light-working.png, -fallen (a neighbour was killed), -back (it is there again), -gone (the agent itself
// was killed) and so on. The browser is CHROMIUM, by default /usr/bin/chromium. The exit code is 1 where a page is wider than its
// window, where its script fails, where it does not say what has happened, or where axe-core finds a violation that is moderate or worse.
import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const require = createRequire(`${process.cwd()}/`);
const { chromium } = require("playwright-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

const WIDTHS = [400, 800, 1200];
const SCHEMES = ["light", "dark"];
const PATIENCE = 120_000;

const [out, command, sites] = [resolve(process.argv[2]), resolve(process.argv[3]), Number(process.argv[4])];
const examples = join(dirname(dirname(fileURLToPath(import.meta.url))), "examples/colorado/colorado.toml");
const [port, pagePort] = [Number(process.env.PORT ?? 26_000), Number(process.env.PORT ?? 26_000) + sites];
mkdirSync(out, { recursive: true });
const folder = mkdtempSync(join(tmpdir(), "live-page-"));

const set = (key) => ["--set", key];
execFileSync(command, [
  "federation", "new", examples, ...set("method.kind=fedrelax"), ...set("method.alpha=3"), ...set("method.tolerance=0"),
  ...set("method.rounds=1000000"), "--processes", String(sites), "--port", String(port), "--out", "home", "--quiet",
], { cwd: folder });

const agents = new Map();
const begin = (place) => {
  const page = place === 0 ? ["--page", String(pagePort)] : [];
  const call = ["federation", "join", `home/kits/part-${place}`, "--data", `home/rows/part-${place}.csv`, "--out", `run-${place}`, "--quiet", ...page];
  agents.set(place, spawn(command, call, { cwd: folder, stdio: "ignore" }));
};
const kill = (place) => agents.get(place).kill("SIGKILL");

let wrong = 0;
const say = (text) => {
  wrong += 1;
  console.log(text);
};
const patiently = async (what, isSo) => {
  for (const end = Date.now() + PATIENCE; ; ) {
    const found = await isSo().catch(() => null);
    if (found) return found;
    if (Date.now() > end) throw new Error(`${what}: not within ${PATIENCE / 1000} s`);
    await new Promise((wake) => setTimeout(wake, 200));
  }
};
const token = () => readFileSync(join(folder, "run-0/state/page-token"), "utf8").trim();
const status = async () => {
  const answer = await fetch(`http://127.0.0.1:${pagePort}/status`, { headers: { authorization: `Bearer ${token()}` } });
  return (await answer.json()).status;
};

let browser = null;
try {
  for (let place = 0; place < sites; place += 1) begin(place);
  await patiently("the first site is at work", async () => (await status()).round > 20);
  browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
  });
  const pages = [];
  for (const width of WIDTHS) {
    for (const colorScheme of SCHEMES) {
      const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme, bypassCSP: true });
      const page = await context.newPage();
      page.setDefaultTimeout(PATIENCE);
      page.on("pageerror", (error) => say(`${width} px, ${colorScheme}: ${error}`));
      await page.goto(`http://127.0.0.1:${pagePort}/#${token()}`);
      await page.evaluate(axe);
      pages.push({ page, width, name: `live-${sites}-${width}-${colorScheme}` });
    }
  }
  // All pages, once they say what the phase is to be.
  const pictures = async (what, phase) => {
    for (const { page, width, name } of pages) {
      const path = join(out, `${name}-${what}.png`);
      await page.waitForFunction((text) => document.getElementById("phase").textContent === text, phase, { timeout: PATIENCE });
      await page.screenshot({ path, fullPage: true });
      const inside = await page.evaluate(() => document.documentElement.scrollWidth);
      if (inside > width) say(`${path}: ${inside} px wide`);
      const found = await page.evaluate(() => globalThis.axe.run());
      for (const { id, impact, help, nodes } of found.violations.filter((one) => one.impact !== "minor")) {
        say(`${path}: ${impact}: ${id}: ${help} (${nodes.length}, first ${nodes[0].target})`);
      }
    }
  };
  const begun = await status();
  console.log(`${sites} sites, of which ${begun.neighbours.length} are neighbours of part-0`);
  await pictures("working", "training");
  const fallen = Number(begun.neighbours[0].name.split("-")[1]);
  kill(fallen);
  await patiently("a neighbour is gone", async () => (await status()).neighbours.some((seen) => !seen.there));
  await pictures("fallen", "waiting");
  begin(fallen);
  await patiently("it is back", async () => (await status()).round > begun.round && (await status()).waiting_for.length === 0);
  await pictures("back", "training");
  kill(0);
  await pictures("gone", "agent not there");
  begin(0);
  await pictures("again", "training");
  console.log(`${pages.length * 5} pictures in ${out}, ${wrong} complaints`);
} finally {
  await browser?.close();
  for (const agent of agents.values()) agent.kill("SIGKILL");
  await Promise.all([...agents.values()].map((agent) => agent.exitCode ?? agent.signalCode ?? new Promise((done) => agent.once("exit", done))));
  rmSync(folder, { recursive: true, force: true });
}
process.exitCode = wrong ? 1 : 0;
