//! Tokens, limits, models that are replaced, and a stop.

use std::{
    fs,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use super::{Server, objects};
use crate::common::Folder;

const TOKEN: &str = "0123456789abcdef0123";
const ROW: &str = r#"{"node": "a", "x": 0.5, "z": 0.25}"#;

fn trained() -> Folder {
    let folder = Folder::new();
    folder.fit("run", &["--no-compare"]);
    folder
}

/// Waits until something holds.
fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let until = Instant::now() + Duration::from_mins(1);
    while !holds() {
        assert!(Instant::now() < until, "{what}");
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn with_a_token_nothing_is_answered_without_it() {
    let folder = trained();
    folder.write("token", format!("{TOKEN}\n"));
    let mut by_variable = folder.command(&["serve", "run", "--port", "0", "--json"]);
    by_variable.env("FEDGRID_TOKEN", TOKEN);
    for server in [Server::new(&folder, "run", &["--token-file", "token"]), Server::by(by_variable)]
    {
        for path in ["/", "/nodes", "/metrics", "/none"] {
            let reply = server.get(path);
            assert_eq!(reply.status, 401, "{path}");
            assert!(reply.head.contains("www-authenticate: Bearer\r\n"));
            assert_eq!(reply.error(), "the request needs the header 'authorization: Bearer TOKEN'");
        }
        for wrong in
            ["Bearer 0123456789abcdef0124", "Bearer 0123", "Bearer ", "Basic 0123456789abcdef0123"]
        {
            let line = format!("authorization: {wrong}");
            assert_eq!(server.connect().ask("GET", "/nodes", &[&line], "").status, 401, "{wrong}");
        }
        let line = format!("authorization: Bearer {TOKEN}");
        assert_eq!(server.connect().ask("GET", "/nodes", &[&line], "").status, 200);
    }
}

#[test]
fn what_would_be_open_to_others_or_cannot_be_served_is_refused() {
    let folder = trained();
    folder.write("token", "short");
    let serve = |more: &[&str]| folder.refusal(&[&["serve", "run", "--port", "0"], more].concat());
    assert_eq!(
        serve(&["--address", "0.0.0.0"]),
        "--address is 0.0.0.0, which other machines reach; give a token with --token-file or FEDGRID_TOKEN"
    );
    assert_eq!(
        serve(&["--token-file", "token"]),
        "the token in 'token' is not one word of 16 or more letters and digits; make one with openssl rand -hex 16"
    );
    assert!(serve(&["--token-file", "none"]).starts_with("cannot read the token 'none': "));
    assert!(
        serve(&["--nodes", "nodes.csv"])
            .starts_with("--nodes is for runs whose network is one of nearest")
    );
    assert_eq!(
        folder.refusal(&["serve", "nothing"]),
        "'nothing' holds no finished run; make one with fit"
    );
    let server = Server::new(&folder, "run", &[]);
    let port = server.address.rsplit_once(':').unwrap().1;
    let taken = folder.refusal(&["serve", "run", "--port", port]);
    assert!(taken.starts_with(&format!("cannot listen at 127.0.0.1:{port}: ")), "{taken}");
}

#[test]
fn what_is_larger_or_slower_than_allowed_is_refused() {
    let folder = trained();
    let limits = ["--most-bytes", "200", "--most-rows", "3", "--timeout", "1"];
    let server = Server::new(&folder, "run", &limits);
    let many = |count: usize| format!("[{}]", vec![ROW; count].join(","));
    assert_eq!(server.predict("", &many(3)).status, 200);
    let rows = server.predict("", &format!("[{ROW},{{}},{{}},{{}}]"));
    assert_eq!(
        (rows.status, rows.error().as_str()),
        (413, "the request has 4 rows, allowed are 3")
    );
    let csv = server.connect().ask(
        "POST",
        "/predict",
        &["content-type: text/csv"],
        "node,x,z\na,1,1\na,1,1\na,1,1\na,1,1\n",
    );
    assert_eq!(csv.status, 413);
    // More than the system takes in one go, and yet the client reads why.
    let large = server.predict("", &" ".repeat(4 << 20));
    assert_eq!(
        (large.status, large.error().as_str()),
        (413, "the body has 4194304 bytes, allowed are 200")
    );
    let mut client = server.connect();
    client.send(format!("GET / HTTP/1.1\r\nx: {}", "y".repeat(20_000)).as_bytes());
    assert_eq!(client.reply().unwrap().status, 413);
    // A byte now and then does not help: the whole head must come in time.
    let mut slow = server.connect();
    let begun = Instant::now();
    for letter in b"GET / HTTP/1.1\r\nabcdefghij: " {
        slow.send(&[*letter]);
        thread::sleep(Duration::from_millis(100));
        if begun.elapsed() > Duration::from_millis(1500) {
            break;
        }
    }
    let reply = slow.reply().unwrap();
    assert_eq!(
        (reply.status, reply.error().as_str()),
        (408, "the head of the request took too long")
    );
    let mut silent = server.connect();
    silent.send(b"POST /predict HTTP/1.1\r\ncontent-length: 5\r\n\r\n{");
    assert_eq!(silent.reply().unwrap().error(), "the body of the request took too long");
}

#[test]
fn connections_beyond_the_limit_are_told_so_and_others_go_on() {
    let folder = trained();
    let server = Server::new(&folder, "run", &["--connections", "2"]);
    let (mut first, mut second) = (server.connect(), server.connect());
    assert_eq!(first.predict("", ROW).status, 200);
    assert_eq!(second.predict("", ROW).status, 200);
    let refused = server.connect().reply().unwrap();
    assert_eq!(refused.status, 429);
    assert!(refused.head.contains("retry-after: 1\r\n"));
    assert_eq!(refused.error(), "all 2 connections of the server are in use; try again later");
    assert_eq!(first.predict("", ROW).status, 200);
    drop(second);
    eventually("room for another", || {
        let mut client = server.connect();
        client.send(b"GET /nodes HTTP/1.1\r\n\r\n");
        client.reply().is_some_and(|reply| reply.status == 200)
    });
}

/// Copies the files of one run over those of another, the result last.
fn replace(folder: &Folder, from: &str, to: &str) {
    fs::remove_file(folder.path(to).join("result.json")).unwrap();
    for part in ["models", ""] {
        for entry in fs::read_dir(folder.path(from).join(part)).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_owned();
            if path.is_file() && name != "result.json" {
                fs::copy(&path, folder.path(to).join(part).join(name)).unwrap();
            }
        }
    }
    fs::copy(folder.path(from).join("result.json"), folder.path(to).join("result.json")).unwrap();
}

#[test]
fn models_that_are_replaced_are_taken_without_dropping_a_request() {
    let folder = trained();
    folder.fit("other", &["--no-compare", "--method", "pooled"]);
    let server = Server::new(&folder, "run", &[]);
    let (old, new) = {
        let other = Server::new(&folder, "other", &[]);
        (server.predict("", ROW).json(), other.predict("", ROW).json())
    };
    assert_ne!(old["predictions"], new["predictions"]);
    let is_done = AtomicBool::new(false);
    let ask = || {
        let (mut client, mut answers) = (server.connect(), Vec::new());
        while !is_done.load(Ordering::Relaxed) {
            let reply = client.predict("", ROW);
            assert_eq!(reply.status, 200, "{}", reply.body);
            answers.push(reply.json() == new);
            assert!(*answers.last().unwrap() || reply.json() == old, "{}", reply.body);
        }
        answers
    };
    thread::scope(|scope| {
        let asking: Vec<_> = (0..2).map(|_| scope.spawn(ask)).collect();
        thread::sleep(Duration::from_millis(100));
        replace(&folder, "other", "run");
        eventually("new models", || server.predict("", ROW).json() == new);
        is_done.store(true, Ordering::Relaxed);
        for client in asking {
            let answers = client.join().unwrap();
            // First the old ones, then the new ones, and never back.
            assert!(!answers[0] && answers.is_sorted());
        }
    });
    assert_eq!(server.metric("fedgrid_models_loaded_total"), 2);
    // The command itself puts a run in the place of another.
    folder.fit("run", &["--no-compare", "--force"]);
    eventually("models by fit", || server.predict("", ROW).json() == old);
}

#[test]
fn a_folder_that_cannot_be_read_leaves_the_models_from_before() {
    let folder = trained();
    let server = Server::new(&folder, "run", &[]);
    let before = server.predict("", ROW);
    let good = folder.read("run/models/nodes.jsonl");
    folder.write("run/models/nodes.jsonl", &good[..good.len() / 2]);
    eventually("a failure", || server.metric("fedgrid_models_failed_total") > 0);
    assert_eq!(server.metric("fedgrid_models_outdated"), 1);
    assert_eq!(server.predict("", ROW), before);
    // A run that is not finished is nothing to complain of.
    fs::remove_file(folder.path("run/result.json")).unwrap();
    thread::sleep(Duration::from_millis(1500));
    assert_eq!(server.metric("fedgrid_models_failed_total"), 1);
    folder.fit("run", &["--no-compare", "--force"]);
    eventually("the run again", || server.metric("fedgrid_models_outdated") == 0);
    assert_eq!(server.predict("", ROW), before);
    server.ask_to_stop();
    let (code, said) = server.ended();
    assert_eq!(code, Some(0));
    let line = said.lines().next().unwrap();
    assert!(
        line.starts_with("'run' has changed and cannot be loaded, the models from before go on: "),
        "{said}"
    );
}

#[test]
fn a_stop_answers_what_has_begun_and_ends_what_is_idle() {
    let folder = trained();
    let server = Server::new(&folder, "run", &[]);
    let mut idle = server.connect();
    assert_eq!(idle.predict("", ROW).status, 200);
    let mut begun = server.connect();
    let length = ROW.len();
    begun.send(
        format!(
            "POST /predict HTTP/1.1\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n"
        )
        .as_bytes(),
    );
    // Its head has arrived when another request on the same server is answered behind it.
    assert_eq!(idle.predict("", ROW).status, 200);
    thread::sleep(Duration::from_millis(100));
    server.ask_to_stop();
    assert!(idle.reply().is_none(), "an idle connection ends");
    begun.send(ROW.as_bytes());
    let reply = begun.reply().unwrap();
    assert_eq!(reply.status, 200);
    assert!(reply.head.contains("connection: close\r\n"));
    assert!(begun.reply().is_none());
    assert_eq!(server.ended(), (Some(0), String::new()));
}

#[test]
fn objects_of_rows_have_their_cells() {
    // The helper of these tests: numbers stay as they are written.
    assert_eq!(objects("a,b\nx,1.50\n", &["b"]), [r#"{"a": "x", "b": 1.50}"#]);
}
