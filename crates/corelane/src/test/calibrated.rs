//! The settings of the calibrated device, as written on the command line.

use tester::link::device::Settings;

type Error = Box<dyn std::error::Error + Send + Sync>;

/// Reads `name=value` settings; what is not named is perfect.
///
/// # Errors
/// A name that is none, or a value that is none of its kind.
pub(super) fn settings(words: &[String]) -> Result<Settings, Error> {
    let mut settings = Settings::default();
    for word in words {
        let (name, value) = word
            .split_once('=')
            .ok_or_else(|| format!("--calibrated {word}: write name=value"))?;
        let number = || {
            quantity(value).ok_or_else(|| {
                format!("--calibrated {word}: write a number with its unit, as 500kpps, 20us, 0.1%")
            })
        };
        match name {
            "rate" => settings.rate = number()?,
            "buffer" => settings.buffer = number()? as u64,
            "delay" => settings.delay_ns = number()? as u64,
            "loss" => settings.loss = number()?,
            "duplicate" => settings.duplicate = number()?,
            "corrupt" => settings.corrupt = number()?,
            "misdirect" => settings.misdirect = number()?,
            "reorder" => settings.reorder = number()?,
            "hold" => settings.hold_ns = number()? as u64,
            _ => {
                return Err(format!(
                    "--calibrated {word}: there are rate, buffer, delay, loss, duplicate, \
                     corrupt, misdirect, reorder, hold"
                )
                .into());
            }
        }
    }
    if settings.rate <= 0.0 {
        return Err("--calibrated rate: give frames/s above 0".into());
    }
    Ok(settings)
}

/// A number not below 0 with its unit: frames/s, frames, a share, or a time in ns.
fn quantity(text: &str) -> Option<f64> {
    const UNITS: [(&str, f64); 9] = [
        ("Mpps", 1e6),
        ("kpps", 1e3),
        ("pps", 1.0),
        ("ns", 1.0),
        ("us", 1e3),
        ("ms", 1e6),
        ("%", 0.01),
        ("s", 1e9),
        ("", 1.0),
    ];
    UNITS.iter().find_map(|(unit, factor)| {
        let number: f64 = text.strip_suffix(unit)?.trim().parse().ok()?;
        (number >= 0.0 && number.is_finite()).then_some(number * factor)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_have_units() {
        let words = ["rate=500kpps", "delay=20us", "loss=0.5%", "buffer=64"].map(str::to_owned);
        let read = settings(&words).unwrap();
        assert!((read.rate - 5e5).abs() < 1e-6 && (read.loss - 0.005).abs() < 1e-12);
        assert_eq!((read.delay_ns, read.buffer), (20_000, 64));
    }

    #[test]
    fn nonsense_is_refused_by_name() {
        for word in [
            "rate",
            "rate=fast",
            "rate=0",
            "colour=1",
            "delay=-1us",
            "loss=1furlong",
        ] {
            let error = settings(&[word.to_owned()]).unwrap_err().to_string();
            assert!(error.contains(word.split('=').next().unwrap()), "{error}");
        }
    }
}
