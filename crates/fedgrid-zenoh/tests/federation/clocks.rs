//! Clocks that are ahead, stand still or go backwards change no bit: only the validity of certificates
//! and orders is of the wall's time. A small library in front of the system's own gives it to processes.

use std::{
    fs::{self, File},
    process::{Command, Stdio},
    time::Duration,
};

use fedgrid_zenoh::{identity::now, manifest::LinkProtocol};

use crate::{
    made::{How, Problem},
    scene::{Part, Scene, Spec, say},
};

const LIBRARY: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>

int clock_gettime(clockid_t clock, struct timespec *at) {
    static int (*real)(clockid_t, struct timespec *);
    static time_t first;
    static long calls;
    if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
    int done = real(clock, at);
    const char *way = getenv("FEDGRID_CLOCK");
    if (clock != CLOCK_REALTIME || !way) return done;
    if (!first) first = at->tv_sec;
    if (*way == 'a') at->tv_sec += 6 * 3600;
    if (*way == 's') { at->tv_sec = first; at->tv_nsec = 0; }
    if (*way == 'b') at->tv_sec = first + 70000 - 10 * (__sync_fetch_and_add(&calls, 1) % 7000);
    return done;
}
"#;

/// Compiles the library; false where there is no compiler.
fn made(scene: &Scene) -> bool {
    let (source, library) = (scene.path("clock.c"), scene.path("clock.so"));
    fs::write(&source, LIBRARY).unwrap();
    let compile = Command::new("cc")
        .args(["-shared", "-fPIC", "-o"])
        .args([&library, &source])
        .arg("-ldl")
        .stderr(Stdio::null())
        .status();
    compile.is_ok_and(|status| status.success())
}

/// This binary, run for one of its tests with such a clock.
fn with_clock(scene: &Scene, way: &str, test: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .env("LD_PRELOAD", scene.path("clock.so"))
        .env("FEDGRID_CLOCK", way)
        .stdin(Stdio::null());
    command
}

/// What the clock of such a process says in a row.
fn told(scene: &Scene, way: &str) -> Vec<u64> {
    let output = with_clock(scene, way, "clocks::tells_the_time").output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.lines().filter_map(|line| line.strip_prefix("it is ")?.parse().ok()).collect()
}

/// What a process with another clock says of the time; nothing where it is run as a plain test.
#[test]
fn tells_the_time() {
    use std::io::Write;
    if std::env::var("FEDGRID_CLOCK").is_ok() {
        for _ in 0..3 {
            let _ = write!(std::io::stdout(), "\nit is {}\n", now());
            std::thread::sleep(Duration::from_millis(600));
        }
    }
}

#[test]
fn clocks_that_are_ahead_stand_still_or_go_backwards_change_no_bit() {
    let problem = Problem { how: How::FedRelax, nodes: 6, points: 10, seed: 3 };
    let link = LinkProtocol::Quic;
    let scene = Scene::new(Spec {
        problem,
        processes: 3,
        link,
        rounds: 60,
        checkpoint_every: 5,
        trace: false,
    });
    if !made(&scene) {
        return say("skipped: no compiler for a clock of its own");
    }
    let ways = ["ahead", "still", "backwards"];
    let [ahead, still, backwards] = ways.map(|way| told(&scene, way));
    assert!(ahead.len() == 3 && ahead[0] > now() + 5 * 3600, "{ahead:?}");
    assert!(still.len() == 3 && still[0] == still[2], "{still:?}");
    assert!(backwards.len() == 3 && backwards[0] > backwards[2], "{backwards:?}");
    let part = |(place, way): (usize, &str)| {
        let log = File::create(scene.path(&format!("p{place}.log"))).unwrap();
        let child = with_clock(&scene, way, "scene::part_of_a_federation")
            .env("FEDGRID_PART", scene.folder.path())
            .env("FEDGRID_PLACE", place.to_string())
            .env("RAYON_NUM_THREADS", "1")
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn()
            .unwrap();
        Part { child, place }
    };
    let parts = ways.into_iter().enumerate().map(part).collect();
    scene.wait_all(parts, Duration::from_mins(1));
    assert_eq!(scene.predictions(), scene.expected());
}
