//! A run folder that changes: read again when it has come to rest, beside the models that predict.

use std::{
    path::Path,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use super::{Predictions, Shared, TICK_MILLISECONDS, look::Look};
use crate::terminal::complain;

/// How often the folder is looked at, in milliseconds; it must look the same twice before it is read.
const LOOK_MILLISECONDS: u64 = 500;

/// Looks at the folder of the models until the server stops.
pub(crate) fn watch(shared: &Arc<Shared<Predictions>>) {
    let folder = shared.service.models.folder().to_path_buf();
    let own = shared.clone();
    let watching = move || {
        let mut known = own.service.models.look.clone();
        let mut last = known.clone();
        while rest(&own) {
            let look = Look::of(&folder);
            let is_at_rest = look == last;
            last = look.clone();
            // A run that is being replaced has no result until it is whole.
            if look != known && is_at_rest && folder.join("result.json").exists() {
                take(&own, &folder, &look, &mut known);
            }
        }
    };
    let begun = thread::Builder::new().name("watch".into()).spawn(watching);
    if begun.is_err() {
        complain(
            "the run folder is not watched: the machine gives no thread; a changed run needs a new start",
        );
    }
}

/// Waits for the next look; false if the server stops.
fn rest(shared: &Shared<Predictions>) -> bool {
    let until = Instant::now() + Duration::from_millis(LOOK_MILLISECONDS);
    while !shared.is_stopping() && Instant::now() < until {
        thread::sleep(Duration::from_millis(TICK_MILLISECONDS.min(LOOK_MILLISECONDS)));
    }
    !shared.is_stopping()
}

/// Reads a folder that has changed, and swaps it in if nothing has moved meanwhile.
fn take(shared: &Shared<Predictions>, folder: &Path, look: &Look, known: &mut Look) {
    let read = shared.service.models.read();
    if Look::of(folder) != *look {
        return;
    }
    // Whether it can be read or not, it is not read again before it changes.
    *known = look.clone();
    let name = folder.display();
    match read {
        Ok(run) => {
            let (method, nodes) = run.advised();
            complain(&format!("'{name}' has changed: from now on {method} predicts {nodes} nodes"));
            shared.service.models.replace(run);
        }
        Err(error) => {
            shared.service.models.fail();
            complain(&format!(
                "'{name}' has changed and cannot be loaded, the models from before go on: {error}"
            ));
        }
    }
}
