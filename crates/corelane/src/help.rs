//! `corelane help`: all verbs, one of them, or a page of the documents.

use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{Command, CommandFactory};

use crate::common::{Outcome, print};

/// Explain a verb, or a topic: compare-builds, glossary, router, second-core, tutorial, verbs
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// A verb with what is below it, such as `scale ab`, or a topic
    #[arg(value_name = "VERB|TOPIC")]
    words: Vec<String>,
}

/// The pages that this program carries with it.
const TOPICS: [(&str, &str); 6] = [
    (
        "compare-builds",
        include_str!("../../../docs/compare-builds.md"),
    ),
    ("glossary", include_str!("../../../docs/glossary.md")),
    ("router", include_str!("../../../docs/router.md")),
    ("second-core", include_str!("../../../docs/second-core.md")),
    ("tutorial", include_str!("../../../docs/tutorial.md")),
    ("verbs", include_str!("../../../docs/verbs.md")),
];

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let words = &arguments.words;
    if let [word] = &words[..]
        && let Some((_, page)) = TOPICS.iter().find(|(name, _)| name == word)
    {
        print(page)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut command = crate::Arguments::command();
    command.build();
    let Some(verb) = below(&mut command, words) else {
        let unknown = format!(
            "\"{}\" is no verb and no topic; the topics are {}; `corelane help` lists the verbs",
            words.join(" "),
            TOPICS.map(|(name, _)| name).join(", ")
        );
        command.error(ErrorKind::InvalidSubcommand, unknown).exit();
    };
    print(&verb.render_long_help().to_string())?;
    Ok(ExitCode::SUCCESS)
}

/// The command that `words` name, from `command` downwards.
fn below<'a>(command: &'a mut Command, words: &[String]) -> Option<&'a mut Command> {
    let mut words = words.iter();
    words.try_fold(command, |command, word| command.find_subcommand_mut(word))
}
