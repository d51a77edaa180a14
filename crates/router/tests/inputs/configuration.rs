//! Any text as a configuration file: one that is right can be used, one that is wrong is answered
//! by one line that names a line of it.

use router::management_plane::config::Config;

pub(crate) fn run(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    match Config::parse(&text, "a.toml") {
        Ok(config) => assert_eq!(config.check(), Ok(()), "{text:?}"),
        Err(error) => {
            let lines = 1 + text.matches('\n').count();
            assert!((1..=lines).contains(&error.line), "{error:?} of {text:?}");
            assert_eq!(
                error.to_string().lines().count(),
                1,
                "{error:?} of {text:?}"
            );
        }
    }
}
