//! What the command says: results on standard output, progress and errors on standard error. A terminal gets a progress
//! bar, a file or pipe plain lines.

use std::io::IsTerminal;

use indicatif::ProgressDrawTarget;
use serde_json::json;

use crate::colour::{Output, Paint, painted};
pub use crate::progress::Progress;
pub(crate) use fedgrid_lab::printed::table;

#[cfg(feature = "federation")]
pub use crate::streams::Stream;
pub(crate) use crate::streams::{complain, is_interrupted, print, watch_for_interruption};
#[cfg(feature = "federation")]
pub(crate) use crate::streams::{has_reader, read_by};

/// How much is said, and how.
#[derive(Debug, Clone, Copy)]
pub struct Terminal {
    /// Says nothing but errors.
    pub quiet: bool,
    /// Gives the result as JSON on standard output, and nothing else there.
    pub json: bool,
}

impl Terminal {
    /// Says something to a person.
    pub fn say(self, text: &str) {
        if !self.quiet && !self.json {
            print(text);
        }
    }

    /// Gives a machine-readable result.
    pub fn give(self, json: &str) {
        if self.json {
            print(json);
        }
    }

    /// Says why there is no result: a sentence to a person, an object to a program. Both go to standard error, because
    /// standard output may hold a part of a result.
    pub(crate) fn refuse(self, message: &str, exit_code: u8) {
        if self.json {
            let error = json!({ "error": { "message": message, "exit_code": exit_code } });
            return complain(&error.to_string());
        }
        complain(&format!("{} {message}", painted("fedgrid:", Paint::Mistake, Output::Error)));
    }

    /// Shows how a run of so many steps proceeds.
    #[must_use]
    pub fn progress(self, steps: usize) -> Progress {
        self.progress_of(vec![1.0; steps])
    }

    /// Shows how a run proceeds whose steps are so much work each.
    pub(crate) fn progress_of(self, work: Vec<f64>) -> Progress {
        let shown = !self.quiet && !self.json;
        let target = if shown && std::io::stderr().is_terminal() {
            ProgressDrawTarget::stderr()
        } else {
            ProgressDrawTarget::hidden()
        };
        // A file or a pipe gets lines in the place of a bar.
        let plain = shown && target.is_hidden();
        Progress::new(work, target, plain)
    }
}
