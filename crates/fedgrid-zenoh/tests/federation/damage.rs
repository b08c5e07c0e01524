//! Bad files and full disks: named errors, intact state, and the run goes on.

use std::{
    fs,
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

use fedgrid::{
    random::{Purpose, Stream},
    runtime::protocol::Slot,
};
use fedgrid_zenoh::{
    Error,
    checkpoint::{Store, StoredBytes},
    identity::now,
    ledger::Ledger,
    manifest::LinkProtocol,
    site_bundle::SiteBundle,
};

use crate::{
    made::{How, Problem},
    scene::{Scene, Spec},
};

fn spec(rounds: usize) -> Spec {
    let problem = Problem { how: How::FedRelax, nodes: 4, points: 10, seed: 7 };
    Spec {
        problem,
        processes: 2,
        link: LinkProtocol::Tls,
        rounds,
        checkpoint_every: 1,
        trace: true,
    }
}

/// Text or bytes with one of the usual faults.
fn spoilt(bytes: &[u8], way: usize, stream: &mut Stream) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    let place = stream.index(bytes.len().max(1));
    match way % 7 {
        0 => bytes.truncate(place),
        1 => bytes[place] ^= 1 << stream.index(8),
        2 => bytes.insert(place, b'\n'),
        3 => bytes[place] = 0xff,
        4 => bytes.clear(),
        5 => bytes = b"{\"a\":".repeat(10_000),
        _ => bytes.drain(..place).for_each(drop),
    }
    bytes
}

/// The time of a processor that this thread has used, in seconds: a loaded machine does not add to it.
fn busy() -> Option<f64> {
    let text = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let nanoseconds: f64 = text.split(' ').next()?.parse().ok()?;
    Some(nanoseconds * 1e-9)
}

/// What a reading gives, which must not take a tenth of a second.
fn quick<T>(read: impl FnOnce() -> T) -> T {
    let (begun, before) = (Instant::now(), busy());
    let found = read();
    let wall = begun.elapsed().as_secs_f64();
    let seconds = before.zip(busy()).map_or(wall, |(before, after)| after - before);
    assert!(seconds < 0.1, "{seconds} s for bad bytes");
    found
}

#[test]
fn six_hundred_bad_files_are_named_and_none_is_taken() {
    let scene = Scene::new(spec(1));
    let bundle = scene.bundle(0);
    let read = || SiteBundle::read(&bundle, now());
    assert!(read().is_ok(), "the control");
    let mut stream = Stream::new(3, 0, 0, Purpose::Shuffle);
    let names = [
        "project.pub",
        "manifest.txt",
        "process.key",
        "authority.pem",
        "link.pem",
        "link.key",
        "experiment.toml",
        "part.json",
        "public.json",
        "process.txt",
    ];
    let (mut bad, mut taken) = (0, 0);
    for name in names {
        let whole = fs::read(bundle.join(name)).unwrap();
        for way in 0..60 {
            if whole.is_empty() {
                continue;
            }
            let spoilt = spoilt(&whole, way, &mut stream);
            fs::write(bundle.join(name), &spoilt).unwrap();
            bad += 1;
            match quick(read) {
                Err(error) => assert!(!error.to_string().is_empty()),
                // Space around a key or a name and the case of its digits mean nothing, and PEM text
                // may have lines and words outside of its block.
                Ok(again) => {
                    let same = again.key.to_bytes() == read_key(&scene)
                        && again.name() == "p0"
                        && again.manifest == scene.manifest;
                    assert!(same, "a changed {name} was taken");
                    taken += 1;
                }
            }
        }
        fs::write(bundle.join(name), &whole).unwrap();
    }
    assert!(bad >= 500, "{bad}");
    assert!(taken < bad / 10, "{taken} of {bad} changed nothing");
    assert!(read().is_ok(), "and good files are good again");
}

fn read_key(scene: &Scene) -> [u8; 32] {
    // The neighbour's copy of the manifest knows the key of p0.
    let other = SiteBundle::read(&scene.bundle(1), now()).unwrap();
    let own = other.manifest.key_of(0).unwrap();
    let path = scene.bundle(0).join("process.key");
    let text = fs::read_to_string(path).unwrap_or_default();
    let key = fedgrid_zenoh::identity::Hex::<32>::parse(text.trim());
    let key = key.map(|key| fedgrid_zenoh::identity::SigningKey::from_bytes(&key.0));
    key.filter(|key| key.verifying_key() == own).map_or([0; 32], |key| key.to_bytes())
}

#[test]
fn bad_checkpoints_and_ledgers_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let owner = [1; 32];
    let (mut store, _) = Store::open(folder.path(), owner).unwrap();
    store.save(Slot::State, vec![7; 100]).unwrap();
    drop(store);
    let (path, twin) = (folder.path().join("state-a"), folder.path().join("state-b"));
    let whole = fs::read(&path).unwrap();
    let (ledger, run) = (folder.path().join("ledger"), [7; 16]);
    (1..5).for_each(|count| Ledger::open(&ledger, &run).unwrap().charge("a", 1, count).unwrap());
    let records = fs::read(&ledger).unwrap();
    let mut stream = Stream::new(4, 0, 0, Purpose::Shuffle);
    for way in 0..200 {
        let bad = spoilt(&whole, way, &mut stream);
        fs::write(&path, &bad).unwrap();
        let _ = fs::remove_file(&twin);
        let opened = quick(|| Store::open(folder.path(), owner));
        assert!(matches!(opened, Err(Error::Damaged { .. })) || bad == whole, "way {way}");
        let bad = spoilt(&records, way, &mut stream);
        fs::write(&ledger, &bad).unwrap();
        match quick(|| Ledger::open(&ledger, &run)) {
            // What is cut off at its end was never acted on.
            Ok(ledger) => {
                let whole = &bad[..bad.len() / 72 * 72];
                assert!(ledger.charged("a") <= 4 && records.starts_with(whole));
            }
            Err(error) => assert!(matches!(error, Error::Damaged { .. }), "{error}"),
        }
    }
}

#[test]
fn flipped_bits_in_what_a_killed_process_kept_change_no_state() {
    let scene = Scene::new(Spec { link: LinkProtocol::Tcp, ..spec(200) });
    let mut parts = scene.spawn_all();
    for name in ["state-a", "state-b", "identity-a", "identity-b"] {
        // It has got on since it was last started, or has come to its end: then it is killed where it
        // waits for others, and comes back to the same end.
        let (end, before) = (Instant::now() + Duration::from_mins(1), scene.round(0));
        while scene.round(0) < (before + 5).min(scene.spec.rounds as u64) {
            let log = scene.log(0);
            assert!(Instant::now() < end, "round {before} is the last:\n{log}");
            std::thread::sleep(Duration::from_millis(2));
        }
        parts[0].kill();
        let run = fs::read_dir(scene.path("p0.state")).unwrap().flatten();
        let run = run.map(|entry| entry.path()).find(|path| path.is_dir()).unwrap();
        let mut bytes = fs::read(run.join(name)).unwrap();
        let place = bytes.len() / 2;
        bytes[place] ^= 4;
        fs::write(run.join(name), bytes).unwrap();
        parts[0] = scene.spawn(0);
    }
    scene.wait_all(parts, Duration::from_mins(2));
    let expected = scene.expected_states();
    assert!(scene.states().iter().all(|(key, hash)| expected[key] == *hash), "a state differs");
    assert_eq!(scene.predictions(), scene.expected());
}

/// Runs a test of this binary inside of a small disk of its own; false where that cannot be mounted.
pub(crate) fn on_small_disk(test: &str, folder: &Path) -> bool {
    let this = std::env::current_exe().unwrap();
    let script = format!(
        "mount -t tmpfs -o size=256k none '{0}' && FEDGRID_DISK='{0}' exec '{1}' --exact {test}",
        folder.display(),
        this.display(),
    );
    let output = Command::new("unshare").args(["-rm", "sh", "-c", &script]).output();
    let Ok(output) = output else { return false };
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let wrong = String::from_utf8_lossy(&output.stderr).into_owned();
    if wrong.contains("mount:") || wrong.contains("unshare:") {
        return false;
    }
    assert!(output.status.success() && said.contains("1 passed"), "{said}\n{wrong}");
    true
}

#[test]
fn a_full_disk_is_named_and_what_was_kept_stays() {
    let folder = tempfile::tempdir().unwrap();
    if !on_small_disk("damage::writes_until_the_disk_is_full", folder.path()) {
        use std::io::Write;
        let reason = b"skipped: no small disk can be mounted here\n";
        let _ = std::io::stderr().write_all(reason);
    }
}

/// What is done on the small disk; nothing where it is run as a plain test.
#[test]
fn writes_until_the_disk_is_full() {
    let Ok(disk) = std::env::var("FEDGRID_DISK") else { return };
    let disk = Path::new(&disk);
    let (mut store, _) = Store::open(&disk.join("state"), [1; 32]).unwrap();
    store.save(Slot::State, vec![1; 50_000]).unwrap();
    store.save(Slot::State, vec![2; 50_000]).unwrap();
    fs::write(disk.join("ballast"), vec![0; 130_000]).unwrap();
    for _ in 0..3 {
        let error = store.save(Slot::State, vec![3; 50_000]).unwrap_err();
        assert!(matches!(error, Error::NoSpace { .. }), "{error}");
    }
    drop(store);
    let (mut store, StoredBytes { state, .. }) = Store::open(&disk.join("state"), [1; 32]).unwrap();
    assert_eq!(state.unwrap(), vec![2; 50_000], "what was kept stays");
    let run = [7; 16];
    let mut ledger = Ledger::open(&disk.join("ledger"), &run).unwrap();
    let filled = (1..).find_map(|count| ledger.charge("a", count, count).err().map(|e| (count, e)));
    let (count, error) = filled.unwrap();
    assert!(matches!(error, Error::NoSpace { .. }), "{error}");
    fs::remove_file(disk.join("ballast")).unwrap();
    store.save(Slot::State, vec![3; 50_000]).unwrap();
    ledger.charge("a", count, count).unwrap();
    drop((store, ledger));
    let (_, StoredBytes { state, .. }) = Store::open(&disk.join("state"), [1; 32]).unwrap();
    assert_eq!(state.unwrap(), vec![3; 50_000], "it goes on when there is space");
    assert_eq!(Ledger::open(&disk.join("ledger"), &run).unwrap().charged("a"), count);
}
