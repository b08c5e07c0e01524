//! Standard output, standard error, and Ctrl-C.

use std::{
    io::Write,
    sync::atomic::{AtomicBool, Ordering},
};

/// Set when the user asks to stop.
static STOP: AtomicBool = AtomicBool::new(false);

/// Prints on standard output. A reader that has gone away wants no more.
pub(crate) fn print(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{text}").and_then(|()| out.flush());
}

/// Prints on standard error.
pub(crate) fn complain(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// Watches for Ctrl-C: once stops at the next step, twice at once.
pub(crate) fn watch_for_interruption() {
    let _ = ctrlc::set_handler(|| {
        // 130 is what shells report for a program that Ctrl-C ended.
        if STOP.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
    });
}

/// Whether the user has asked to stop.
pub(crate) fn is_interrupted() -> bool {
    STOP.load(Ordering::Relaxed)
}
