//! The report in a real browser, where there is one: it fits a phone, sorts and searches, and its rows, map and charts open
//! cards, by keys, too.

use std::process::Command;

use crate::common::{Folder, on_path, skipped};

/// Uses the page as a reader does and tells the page around it what was seen.
const READER: &str = r##"<script>
addEventListener("load", () => {
  const root = document.documentElement;
  const seen = { page: root.scrollWidth, window: innerWidth };
  // Tables but that of nodes show all their columns.
  seen.cut = [...document.querySelectorAll(".box:not(.tall)")]
    .filter((box) => box.scrollWidth > box.clientWidth + 1)
    .map((box) => box.closest("section").querySelector("h2").textContent).join(", ");
  const header = [...document.querySelectorAll("#nodes thead th")]
    .find((each) => each.textContent.includes("Gain"));
  const place = header.cellIndex;
  const keys = () => [...document.querySelectorAll("#nodes tbody tr")]
    .map((row) => Number.parseFloat(row.cells[place].textContent.replace("−", "-").replaceAll(",", "")));
  const ordered = (sign) => keys().every((key, at, all) => at === 0 || sign * (key - all[at - 1]) >= 0);
  header.querySelector("button").click();
  seen.first = header.getAttribute("aria-sort") + " " + ordered(-1);
  header.querySelector("button").click();
  seen.second = header.getAttribute("aria-sort") + " " + ordered(1);
  const rows = [...document.querySelectorAll("#nodes tbody tr")];
  const query = document.getElementById("query");
  const shown = (text) => {
    query.value = text;
    query.dispatchEvent(new Event("input"));
    return rows.filter((row) => row.offsetParent !== null).length;
  };
  seen.rows = rows.length;
  seen.one = shown(rows[3].cells[0].textContent.trim());
  seen.none = shown("no such node");
  seen.all = shown("");
  // The rows that are shown are saved as a table.
  const made = [];
  URL.createObjectURL = (blob) => { made.push(blob); return "#"; };
  shown(rows[3].cells[0].textContent.trim());
  document.getElementById("save").click();
  shown("");
  seen.saved = made.length === 1 && made[0].type === "text/csv" && made[0].size > 40 && made[0].size < 200;
  const sections = [...document.querySelectorAll("#sections a")];
  seen.links = sections.length > 8
    && sections.every((link) => document.getElementById(link.getAttribute("href").slice(1)));
  // A row opens the card of its node, and both are marked; Escape closes it.
  const card = document.getElementById("card");
  seen.closed = card.hidden;
  rows[3].cells[0].querySelector("button").click();
  seen.opened = !card.hidden && rows[3].cells[0].textContent.trim().startsWith(card.querySelector("h2").textContent);
  seen.chosen = rows[3].classList.contains("chosen");
  const map = [...document.querySelectorAll("svg.map")].find((each) => each.getClientRects().length);
  const ring = map.querySelector(".ring");
  seen.ring = ring.style.display !== "none";
  seen.ties = map.querySelector(".ties").getAttribute("d").split("M").length > 3;
  seen.address = location.hash.startsWith("#node=");
  document.dispatchEvent(new KeyboardEvent("keydown", { key: "Escape" }));
  seen.shut = card.hidden && ring.style.display === "none";
  // The map by keys: an arrow finds a node, Enter opens its card, plus and zero zoom.
  const key = (name) => map.dispatchEvent(new KeyboardEvent("keydown", { key: name, bubbles: true, cancelable: true }));
  key("ArrowRight");
  seen.told = map.closest("figure").querySelector(".told").textContent.includes("gain");
  key("Enter");
  seen.keyed = !card.hidden;
  const home = map.getAttribute("viewBox");
  key("+");
  seen.zoomed = map.viewBox.baseVal.width < Number(home.split(" ")[2]);
  key("0");
  seen.home = map.viewBox.baseVal.width === Number(home.split(" ")[2]);
  // A chart by keys.
  const chart = document.querySelector("svg.caterpillar");
  chart.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight", bubbles: true, cancelable: true }));
  seen.chart = chart.nextElementSibling.textContent.includes(":");
  parent.postMessage(seen, "*");
});
</script>
"##;

/// A page around the report, as narrow as a phone; a window of the browser cannot be.
const PHONE: &str = r#"<!doctype html>
<html><body><script>
addEventListener("message", (event) => Object.assign(document.documentElement.dataset, event.data));
</script><iframe src="page.html" width="360" height="800"></iframe></body></html>
"#;

/// What the browser makes of a page.
fn rendered(folder: &Folder, page: &str) -> String {
    let output = Command::new("chromium")
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"])
        .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
        .arg(format!("--user-data-dir={}", folder.path("profile").display()))
        .args(["--virtual-time-budget=5000", "--dump-dom"])
        .arg(format!("file://{}", folder.path(page).display()))
        .output()
        .unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// What the reader has seen of a report on a phone.
fn seen_on_phone(folder: &Folder, report: &str) -> impl Fn(&str) -> String {
    // The page's policy allows scripts within it, and nothing from elsewhere.
    folder.write("page.html", folder.read(report) + READER);
    folder.write("phone.html", PHONE);
    let page = rendered(folder, "phone.html");
    move |name: &str| {
        let (_, rest) = page
            .split_once(&format!("data-{name}=\""))
            .unwrap_or_else(|| panic!("the browser saw no {name}: {page}"));
        rest.split('"').next().unwrap().to_string()
    }
}

fn has_browser() -> bool {
    if !on_path("chromium") {
        skipped("the report is not rendered, because chromium is not on the path");
    }
    on_path("chromium")
}

#[test]
fn columns_of_classes_are_not_cut_on_a_phone() {
    if !has_browser() {
        return;
    }
    let folder = Folder::with_classes();
    // A ridge that is chosen is a column more.
    folder.edit("experiment.toml", "ridge = 0.01", "ridge = \"auto\"");
    folder.fit(
        "run",
        &[
            "--method",
            "fedrelax",
            "--set",
            "compare.shuffles=2",
            "--set",
            "compare.likelihood_shuffles=0",
        ],
    );
    let seen = seen_on_phone(&folder, "run/report.html");
    assert!(seen("page").parse::<u32>().unwrap() <= 360, "{}", seen("page"));
    assert_eq!(seen("cut"), "");
}

#[test]
fn the_report_fits_a_phone_sorts_searches_and_opens_cards() {
    if !has_browser() {
        return;
    }
    let folder = Folder::empty();
    folder.done(&["demo", "--quiet", "--out", "demo"]);
    let seen = seen_on_phone(&folder, "demo/report.html");
    assert_eq!(seen("cut"), "");
    assert_eq!(seen("window"), "360");
    assert!(seen("page").parse::<u32>().unwrap() <= 360, "{}", seen("page"));
    assert_eq!(seen("first"), "descending true");
    assert_eq!(seen("second"), "ascending true");
    assert_eq!(seen("rows"), "198");
    assert_eq!([seen("one"), seen("none"), seen("all")], ["1", "0", "198"]);
    let facts = [
        "saved", "links", "closed", "opened", "chosen", "ring", "ties", "address", "shut", "told",
        "keyed",
    ];
    for fact in facts.into_iter().chain(["zoomed", "home", "chart"]) {
        assert_eq!(seen(fact), "true", "{fact}");
    }
}
