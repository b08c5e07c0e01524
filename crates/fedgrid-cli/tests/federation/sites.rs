//! A folder with an experiment, its kits, and sites as processes of their own.

use std::{
    fmt::Write,
    fs,
    io::{BufRead, BufReader, Read},
    net::TcpListener,
    path::Path,
    process::{Child, Command, Stdio},
    sync::atomic::{AtomicU16, Ordering},
    time::{Duration, Instant},
};

use serde_json::Value;

use crate::common::Folder;

/// The sites and their nodes.
pub(crate) const SITES: [(&str, &[&str]); 3] =
    [("east", &["a", "b"]), ("mid", &["c", "d"]), ("west", &["e", "f"])];

/// A method that is at work for as long as a test looks on: so strong a pull converges slowly.
pub(crate) const ENDLESS: &str =
    "kind = \"fedrelax\"\nalpha = 500\nrounds = 100000000\ntolerance = 0.0\nsolver = \"rounds\"\n";

/// An address of this machine that no other test process uses.
pub(crate) fn free_address() -> String {
    static NEXT: AtomicU16 = AtomicU16::new(20_000);
    let [_, high, middle, low] = std::process::id().to_be_bytes();
    loop {
        let address = format!("127.{high}.{middle}.{low}:{}", NEXT.fetch_add(1, Ordering::Relaxed));
        if TcpListener::bind(&address).is_ok() {
            return address;
        }
    }
}

/// How a project is made.
#[derive(Clone, Copy, Default)]
pub(crate) struct Plan<'a> {
    /// The table `[method]` and what follows it.
    pub(crate) method: &'a str,
    /// What `sites.toml` begins with.
    pub(crate) head: &'a str,
    /// Whether sites have no address.
    pub(crate) hidden: bool,
    /// More arguments of `new`.
    pub(crate) arguments: &'a [&'a str],
}

impl Plan<'_> {
    /// A folder with an experiment, its kits in `home`, and the rows of each site.
    pub(crate) fn provisioned(self) -> Folder {
        self.provisioned_in(Folder::new())
    }

    pub(crate) fn provisioned_in(self, folder: Folder) -> Folder {
        folder.append("experiment.toml", &format!("[method]\n{}", self.method));
        let mut sites = self.head.to_string();
        for (name, nodes) in SITES {
            writeln!(sites, "[[site]]\nname = \"{name}\"\nnodes = {nodes:?}").unwrap();
            if !self.hidden {
                writeln!(sites, "address = \"{}\"", free_address()).unwrap();
            }
            let rows = folder.read("rows.csv");
            let mut lines = rows.lines();
            let header = lines.next().unwrap().to_string();
            let is_own =
                |line: &&str| nodes.iter().any(|node| line.starts_with(&format!("{node},")));
            let own: Vec<&str> = lines.filter(is_own).collect();
            assert!(!own.is_empty(), "{header}");
            folder.write(&format!("{name}.csv"), format!("{header}\n{}\n", own.join("\n")));
        }
        folder.write("sites.toml", sites);
        let made = self.made(&folder, "home");
        assert!(made.contains("2 of 5 edges join two sites"), "{made}");
        folder
    }

    /// Makes a project of the folder's experiment and sites.
    pub(crate) fn made(self, folder: &Folder, out: &str) -> String {
        let new = ["federation", "new", "experiment.toml", "--sites", "sites.toml", "--out", out];
        folder.done(&[&new, self.arguments].concat())
    }
}

/// The usual project of a method.
pub(crate) fn provisioned(method: &str) -> Folder {
    Plan { method, ..Plan::default() }.provisioned()
}

/// A process of its own, which does not outlive its test.
pub(crate) struct Joined(Child);

/// What a process has left: whether it did its work, and what it said and complained.
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) said: String,
    pub(crate) complained: String,
}

impl Joined {
    /// Starts the command in the folder.
    pub(crate) fn new(folder: &Folder, arguments: &[&str]) -> Self {
        let child = Command::new(env!("CARGO_BIN_EXE_fedgrid"))
            .args(arguments)
            .current_dir(folder.path(""))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        Self(child.unwrap())
    }

    /// Waits for the first line of its standard output.
    pub(crate) fn first_line(&mut self) -> String {
        let mut line = String::new();
        BufReader::new(self.0.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        line
    }

    /// Waits for the line of its standard output with this part; what follows it is still to be read.
    pub(crate) fn said_until(&mut self, part: &str) -> String {
        let out = self.0.stdout.as_mut().unwrap();
        let mut line = Vec::new();
        loop {
            let mut byte = [0];
            assert_eq!(out.read(&mut byte).unwrap(), 1, "it has not said '{part}'");
            if byte != *b"\n" {
                line.push(byte[0]);
                continue;
            }
            let text = String::from_utf8_lossy(&std::mem::take(&mut line)).into_owned();
            if text.contains(part) {
                return text;
            }
        }
    }

    /// Waits for its end, but not for ever.
    pub(crate) fn over(self) -> Ended {
        self.over_within(Duration::from_mins(2))
    }

    /// The same within another time.
    pub(crate) fn over_within(mut self, most: Duration) -> Ended {
        let end = Instant::now() + most;
        while self.0.try_wait().unwrap().is_none() {
            assert!(Instant::now() < end, "a site has not ended");
            std::thread::sleep(Duration::from_millis(20));
        }
        let (mut said, mut complained) = (String::new(), String::new());
        self.0.stdout.take().unwrap().read_to_string(&mut said).unwrap();
        self.0.stderr.take().unwrap().read_to_string(&mut complained).unwrap();
        Ended { code: self.0.wait().unwrap().code(), said, complained }
    }

    /// Asks it to end, as a service manager does.
    pub(crate) fn interrupt(&self) {
        let done = Command::new("kill").args(["-TERM", &self.0.id().to_string()]).status().unwrap();
        assert!(done.success());
    }

    /// Ends it, and gives what it has complained so far.
    pub(crate) fn told(mut self) -> String {
        self.0.kill().unwrap();
        self.over().complained
    }

    /// Waits for its good end; gives its standard output.
    pub(crate) fn ended(self) -> String {
        let ended = self.over();
        assert_eq!(ended.code, Some(0), "{}", ended.complained);
        ended.said
    }
}

impl Drop for Joined {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A site joins with its kit of a project, into a folder of its own, with more arguments.
pub(crate) fn join_as(
    folder: &Folder,
    (project, run): (&str, &str),
    site: &str,
    arguments: &[&str],
) -> Joined {
    let (kit, data) = (format!("{project}/kits/{site}"), format!("{site}.csv"));
    let out = format!("{run}-{site}");
    let join = ["federation", "join", &kit, "--data", &data, "--out", &out, "--share"];
    Joined::new(folder, &[&join, arguments].concat())
}

pub(crate) fn join(folder: &Folder, site: &str) -> Joined {
    join_as(folder, ("home", "run"), site, &[])
}

/// The bundled weather stations and their experiment.
pub(crate) fn stations() -> Folder {
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("demo");
    let folder = Folder::empty();
    for file in ["readings.csv", "stations.csv", "colorado.toml"] {
        fs::copy(example.join(file), folder.path(file)).unwrap();
    }
    folder
}

/// Divides them among so many processes, with more arguments of `new`, and runs these to their good end, into `run-0` and so on.
pub(crate) fn stations_at(folder: &Folder, processes: usize, arguments: &[&str]) {
    let address = free_address();
    let (host, port) = address.split_once(':').unwrap();
    let count = processes.to_string();
    let new = ["federation", "new", "colorado.toml", "--processes", &count, "--out", "home"];
    folder.done(&[&new[..], &["--host", host, "--port", port], arguments].concat());
    let join = |part: usize| {
        let (kit, data) = (format!("home/kits/part-{part}"), format!("home/rows/part-{part}.csv"));
        let out = format!("run-{part}");
        let join = ["federation", "join", &kit, "--data", &data, "--out", &out, "--share"];
        Joined::new(folder, &join)
    };
    let sites: Vec<Joined> = (0..processes).map(join).collect();
    for site in sites {
        let ended = site.over_within(Duration::from_mins(20));
        assert_eq!(ended.code, Some(0), "{}", ended.complained);
    }
}

/// The whole network in one process, as the sites run it.
pub(crate) fn fitted(folder: &Folder, arguments: &[&str]) {
    let fit = ["fit", "experiment.toml", "--out", "whole", "--no-compare"];
    folder.done(&[&fit[..], &["--set", "model.ridge=0"], arguments].concat());
}

pub(crate) fn model(folder: &Folder, run: &str, node: &str) -> Value {
    let text = folder.read(&format!("{run}/models/nodes.jsonl"));
    let line = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    line.into_iter().find(|line| line["node"] == node).expect("every node has a model")
}

/// Whether all sites have the models that one process gives.
pub(crate) fn assert_models_of_one_process(folder: &Folder) {
    for (site, nodes) in SITES {
        for node in nodes {
            let own = model(folder, &format!("run-{site}"), node);
            assert_eq!(own, model(folder, "whole", node), "{node}");
        }
    }
}

/// What the operator sees, by site, once it is as wanted.
pub(crate) fn seen_until(folder: &Folder, is_wanted: impl Fn(&[Value]) -> bool) -> Vec<Value> {
    let end = Instant::now() + Duration::from_mins(1);
    loop {
        let seen = folder.done(&["federation", "status", "home", "--json"]);
        let all: Vec<Value> = serde_json::from_str(&seen).unwrap();
        let all: Vec<Value> = all.into_iter().map(|mut site| site["status"].take()).collect();
        if is_wanted(&all) {
            return all;
        }
        assert!(Instant::now() < end, "{seen}");
    }
}

/// Whether a site is there and has done more rounds than these.
pub(crate) fn is_beyond(status: &Value, rounds: u64) -> bool {
    status["round"].as_u64().is_some_and(|round| round > rounds)
}
