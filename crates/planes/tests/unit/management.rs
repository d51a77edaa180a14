use super::*;

#[test]
fn who_timed_out_waited_longest() {
    let responses = Responses {
        times_ns: (1..=98).collect(),
        timeouts: 2,
    };
    assert_eq!(responses.quantile_ns(0.5), Some(50));
    assert_eq!(responses.quantile_ns(0.98), Some(98));
    assert_eq!(responses.quantile_ns(0.99), None);
}

#[test]
fn a_server_that_cannot_keep_up_is_charged_for_those_who_wait() {
    if !needs::root("to make network namespaces") {
        return;
    }
    let Some(program) = crate::guest::program() else {
        needs::skipped!("no static program for the handler; build it with \"make guest\"");
        return;
    };
    let namespace = Namespace::new("web").unwrap();
    let server = Server::start(&namespace, &program).unwrap();
    let load = |rate| Load {
        rate,
        duration: Duration::from_secs(1),
        patience: Duration::from_millis(800),
        handler: Handler::Registers { steps: 1_000 },
    };
    let calm = ask(&namespace, load(10.0)).unwrap();
    assert_eq!((calm.times_ns.len(), calm.timeouts), (10, 0));
    // Stopped, it answers nobody, and every request is accounted for.
    host::process::signal(server.process(), host::process::Signal::STOP).unwrap();
    let stopped = ask(&namespace, load(10.0)).unwrap();
    assert_eq!((stopped.times_ns.len(), stopped.timeouts), (0, 10));
}

/// The p99 of 70 requests would be the longest of them.
#[test]
fn a_percentile_needs_ten_requests_beyond_it() {
    let responses = |count: u64| Responses {
        times_ns: (1..=count).collect(),
        timeouts: 0,
    };
    assert_eq!(responses(70).percentile_ns(0.99), None);
    assert_eq!(responses(70).percentile_ns(0.5), Some(35));
    assert_eq!(responses(99).percentile_ns(0.9), None);
    assert_eq!(responses(100).percentile_ns(0.9), Some(90));
    assert_eq!(responses(1_000).percentile_ns(0.99), Some(990));
}
