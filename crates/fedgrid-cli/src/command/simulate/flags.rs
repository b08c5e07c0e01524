//! What goes wrong, as flags.

use std::ops::Range;

use clap::Args;
use fedgrid::runtime::simulator::Faults;

/// What goes wrong; times are in ticks, which are rounds in asynchronous mode.
#[derive(Debug, Args)]
pub(super) struct FaultFlags {
    /// The share of frames that are lost.
    #[arg(long, value_name = "SHARE", default_value_t = 0.0)]
    loss: f64,

    /// The share of frames that arrive twice.
    #[arg(long, value_name = "SHARE", default_value_t = 0.0)]
    duplicate: f64,

    /// By how many ticks frames are late at most; they overtake each other.
    #[arg(long, value_name = "TICKS", default_value_t = 0)]
    delay: u64,

    /// The probability that a process crashes in a tick.
    #[arg(long, value_name = "PROBABILITY", default_value_t = 0.0)]
    crash: f64,

    /// For how many ticks a process that crashed is down at most.
    #[arg(long, value_name = "TICKS", default_value_t = 10)]
    down: u64,

    /// How often the write that a crash interrupts is torn; otherwise it is lost.
    #[arg(long, value_name = "SHARE", default_value_t = 0.5)]
    torn: f64,

    /// When the processes are split in two halves that do not reach each other.
    #[arg(long, value_name = "FROM..UNTIL", value_parser = ticks)]
    partition: Option<Range<u64>>,

    /// Let the split pass one direction.
    #[arg(long)]
    one_way: bool,

    /// The share of processes that are slow.
    #[arg(long, value_name = "SHARE", default_value_t = 0.0)]
    slow: f64,

    /// How many times longer a slow process takes.
    #[arg(long, value_name = "TIMES", default_value_t = 10)]
    slowness: u64,

    /// The probability that a process that is started again goes on beside its successor.
    #[arg(long, value_name = "PROBABILITY", default_value_t = 0.0)]
    zombie: f64,

    /// The probability that a process is started from an old backup.
    #[arg(long, value_name = "PROBABILITY", default_value_t = 0.0)]
    backup: f64,

    /// The probability of a hostile frame per process and tick.
    #[arg(long, value_name = "PROBABILITY", default_value_t = 0.0)]
    hostile: f64,

    /// When all but loss, duplicates and delay ends.
    #[arg(long, value_name = "TICKS", default_value_t = 1000)]
    until: u64,
}

fn ticks(text: &str) -> Result<Range<u64>, String> {
    let parsed = text.split_once("..").and_then(|(from, until)| {
        Some(from.trim().parse::<u64>().ok()?..until.trim().parse::<u64>().ok()?)
    });
    parsed.filter(|range| !range.is_empty()).ok_or_else(|| "expected such as 100..400".into())
}

impl FaultFlags {
    pub(super) fn faults(&self) -> Faults {
        Faults {
            loss: self.loss,
            duplicate: self.duplicate,
            delay: self.delay,
            crash: self.crash,
            down: self.down,
            torn: self.torn,
            zombie: self.zombie,
            backup: self.backup,
            hostile: self.hostile,
            partition: self.partition.clone(),
            one_way: self.one_way,
            slow: self.slow,
            slowness: self.slowness,
            until: self.until,
        }
    }
}
