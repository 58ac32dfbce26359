//! Amounts and times in OSMO's notation.

use serde_json::Value;
use std::time::Duration;

/// Longest time that counts: what fits in 63 bits of nanoseconds, as in Kubernetes.
const LONGEST: f64 = 9.2e9;

/// Bytes of an amount such as `64Gi`, `1.5T` or `512`; all units are powers of two, `G` means `Gi`.
pub fn bytes(value: &Value) -> Option<u64> {
    let text = match value {
        Value::Number(number) => number.to_string(),
        Value::String(text) => text.trim().to_owned(),
        _ => return None,
    };
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let number: f64 = text[..end].parse().ok()?;
    let unit = text[end..].trim();
    let factor = match unit {
        "" | "B" => 1.0,
        "m" => 0.001,
        _ => {
            let power = "KMGT".find(unit.chars().next()?)?;
            if !["", "i", "iB"].contains(&&unit[1..]) {
                return None;
            }
            1024_f64.powi(i32::try_from(power).ok()? + 1)
        }
    };
    let bytes = (number * factor).ceil();
    // Above this a float no longer tells bytes apart, and no node has as much.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked just before")]
    (bytes.is_finite() && (0.0..9e15).contains(&bytes)).then_some(bytes as u64)
}

/// The amount as a Kubernetes quantity.
pub fn quantity(bytes: u64) -> String {
    for (unit, shift) in [("Ti", 40), ("Gi", 30), ("Mi", 20), ("Ki", 10)] {
        if bytes > 0 && bytes.is_multiple_of(1 << shift) {
            return format!("{}{unit}", bytes >> shift);
        }
    }
    bytes.to_string()
}

/// A time: a number of seconds, `<number><d|h|m|s|ms|us>`, or ISO 8601 such as `PT1H30M`.
pub fn time(value: &Value) -> Option<Duration> {
    let seconds = match value {
        Value::Number(number) => number.as_f64()?,
        Value::String(text) => {
            let text = text.trim();
            match text.strip_prefix('P') {
                Some(rest) => iso(rest)?,
                None => plain(text)?,
            }
        }
        _ => return None,
    };
    ((0.0..LONGEST).contains(&seconds)).then(|| Duration::from_secs_f64(seconds))
}

fn plain(text: &str) -> Option<f64> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let number: f64 = text[..end].parse().ok()?;
    let factor = match &text[end..] {
        "d" => 86_400.0,
        "h" => 3_600.0,
        "m" => 60.0,
        "" | "s" => 1.0,
        "ms" => 1e-3,
        "us" => 1e-6,
        _ => return None,
    };
    Some(number * factor)
}

/// What follows the `P`: days, then after a `T` hours, minutes, seconds, each at most once and in this order.
fn iso(text: &str) -> Option<f64> {
    let (date, clock) = text.split_once('T').map_or((text, None), |(date, clock)| (date, Some(clock)));
    if (date.is_empty() && clock.is_none()) || clock.is_some_and(str::is_empty) {
        return None;
    }
    let parts = |mut text: &str, units: &[(char, f64)]| {
        let mut total = 0.0;
        let mut units = units.iter();
        while !text.is_empty() {
            let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').filter(|end| *end > 0)?;
            let unit = text[end..].chars().next()?;
            let (_, factor) = units.find(|(name, _)| *name == unit)?;
            total += text[..end].parse::<f64>().ok()? * factor;
            text = &text[end + unit.len_utf8()..];
        }
        Some(total)
    };
    let days = parts(date, &[('W', 604_800.0), ('D', 86_400.0)])?;
    Some(days + parts(clock.unwrap_or_default(), &[('H', 3_600.0), ('M', 60.0), ('S', 1.0)])?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn osmo1_5_all_units_are_powers_of_two() {
        let check = |value: Value, expected: Option<u64>| assert_eq!(bytes(&value), expected, "{value}");
        for gib in ["1Gi", "1G", "1GiB", "1024Mi", "1048576K", "1073741824", "1073741824B", "1 Gi"] {
            check(gib.into(), Some(1 << 30));
        }
        check(json!(1024), Some(1024));
        check("1.5Ki".into(), Some(1536));
        check("2Ti".into(), Some(2 << 40));
        check("1500m".into(), Some(2));
        for wrong in ["", "Gi", "1GB", "1Gib", "-1Gi", "1e9", "1Pi", "1 2", "1é", "99999999T"] {
            check(wrong.into(), None);
        }
        for wrong in [json!(-1), json!(true), json!(null), json!([1])] {
            check(wrong, None);
        }
        assert_eq!([quantity(1 << 30), quantity(1536), quantity(7), quantity(0)], ["1Gi", "1536", "7", "0"]);
    }

    #[test]
    fn osmo1_2_times() {
        let check = |value: Value, millis: Option<u64>| {
            assert_eq!(time(&value), millis.map(Duration::from_millis), "{value}");
        };
        check(json!(90), Some(90_000));
        check(json!(0.5), Some(500));
        check("60d".into(), Some(60 * 86_400_000));
        check("2h".into(), Some(7_200_000));
        check("5m".into(), Some(300_000));
        check("250ms".into(), Some(250));
        assert_eq!(time(&"1500us".into()), Some(Duration::from_micros(1500)));
        check("PT1H30M".into(), Some(5_400_000));
        check("P1DT0.5S".into(), Some(86_400_500));
        for wrong in ["", "h", "1w", "-1s", "PT", "P", "PT1M1H", "1.5h", "PTM", "é", "99999999999d"] {
            check(wrong.into(), None);
        }
        check(json!(-1), None);
        check(json!(null), None);
    }
}
