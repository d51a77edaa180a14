use fib::TableOrganisation;

use super::*;

#[test]
fn cases_read_as_words() {
    let case = Case {
        kind: Kind::Memory(Some(TableOrganisation::PerCore)),
        workers: 1,
        frame_bytes: 64,
        changes: 1000,
    };
    assert_eq!(
        case.to_string(),
        "memory, per-core table, 1 worker, 64 bytes, 1000 route changes/s"
    );
}
