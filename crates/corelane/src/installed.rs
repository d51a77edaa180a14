//! What a package installs beside the program: completions for shells, and manual pages. Both are
//! made from the command line's own description.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::CommandFactory;
use clap_complete::Shell;

use crate::common::{Outcome, print};

/// Print the completions of all verbs and options for a shell
///
/// For bash: corelane completions bash > /usr/share/bash-completion/completions/corelane
#[derive(clap::Args)]
pub(crate) struct Completions {
    /// Which shell
    shell: Shell,
}

/// Write the manual pages of all verbs into a directory
#[derive(clap::Args)]
pub(crate) struct Manual {
    /// A directory that exists, such as /usr/share/man/man1
    directory: PathBuf,
}

pub(crate) fn completions(arguments: &Completions) -> Outcome {
    let mut text = Vec::new();
    let mut command = crate::Arguments::command();
    clap_complete::generate(arguments.shell, &mut command, "corelane", &mut text);
    print(&String::from_utf8(text)?)?;
    Ok(ExitCode::SUCCESS)
}

pub(crate) fn manual(arguments: &Manual) -> Outcome {
    let directory = &arguments.directory;
    clap_mangen::generate_to(crate::Arguments::command(), directory).map_err(|error| {
        format!(
            "cannot write manual pages into {}: {error}; name a directory that exists and may be \
             written",
            directory.display()
        )
    })?;
    Ok(ExitCode::SUCCESS)
}
