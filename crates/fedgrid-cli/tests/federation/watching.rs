//! People watch sites at work: the page, numbers for Prometheus, logs, the terminal, and the log of what was sent.

use std::{
    fs,
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    os::unix::fs::PermissionsExt,
    process::Command,
    time::{Duration, Instant},
};

use serde_json::Value;

use crate::{
    common::{Folder, on_path, skipped},
    sites::{ENDLESS, Joined, SITES, join, join_as, provisioned},
};

const PATIENCE: Duration = Duration::from_mins(1);

/// The page of a site: where it is, and its token.
struct Page {
    address: String,
    token: String,
}

impl Page {
    /// As the site has said it when it was started.
    fn of(part: &mut Joined) -> Self {
        let line = part.said_until("The page of this site:");
        let (_, url) = line.split_once("http://").unwrap();
        let (address, rest) = url.split_once("/#").unwrap_or_else(|| panic!("{line}"));
        let token = rest.split(';').next().unwrap();
        Self { address: address.into(), token: token.into() }
    }

    /// What is answered to a request, with the token if that is wanted.
    fn asked(&self, path: &str, token: Option<&str>) -> String {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let shown =
            token.map_or_else(String::new, |token| format!("authorization: Bearer {token}\r\n"));
        write!(stream, "GET {path} HTTP/1.1\r\nhost: here\r\nconnection: close\r\n{shown}\r\n")
            .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    fn got(&self, path: &str) -> String {
        let answer = self.asked(path, Some(&self.token));
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
        answer.split_once("\r\n\r\n").unwrap().1.to_string()
    }

    fn status(&self) -> Value {
        serde_json::from_str::<Value>(&self.got("/status")).unwrap()["status"].take()
    }

    /// The number of this name for Prometheus.
    fn number(&self, name: &str) -> Option<f64> {
        let text = self.got("/metrics");
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.map(|number| number.parse().unwrap())
    }

    fn wait_for(&self, what: &str, is_so: impl Fn(&Self) -> bool) {
        let end = Instant::now() + PATIENCE;
        while !is_so(self) {
            assert!(Instant::now() < end, "{what}: {}", self.got("/status"));
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}

/// The first events of a page that is live.
fn first_event(page: &Page) -> Value {
    let mut stream = TcpStream::connect(&page.address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let token = &page.token;
    write!(stream, "GET /events HTTP/1.1\r\nhost: here\r\nauthorization: Bearer {token}\r\n\r\n")
        .unwrap();
    let (mut text, mut piece) = (String::new(), [0; 4096]);
    loop {
        let count = stream.read(&mut piece).unwrap();
        assert!(count > 0, "the stream has ended: {text}");
        text += std::str::from_utf8(&piece[..count]).unwrap();
        let data =
            text.split_once("event: status\ndata: ").and_then(|(_, rest)| rest.split_once("\n\n"));
        if let Some((data, _)) = data {
            assert!(text.contains("content-type: text/event-stream\r\n"), "{text}");
            return serde_json::from_str(data).unwrap();
        }
    }
}

fn with_page(folder: &Folder, site: &str) -> (Joined, Page) {
    let mut part = join_as(folder, ("home", "run"), site, &["--page", "0"]);
    let page = Page::of(&mut part);
    (part, page)
}

/// Without the token there is a page that tells nothing.
fn assert_token_is_needed(folder: &Folder, page: &Page) {
    assert_eq!(page.token.len(), 32);
    let shell = page.asked("/", None);
    assert!(shell.starts_with("HTTP/1.1 200") && !shell.contains("east"), "{shell}");
    for path in ["/events", "/status", "/metrics"] {
        for token in [None, Some("wrong")] {
            assert!(page.asked(path, token).starts_with("HTTP/1.1 401"), "{path}");
        }
    }
    assert!(page.asked("/other", Some(&page.token)).starts_with("HTTP/1.1 404"));
    let kept = folder.path("run-east/state/page-token");
    assert_eq!(fs::read_to_string(&kept).unwrap().trim(), page.token);
    assert_eq!(fs::metadata(kept).unwrap().permissions().mode() & 0o777, 0o600);
}

/// All of it, as the page and Prometheus get it.
fn assert_all_is_told(page: &Page) {
    // A line needs the rounds of two statuses, and twenty rounds may take less than the time between them.
    page.wait_for("there is a line", |page| first_event(page)["residual"].is_string());
    let told = first_event(page);
    let status = &told["status"];
    assert_eq!((&status["process"], &status["phase"]), (&"east".into(), &"training".into()));
    assert!(told["residual"].as_str().unwrap().starts_with("<svg"), "{told}");
    assert!(status["validation"].as_f64().is_some_and(|error| error > 0.0), "{status}");
    let neighbour = &status["neighbours"][0];
    assert_eq!((&neighbour["name"], &neighbour["there"]), (&"mid".into(), &true.into()));
    let sum = |key: &str| {
        let all = status["neighbours"].as_array().unwrap().iter();
        all.map(|seen| seen[key]["bytes"].as_u64().unwrap()).sum::<u64>()
    };
    assert!(sum("received") > 1000, "{status}");
    // Bytes are counted on the way while the sum is made.
    assert!(sum("sent").abs_diff(status["sent_bytes"].as_u64().unwrap()) < 10_000, "{status}");
    assert_eq!(page.number("fedgrid_agent_neighbour_connected{neighbour=\"mid\"}"), Some(1.0));
    assert!(page.number("fedgrid_agent_checkpoint_seconds_total").unwrap() > 0.0);
}

#[test]
fn three_sites_are_watched_while_one_is_killed_and_comes_back() {
    let folder = provisioned(ENDLESS);
    let mut east = join_as(&folder, ("home", "run"), "east", &["--page", "0", "--log", "json"]);
    let page = Page::of(&mut east);
    let mid = join(&folder, "mid");
    let _west = join(&folder, "west");
    let rounds = |page: &Page| page.number("fedgrid_agent_rounds_total").unwrap();
    page.wait_for("rounds go on", |page| rounds(page) > 20.0);

    assert_token_is_needed(&folder, &page);
    assert_all_is_told(&page);

    // One falls: it is said who waits for whom.
    drop(mid);
    let awaited = "fedgrid_agent_neighbour_awaited{neighbour=\"mid\"}";
    page.wait_for("mid is awaited", |page| page.number(awaited) == Some(1.0));
    assert_eq!(page.status()["waiting_for"], serde_json::json!(["mid"]));
    page.wait_for("its link is gone", |page| {
        page.number("fedgrid_agent_neighbour_connected{neighbour=\"mid\"}") == Some(0.0)
    });
    let before = rounds(&page);
    let table = folder.done(&["federation", "watch", "home", "--once"]);
    assert!(table.lines().all(|line| line.chars().count() <= 80), "{table}");
    let line = |site: &str| table.lines().find(|line| line.starts_with(site)).unwrap().to_string();
    assert!(line("mid ").contains("not there"), "{table}");
    assert!(line("east ").contains("waiting") && line("east ").ends_with("mid"), "{table}");

    // It comes back, and rounds go on.
    let _mid = join(&folder, "mid");
    page.wait_for("rounds go on again", |page| rounds(page) > before + 5.0);
    assert_eq!(page.number(awaited), Some(0.0));
    let events = page.status()["events"].to_string();
    assert!(events.contains("mid has joined (start 2)"), "{events}");
    let all: Value =
        serde_json::from_str(&folder.done(&["federation", "watch", "home", "--once", "--json"]))
            .unwrap();
    let sites = all["sites"].as_array().unwrap();
    assert!(sites.iter().all(|site| site["status"]["round"].as_u64().unwrap() > 0), "{all}");

    // Lines of JSON say the same.
    let complained = east.told();
    let lines: Vec<Value> =
        complained.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let has =
        |event: &str| lines.iter().any(|line| line["event"] == event && line["site"] == "east");
    assert!(["started", "joined", "gone", "status"].into_iter().all(has), "{complained}");
    assert!(lines.iter().all(|line| line["time"].as_str().unwrap().ends_with('Z')), "{complained}");
}

#[test]
fn the_token_of_a_page_is_private() {
    let folder = provisioned(ENDLESS);
    folder.write("token", "0123456789abcdef\n");
    let mode =
        |mode| fs::set_permissions(folder.path("token"), PermissionsExt::from_mode(mode)).unwrap();
    let join = |more: &[&str]| {
        let join = ["federation", "join", "home/kits/east", "--data", "east.csv", "--quiet"];
        folder.refusal(&[&join, more].concat())
    };
    mode(0o644);
    let refused = join(&["--page", "0", "--page-token", "token"]);
    let expected = "the token in 'token' has mode 0644, which lets others read it; chmod 600 it";
    assert_eq!(refused, expected);
    fs::remove_file(folder.path("token")).unwrap();
    folder.write("token", "short\n");
    mode(0o600);
    assert!(
        join(&["--page", "0", "--page-token", "token"]).contains("is not one word of 16 or more")
    );
    // A token that is given is not said again, and opens the page.
    folder.write("token", "0123456789abcdef\n");
    mode(0o400);
    let more = ["--page", "0", "--page-token", "token"];
    let mut part = join_as(&folder, ("home", "run"), "east", &more);
    let line = part.said_until("The page of this site:");
    assert!(!line.contains("0123456789abcdef"), "{line}");
    let address = line.split("http://").nth(1).unwrap().split('/').next().unwrap();
    let page = Page { address: address.into(), token: "0123456789abcdef".into() };
    assert_eq!(page.status()["process"], "east");
}

#[test]
fn the_log_of_what_was_sent_is_whole_after_kills_and_says_where_it_was_changed() {
    let folder = provisioned(ENDLESS);
    let (east, page) = with_page(&folder, "east");
    let _others = ["mid", "west"].map(|site| join(&folder, site));
    page.wait_for("rounds go on", |page| page.status()["round"].as_u64() > Some(10));
    drop(east);
    let (east, page) = with_page_again(&folder, "east");
    page.wait_for("rounds go on", |page| page.status()["round"].as_u64() > Some(20));
    // While it is at work, too.
    folder.done(&["federation", "audit", "run-east"]);
    let records = page.status()["audit_records"].as_u64().unwrap();
    drop(east);
    let said = folder.done(&["federation", "audit", "run-east"]);
    assert!(said.contains("in an unbroken chain") && said.contains("mid"), "{said}");
    let found: Value = serde_json::from_str(&folder.done(&[
        "federation",
        "audit",
        "run-east/audit.log",
        "--json",
    ]))
    .unwrap();
    assert!(found["records"].as_u64().unwrap() >= records, "{found}");
    let sent = &found["sent"].as_array().unwrap()[0];
    assert_eq!((&sent["to"], &sent["methods"]), (&"mid".into(), &serde_json::json!(["fedrelax"])));
    assert!(sent["rounds"].as_u64().unwrap() > 20, "{found}");
    // No round is missing, although the site was killed.
    let kinds = &sent["kinds"]["messages of a round"];
    assert!(kinds.as_u64().unwrap() >= sent["rounds"].as_u64().unwrap(), "{found}");

    let mut bytes = fs::read(folder.path("run-east/audit.log")).unwrap();
    bytes[5 * 224 + 70] ^= 1;
    folder.write("changed.log", &bytes);
    let refused = folder.refusal(&["federation", "audit", "changed.log"]);
    let expected = "'changed.log' is damaged: its record 5 does not follow from the ones before";
    assert_eq!(refused, expected);
    let refused = folder.refusal(&["federation", "audit", "rows.csv"]);
    assert!(refused.contains("its record 0 does not follow"), "{refused}");
    let refused = folder.refusal(&["federation", "audit", "home"]);
    assert!(refused.contains("is no log: give the folder of a site's run"), "{refused}");
}

/// A site that is started again has its token already, and does not say it.
fn with_page_again(folder: &Folder, site: &str) -> (Joined, Page) {
    let mut part = join_as(folder, ("home", "run"), site, &["--page", "0"]);
    let line = part.said_until("The page of this site:");
    let token = folder.read(&format!("run-{site}/state/page-token")).trim().to_string();
    assert!(!line.contains(&token), "{line}");
    let address = line.split("http://").nth(1).unwrap().split('/').next().unwrap();
    (part, Page { address: address.into(), token })
}

#[test]
fn sites_over_tls_start_themselves_with_one_thread_for_links() {
    let folder = crate::sites::Plan {
        method: "kind = \"fedrelax\"\nalpha = 0.5\nrounds = 20\ntolerance = 0.0\nsolver = \"rounds\"\n",
        head: "link = \"tls\"\n",
        ..crate::sites::Plan::default()
    }
    .provisioned();
    let parts = SITES.map(|(site, _)| join_as(&folder, ("home", "run"), site, &["--log", "text"]));
    for part in parts {
        let ended = part.over();
        assert_eq!(ended.code, Some(0), "{}", ended.complained);
        assert!(!ended.complained.contains("ZENOH_RUNTIME"), "{}", ended.complained);
    }
    crate::sites::fitted(&folder, &[]);
    crate::sites::assert_models_of_one_process(&folder);
}

/// Looks at the live page as a reader does, once it has been told something.
const READER: &str = r##"<script>
setTimeout(() => {
  const seen = document.documentElement.dataset;
  const at = (id) => document.getElementById(id);
  seen.site = at("site").textContent;
  seen.phase = at("phase").textContent;
  seen.rows = at("neighbours").tBodies[0].rows.length;
  seen.neighbour = at("neighbours").tBodies[0].rows[0]?.cells[0].textContent;
  seen.chart = document.querySelector("#residual svg polyline") !== null;
  seen.events = at("events").children.length > 1;
  seen.wide = document.documentElement.scrollWidth > innerWidth;
  seen.form = !at("ask").hidden;
}, 4000);
</script><img src="/wait" alt="">"##;

/// Stands between the browser and the agent: adds the reader to the page, and an image that comes late, because
/// the browser writes down what it sees once all is loaded.
fn between(agent: String) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let pass = move |mut browser: TcpStream| -> std::io::Result<()> {
        let mut head = [0; 8192];
        let count = browser.read(&mut head)?;
        let head = String::from_utf8_lossy(&head[..count]).into_owned();
        if head.starts_with("GET /wait ") {
            std::thread::sleep(Duration::from_secs(6));
            return write!(
                browser,
                "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
            );
        }
        let mut stream = TcpStream::connect(&agent)?;
        stream.write_all(head.replace("keep-alive", "close").as_bytes())?;
        if !head.starts_with("GET / ") {
            return std::io::copy(&mut stream, &mut browser).map(|_| ());
        }
        let mut page = String::new();
        stream.read_to_string(&mut page)?;
        let (_, page) = page.split_once("\r\n\r\n").unwrap();
        // The policy of the page forbids images; that it has one is tested elsewhere.
        let (before, rest) =
            page.split_once("<meta http-equiv=\"Content-Security-Policy\"").unwrap();
        let (_, after) = rest.split_once('>').unwrap();
        let page = format!("{before}{after}").replace("</main>", &format!("{READER}</main>"));
        write!(
            browser,
            "HTTP/1.1 200 OK\r\ncontent-type: text/html; charset=utf-8\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{page}",
            page.len()
        )
    };
    std::thread::spawn(move || {
        for browser in listener.incoming().flatten() {
            let pass = pass.clone();
            std::thread::spawn(move || pass(browser));
        }
    });
    address
}

#[test]
fn the_page_is_live_in_a_browser() {
    if !on_path("chromium") {
        return skipped("the page of an agent is not shown, because chromium is not on the path");
    }
    let folder = provisioned(ENDLESS);
    let (_mid, page) = with_page(&folder, "mid");
    let _others = ["east", "west"].map(|site| join(&folder, site));
    page.wait_for("rounds go on", |page| page.status()["round"].as_u64() > Some(20));
    let seen = |token: &str| {
        let output = Command::new("chromium")
            .args([
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--no-first-run",
                "--disable-sync",
            ])
            .args(["--disable-background-networking", "--disable-component-update", "--dump-dom"])
            .arg(format!("--user-data-dir={}", folder.path("profile").display()))
            .args(["--window-size=500,900", "--timeout=30000"])
            .arg(format!("http://{}/#{token}", between(page.address.clone())))
            .output()
            .unwrap();
        let page = String::from_utf8_lossy(&output.stdout).into_owned();
        move |name: &str| {
            let (_, rest) = page
                .split_once(&format!("data-{name}=\""))
                .unwrap_or_else(|| panic!("the browser saw no {name}: {page}"));
            rest.split('"').next().unwrap().to_string()
        }
    };
    let live = seen(&page.token);
    assert_eq!([live("site"), live("phase"), live("rows")], ["mid", "training", "2"]);
    assert!(["east", "west"].contains(&&*live("neighbour")), "{}", live("neighbour"));
    assert_eq!(
        [live("chart"), live("events"), live("wide"), live("form")],
        ["true", "true", "false", "false"]
    );
    // Whoever has no token is asked for it, and shown nothing.
    let strange = seen("0123456789abcdef");
    assert_eq!([strange("site"), strange("rows"), strange("form")], ["Agent", "0", "true"]);
}
