//! Of `router/src/management_plane/metrics/format.rs`.

use super::Format;

#[test]
fn who_accepts_open_metrics_gets_it_and_everybody_else_text() {
    // As Prometheus 2.42 and 3.5 ask.
    let old = "application/openmetrics-text;version=1.0.0,application/openmetrics-text;\
               version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1";
    let new = "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,\
               application/openmetrics-text;version=0.0.1;q=0.5,text/plain;version=1.0.0;q=0.4,\
               text/plain;version=0.0.4;q=0.3,*/*;q=0.2";
    for header in [old, new, " application/openmetrics-text"] {
        assert_eq!(Format::accepted(header), Format::OpenMetrics, "{header}");
    }
    for header in [
        "",
        "*/*",
        "text/html,application/xhtml+xml,*/*;q=0.8",
        "text/plain, application/openmetrics-text;q=0.5",
        "application/openmetrics-text;q=0",
        "application/openmetrics-text;q=much",
    ] {
        assert_eq!(Format::accepted(header), Format::Text, "{header}");
    }
}
