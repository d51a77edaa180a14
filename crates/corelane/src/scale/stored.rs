//! `corelane scale report`: a result of any of the verb's forms, shown again.

use report::json;
use scaling::ab::{self, AbResult};
use scaling::calibration::verdict::{self, Calibration};
use scaling::result::compare::{self, Comparison};
use scaling::result::{self, ScaleResult};
use scaling::suite::{self, SuiteResult};

use crate::common::{Outcome, Stored};

/// Reads the result, prints its report, and writes what is asked for.
pub(super) fn show(of: &Stored) -> Outcome {
    let Stored { stored, written } = of;
    let form = json::form(stored)?;
    match form.as_str() {
        ab::SCHEMA => {
            let found: AbResult = json::read(stored, &form)?;
            written.deliver(&ab::show::document(&found), &found)
        }
        verdict::SCHEMA => {
            let found: Calibration = json::read(stored, &form)?;
            written.deliver(&found.document(), &found)
        }
        compare::SCHEMA => {
            let found: Comparison = json::read(stored, &form)?;
            written.deliver(&found.document(), &found)
        }
        suite::SCHEMA => {
            let found: SuiteResult = json::read(stored, &form)?;
            written.deliver(&found.document(), &found)
        }
        _ => {
            let found: ScaleResult = json::read(stored, result::SCHEMA)?;
            written.deliver(&result::show::document(&found), &found)
        }
    }
}
