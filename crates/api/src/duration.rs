//! Durations as Go and Kubernetes write them: `4h`, `1m30s`, `1.5h`.

use std::time::Duration;

const UNITS: [(&str, u128); 8] = [
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("μs", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

/// The duration that `text` writes, if it writes one. Negative durations are none here: nothing of ours may be.
pub fn parse(text: &str) -> Option<Duration> {
    if text == "0" {
        return Some(Duration::ZERO);
    }
    let mut rest = text.strip_prefix('+').unwrap_or(text);
    let mut total: u128 = 0;
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let number_end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').filter(|&end| end > 0)?;
        let (number, tail) = rest.split_at(number_end);
        let unit_end = tail.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(tail.len());
        let (unit, next) = tail.split_at(unit_end);
        let (_, nanos) = UNITS.into_iter().find(|(name, _)| *name == unit)?;
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if whole.is_empty() && fraction.is_empty() {
            return None;
        }
        total = total.checked_add(digits(whole)?.checked_mul(nanos)?)?;
        if !fraction.is_empty() {
            // Twelve digits reach below a nanosecond for every unit up to the hour.
            let fraction = &fraction[..fraction.len().min(12)];
            let scale = 10_u128.pow(u32::try_from(fraction.len()).ok()?);
            total = total.checked_add(digits(fraction)?.checked_mul(nanos)? / scale)?;
        }
        rest = next;
    }
    // Go's limit: what fits in 63 bits of nanoseconds, about 292 years.
    let nanos = u64::try_from(total).ok().filter(|&nanos| i64::try_from(nanos).is_ok())?;
    Some(Duration::from_nanos(nanos))
}

fn digits(text: &str) -> Option<u128> {
    if text.is_empty() {
        return Some(0);
    }
    text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::parse;
    use std::time::Duration;

    #[test]
    fn reads_what_go_writes() {
        let check = |text: &str, millis: Option<u64>| {
            assert_eq!(parse(text), millis.map(Duration::from_millis), "{text:?}");
        };
        check("4h0m0s", Some(14_400_000));
        check("10s", Some(10_000));
        check("1.5h", Some(5_400_000));
        check("1m30s", Some(90_000));
        check("250ms", Some(250));
        check("0", Some(0));
        check("0s", Some(0));
        check(".5s", Some(500));
        assert_eq!(parse("1µs"), Some(Duration::from_micros(1)));
    }

    #[test]
    fn refuses_everything_else() {
        for text in ["", "4", "h", "4 h", "-1s", "1d", "4h0", "1..5s", ".", "1h.", "99999999999999h", "１s"] {
            assert_eq!(parse(text), None, "{text:?}");
        }
    }
}
