//! Links over TLS need all of Zenoh's reading and writing on one thread (see `fedgrid_zenoh::transport::ONE_THREAD`),
//! which is said by a variable that Zenoh reads once. A process that was started without it starts itself again.

use std::{
    env,
    os::unix::process::CommandExt,
    process::Command,
    sync::atomic::{AtomicBool, Ordering},
};

use fedgrid_zenoh::{
    manifest::Manifest,
    transport::{ONE_THREAD, RUNTIME_VARIABLE, needs_one_thread},
};

use fedgrid_lab::error::{Error, Result};

/// Whether this process is the command, and no other program such as Python.
static IS_COMMAND: AtomicBool = AtomicBool::new(false);

/// Says that this process is the command, which may start itself again.
pub(in crate::command) fn this_is_the_command() {
    IS_COMMAND.store(true, Ordering::Relaxed);
}

/// Goes on, or takes this program's place with one that has the variable. Nothing may have been done before, and a
/// program that is not the command is not started again.
pub(super) fn ensure(manifest: &Manifest) -> Result<()> {
    // Whoever has set it, to whatever, has a reason.
    if !needs_one_thread(manifest) || env::var_os(RUNTIME_VARIABLE).is_some() {
        return Ok(());
    }
    if !IS_COMMAND.load(Ordering::Relaxed) {
        return Err(Error::input(format!(
            "links over TLS need the variable {RUNTIME_VARIABLE}='{ONE_THREAD}'; set it before the program starts, or              use link = \"quic\""
        )));
    }
    let own = env::current_exe();
    let own = own.map_err(|error| failed(&error))?;
    let mut again = Command::new(own);
    again.args(env::args_os().skip(1)).env(RUNTIME_VARIABLE, ONE_THREAD);
    // It comes back only where it fails.
    Err(failed(&again.exec()))
}

fn failed(error: &std::io::Error) -> Error {
    Error::input(format!(
        "links over TLS need the variable {RUNTIME_VARIABLE}='{ONE_THREAD}', and the program could not start itself \
         again with it ({error}); set it yourself"
    ))
}
