//! What a process has used, where the system tells.

use std::{fs, time::Instant};

/// Seconds by the clock and on processors.
pub(crate) struct Timer {
    begun: Instant,
    used: f64,
}

impl Timer {
    pub(crate) fn start() -> Self {
        Self { begun: Instant::now(), used: processor_seconds() }
    }

    /// Both since the start, and the peak of memory.
    pub(crate) fn report(&self) -> String {
        format!(
            "{:.2} s ({:.2} s on processors), peak memory {} MB",
            self.seconds(),
            processor_seconds() - self.used,
            peak_memory()
        )
    }

    pub(crate) fn seconds(&self) -> f64 {
        self.begun.elapsed().as_secs_f64()
    }
}

/// The largest resident memory of this process in megabytes.
fn peak_memory() -> String {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or("");
    let kilobytes = line.split_whitespace().nth(1).and_then(|text| text.parse::<f64>().ok());
    kilobytes.map_or("unknown".into(), |kilobytes| format!("{:.0}", kilobytes / 1024.0))
}

/// The seconds that this process has been on processors: fields 14 and 15 of its status, in hundredths.
fn processor_seconds() -> f64 {
    let status = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = status.rsplit(") ").next().unwrap_or("").split(' ').skip(11).take(2);
    fields.filter_map(|field| field.parse::<f64>().ok()).sum::<f64>() / 100.0
}
