use fib::TableOrganisation;

use super::*;

#[test]
fn cases_read_as_words() {
    let case = Case {
        kind: Kind::Memory(Some(TableOrganisation::PerCore)),
        first: 0,
        workers: 1,
        frame_bytes: 64,
        changes: 1000,
    };
    assert_eq!(
        case.to_string(),
        "memory, per-core table, 1 worker, 64 bytes, 1000 route changes/s"
    );
    let other = Case {
        first: 3,
        workers: 2,
        changes: 0,
        ..case
    };
    assert_eq!(other.cores(), 3..5);
    assert_eq!(
        other.to_string(),
        "memory, per-core table, 2 workers, 64 bytes, after the first 3 cores"
    );
}
