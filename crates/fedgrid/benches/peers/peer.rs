//! A Python with numpy and scikit-learn, given arrays in files and asked for JSON.

use std::{
    fs,
    path::PathBuf,
    process::Command,
    time::{Instant, SystemTime},
};

use serde_json::Value;

/// The Python side.
pub(crate) struct Peer {
    python: String,
    folder: PathBuf,
}

impl Peer {
    /// The peer, or the reason why there is none.
    pub(crate) fn new() -> Result<Self, String> {
        let python = std::env::var("FEDGRID_PYTHON")
            .map_err(|_| "FEDGRID_PYTHON names no Python with scikit-learn (see make bench)")?;
        let check = Command::new(&python).args(["-c", "import numpy, sklearn"]).output();
        if !check.is_ok_and(|output| output.status.success()) {
            return Err(format!("{python} has no scikit-learn"));
        }
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let folder = std::env::temp_dir().join(format!("fedgrid-bench-{}", now.as_nanos()));
        fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
        Ok(Self { python, folder })
    }

    /// Writes an array for the scripts.
    pub(crate) fn write(&self, name: &str, values: &[f64]) {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        fs::write(self.folder.join(name), bytes).expect("the temporary folder can be written");
    }

    /// Runs a script on one thread and reads its answer.
    pub(crate) fn run(&self, script: &str, arguments: &[f64]) -> Value {
        let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("benches/peers").join(script);
        let output = Command::new(&self.python)
            .arg(script)
            .arg(&self.folder)
            .args(arguments.iter().map(ToString::to_string))
            .env("OMP_NUM_THREADS", "1")
            .env("OPENBLAS_NUM_THREADS", "1")
            .output()
            .expect("the peer can be started");
        let error = String::from_utf8_lossy(&output.stderr);
        serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|_| panic!("the peer failed: {error}"))
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// The numbers under a key.
pub(crate) fn numbers(answer: &Value, key: &str) -> Vec<f64> {
    let values = answer[key].as_array().expect("the peer gives a list");
    values.iter().map(|value| value.as_f64().expect("a list of numbers")).collect()
}

/// The seconds under a key.
pub(crate) fn seconds(answer: &Value, key: &str) -> f64 {
    answer[key].as_f64().expect("the peer gives its seconds")
}

/// The median seconds of five runs after a first one, and the answer.
pub(crate) fn timed<T>(mut work: impl FnMut() -> T) -> (f64, T) {
    let mut answer = work();
    let mut times = [0.0; 5];
    for time in &mut times {
        let begun = Instant::now();
        answer = work();
        *time = begun.elapsed().as_secs_f64();
    }
    times.sort_by(f64::total_cmp);
    (times[2], answer)
}

/// Runs work on so many threads.
pub(crate) fn on_threads<T: Send>(threads: usize, work: impl FnOnce() -> T + Send) -> T {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    pool.expect("a pool can be made").install(work)
}

/// The largest difference of two lists, relative to the largest number in them.
pub(crate) fn difference(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    let size = a.iter().fold(0.0, |largest: f64, x| largest.max(x.abs()));
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max) / size
}
