//! The configuration file: every key, and errors that help.

use std::path::Path;
use std::time::Duration;

use router::engine::{EngineKind, Require};
use router::management_plane::config::{Config, KEYS, Routing};

#[test]
fn a_short_file_gets_the_defaults() {
    let config = Config::parse("ports = [\"r0\", \"r1\"]\n", "a.toml").unwrap();
    assert_eq!(
        config,
        Config {
            ports: vec!["r0".into(), "r1".into()],
            ..Config::default()
        }
    );
}

/// Each key as the list has it says nothing new.
#[test]
fn the_defaults_of_the_list_are_the_defaults() {
    let text = KEYS
        .iter()
        .filter(|key| key.name != "ports")
        .fold("ports = [\"r0\", \"r1\"]\n".to_owned(), |text, key| {
            format!("{text}{} = {}\n", key.name, key.default_value())
        });
    let short = Config::parse("ports = [\"r0\", \"r1\"]\n", "a.toml");
    assert_eq!(Config::parse(&text, "b.toml"), short, "{text}");
}

#[test]
fn every_key_is_read() {
    let text = "engine = \"af-xdp\"\nports = [\"a\"]\nrequire = \"native\"\nbypass-netfilter \
                = true\ninstance = \"edge\"\nrun-directory = \"/tmp/x\"\nmetrics = \
                \"\"\nverify-seconds = 0\nstale-milliseconds = 750\npunt-limits = \"local=5, \
                no-route = 0\"\nbusy-poll = true\nlong-frames = true\ndrain-routing = \"bird\"\n\
                drain-limit-seconds = 7\n";
    let config = Config::parse(text, "a.toml").unwrap();
    assert_eq!(
        (config.engine, config.require),
        (EngineKind::AfXdp, Require::Native)
    );
    assert_eq!(config.stale.0, Some(Duration::from_millis(750)));
    let defaults = "routing=0, neighbour=10000, local=0, group=10000, expired=1000, no-route=1000, \
                    unresolved=200, options=1000, too-big=1000";
    assert_eq!(Config::default().punt_limits.to_string(), defaults);
    let changed = defaults.replace("local=0", "local=5");
    let changed = changed.replace("no-route=1000", "no-route=0");
    assert_eq!(config.punt_limits.to_string(), changed);
    assert!(config.busy_poll && config.long_frames);
    assert_eq!(config.drain_routing, Routing::Bird);
    assert_eq!(config.drain_limit_seconds, 7);
    assert!(config.bypass_netfilter && config.metrics.0.is_none() && config.verify.is_none());
    assert_eq!(config.socket(), Path::new("/tmp/x/edge.sock"));
}

#[test]
fn errors_name_file_line_key_and_what_is_allowed() {
    for (text, line, word) in [
        (
            "ports = [\"r0\"]\nengine = \"dpdk\"\n",
            2,
            "xdp, xdp-kernel-fib",
        ),
        (
            "ports = [\"r0\"]\n\nrequire = \"fast\"\n",
            3,
            "any, native, generic",
        ),
        (
            "ports = [\"r0\"]\nport = \"r1\"\n",
            2,
            "port: no such key; allowed are ports, engine,",
        ),
        ("ports = []\n", 1, "ports"),
        ("\nports = [\"r0\", \"r0\"]\n", 2, "twice"),
        (
            "ports = [\"r0\"]\nmetrics = \"0.0.0.0:80\"\n",
            2,
            "metrics = \"0.0.0.0:80\": beyond loopback only with metrics-allow",
        ),
        (
            "ports = [\"r0\"]\nmetrics = \"localhost\"\n",
            2,
            "metrics = \"localhost\": allowed is an address with its port",
        ),
        (
            "ports = [\"r0\"]\nmetrics-allow = [\"192.0.2.1/24\"]\n",
            2,
            "\"192.0.2.1/24\": ",
        ),
        ("metrics-allow = 7\n", 1, "allowed are a list of addresses"),
        (
            "ports = [\"r0\"]\ninstance = \"../x\"\n",
            2,
            "instance = \"../x\": allowed are 1 to 32 letters",
        ),
        (
            "ports = [\"r0\"]\nverify-seconds = -1\n",
            2,
            "verify-seconds = -1: ",
        ),
        (
            "ports = [\"r0\"]\nverify-seconds = \"5\"\n",
            2,
            "allowed are 0 (never) to 4294967295",
        ),
        (
            "bypass-netfilter = \"yes\"\nports = [\"r0\"]\n",
            1,
            "bypass-netfilter = \"yes\": ",
        ),
        ("engine = 7\n", 1, "allowed are auto"),
        ("require = []\n", 1, "allowed are any, native, generic"),
        ("instance = 7\n", 1, "allowed are 1 to 32 letters"),
        (
            "run-directory = 7\n",
            1,
            "allowed are the path of a directory",
        ),
        ("metrics = 9470\n", 1, "127.0.0.1:9470"),
        ("ports = \"r0\"\n", 1, "ports = \"r0\": "),
        (
            "ports = [\n  \"r0\",\n  7,\n]\n",
            3,
            "allowed are a list of interface names",
        ),
        ("ports = [\"r0\"\nengine = \"xdp\"\n", 2, "allowed are"),
        (
            "ports = [\"r0\"]\nstale-milliseconds = 20\n",
            2,
            "stale-milliseconds = 20: allowed are 0 (for ever), 500 to 600000",
        ),
        (
            "ports = [\"r0\"]\nlong-frames = true\n",
            2,
            "only workers of engine = \"af-xdp\" have a limit",
        ),
        (
            "ports = [\"r0\"]\nbusy-poll = true\n",
            2,
            "only workers of engine = \"af-xdp\" poll",
        ),
        (
            "ports = [\"r0\"]\npunt-limits = \"ssh=7\"\n",
            2,
            "punt-limits = \"ssh=7\": allowed are \"none\" and CLASS=FRAMES",
        ),
        ("forward everything\n", 1, "a line is KEY = VALUE"),
    ] {
        assert_refused(text, line, word);
    }
}

#[test]
fn errors_about_draining_help_too() {
    for (text, line, word) in [
        (
            "ports = [\"r0\"]\ndrain-routing = \"ospf\"\n",
            2,
            "allowed are none, frr, bird",
        ),
        (
            "ports = [\"r0\"]\ndrain-withdraw = \"true\"\n",
            2,
            "give both or none",
        ),
        (
            "ports = [\"r0\"]\ndrain-routing = \"frr\"\ndrain-withdraw = \"a\"\n\
             drain-restore = \"b\"\n",
            3,
            "give one of them",
        ),
        (
            "ports = [\"r0\"]\ndrain-quiet-seconds = 0\n",
            2,
            "drain-quiet-seconds = 0: allowed are 1 to 3600",
        ),
    ] {
        assert_refused(text, line, word);
    }
}

/// The error names the line, and says this.
fn assert_refused(text: &str, line: usize, word: &str) {
    let error = Config::parse(text, "a.toml").unwrap_err();
    let shown = error.to_string();
    assert!(shown.starts_with(&format!("a.toml:{line}: ")), "{shown}");
    assert!(shown.contains(word), "{word:?} is not in {shown:?}");
}

#[test]
fn who_may_read_the_metrics_is_told_by_address() {
    let text = "ports = [\"r0\"]\nmetrics = \"[::]:9470\"\nmetrics-allow = [\"192.0.2.0/24\", \
                \"2001:db8::7\"]\n";
    let config = Config::parse(text, "x").unwrap();
    let admits = |client: &str| config.metrics_allow.admits(client.parse().unwrap());
    for client in [
        "192.0.2.9",
        "::ffff:192.0.2.9",
        "2001:db8::7",
        "127.0.0.1",
        "::1",
    ] {
        assert!(admits(client), "{client}");
    }
    for client in ["192.0.3.9", "::ffff:192.0.3.9", "2001:db8::8", "fe80::1"] {
        assert!(!admits(client), "{client}");
    }
}
