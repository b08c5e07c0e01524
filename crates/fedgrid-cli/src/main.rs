//! The command `fedgrid`.

use std::process::ExitCode;

fn main() -> ExitCode {
    fedgrid_cli::command::main()
}
