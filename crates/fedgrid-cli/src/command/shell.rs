//! `fedgrid completions` and `fedgrid man`: what a shell and a reader of manuals know of this command.

use std::{
    fs,
    path::{Path, PathBuf},
};

use clap::{Args, Command};
use clap_complete::Shell;
use clap_mangen::Man;
use fedgrid_lab::{
    error::{Error, Result},
    number::counted,
};

use crate::terminal::{Terminal, print};

/// Arguments of `fedgrid completions`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  fedgrid completions bash > ~/.local/share/bash-completion/completions/fedgrid
  fedgrid completions zsh > ~/.zfunc/_fedgrid
  fedgrid completions fish > ~/.config/fish/completions/fedgrid.fish")]
pub(super) struct Completions {
    /// The shell.
    shell: Shell,
}

impl Completions {
    pub(super) fn run(&self, mut command: Command) {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut command, "fedgrid", &mut script);
        print(String::from_utf8_lossy(&script).trim_end());
    }
}

/// Arguments of `fedgrid man`.
#[derive(Debug, Args)]
#[command(after_help = "Example: fedgrid man --out ~/.local/share/man/man1")]
pub(super) struct ManPages {
    /// The folder for the pages: fedgrid.1, and one for each command.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,

    /// Replace pages that are there.
    #[arg(long)]
    force: bool,
}

impl ManPages {
    pub(super) fn run(&self, command: Command, terminal: Terminal) -> Result<()> {
        let mut command = command.disable_help_subcommand(true);
        command.build();
        let mut pages = Vec::new();
        collect(&command, &mut pages)?;
        let known = pages.iter().map(|(name, _)| self.out.join(name)).find(|path| path.exists());
        if let Some(path) = known.filter(|_| !self.force) {
            let path = path.display();
            return Err(Error::input(format!("'{path}' exists: replace it with --force")));
        }
        fs::create_dir_all(&self.out).map_err(|error| Error::folder(&self.out, &error))?;
        for (name, page) in &pages {
            let path = self.out.join(name);
            fs::write(&path, page).map_err(|error| Error::file("write", &path, &error))?;
        }
        terminal.say(&format!("{} in {}", counted(pages.len(), "page"), self.out.display()));
        terminal.give(&serde_json::to_string_pretty(&names(&pages)).expect("names are text"));
        Ok(())
    }
}

fn names(pages: &[(String, Vec<u8>)]) -> Vec<&str> {
    pages.iter().map(|(name, _)| name.as_str()).collect()
}

/// The pages of a command and of those below it, with their names.
fn collect(command: &Command, pages: &mut Vec<(String, Vec<u8>)>) -> Result<()> {
    let name = command.get_display_name().unwrap_or_else(|| command.get_name());
    let file = format!("{name}.1");
    let mut page = Vec::new();
    Man::new(command.clone())
        .render(&mut page)
        .map_err(|error| Error::file("write", Path::new(&file), &error))?;
    pages.push((file, page));
    command.get_subcommands().try_for_each(|inner| collect(inner, pages))
}
