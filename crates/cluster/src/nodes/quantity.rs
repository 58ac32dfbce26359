//! Amounts of resources as Kubernetes writes them ("500m", "16Gi", "1e3"), in whole units.

/// The amount in the unit that a kubelet counts a resource in: thousandths of a core for "cpu", whole ones for everything else, rounded up.
/// Nothing if this is no quantity, or one that no node has.
pub(super) fn units(resource: &str, text: &str) -> Option<i64> {
    let per_unit = if resource == "cpu" { 1000 } else { 1 };
    let (numerator, denominator) = fraction(text)?;
    let numerator = numerator.checked_mul(per_unit)?;
    let rounded_up = numerator.div_euclid(denominator) + i128::from(numerator.rem_euclid(denominator) != 0);
    i64::try_from(rounded_up).ok()
}

/// A quantity as numerator and positive denominator.
fn fraction(text: &str) -> Option<(i128, i128)> {
    let (sign, unsigned) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let end = unsigned.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(unsigned.len());
    let (number, suffix) = unsigned.split_at(end);
    let (whole, decimals) = number.split_once('.').unwrap_or((number, ""));
    let digits = format!("{whole}{decimals}");
    let mantissa: i128 = digits.parse().ok()?;
    let (up, down) = factor(suffix)?;
    let down = 10_i128.checked_pow(u32::try_from(decimals.len()).ok()?)?.checked_mul(down)?;
    Some((sign * mantissa.checked_mul(up)?, down))
}

/// What a suffix multiplies and divides by.
fn factor(suffix: &str) -> Option<(i128, i128)> {
    const SUFFIXES: [(&str, i128, i128); 16] = [
        ("", 1, 1),
        ("n", 1, 1_000_000_000),
        ("u", 1, 1_000_000),
        ("m", 1, 1000),
        ("k", 1000, 1),
        ("M", 1_000_000, 1),
        ("G", 1_000_000_000, 1),
        ("T", 1_000_000_000_000, 1),
        ("P", 1_000_000_000_000_000, 1),
        ("E", 1_000_000_000_000_000_000, 1),
        ("Ki", 1 << 10, 1),
        ("Mi", 1 << 20, 1),
        ("Gi", 1 << 30, 1),
        ("Ti", 1 << 40, 1),
        ("Pi", 1 << 50, 1),
        ("Ei", 1 << 60, 1),
    ];
    if let Some((_, up, down)) = SUFFIXES.iter().find(|(name, ..)| *name == suffix) {
        return Some((*up, *down));
    }
    let exponent: i32 = suffix.strip_prefix(['e', 'E'])?.parse().ok()?;
    let power = 10_i128.checked_pow(exponent.unsigned_abs())?;
    Some(if exponent < 0 { (1, power) } else { (power, 1) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_rounded_up_to_what_is_counted() {
        let cases = [
            ("cpu", "2", Some(2000)),
            ("cpu", "1500m", Some(1500)),
            ("cpu", "0.1", Some(100)),
            ("cpu", "100u", Some(1)),
            ("memory", "16Gi", Some(17_179_869_184)),
            ("memory", "128974848000m", Some(128_974_848)),
            ("memory", "1.5Ki", Some(1536)),
            ("memory", "0.1", Some(1)),
            ("nvidia.com/gpu", "8", Some(8)),
            ("pods", "1e2", Some(100)),
            ("pods", "12E-1", Some(2)),
            ("pods", "+5", Some(5)),
            ("cpu", "-500m", Some(-500)),
            ("memory", "2E", Some(2_000_000_000_000_000_000)),
            ("memory", "99E", None),
            ("memory", "", None),
            ("memory", ".", None),
            ("memory", "1.2.3", None),
            ("memory", "1Xi", None),
            ("memory", "1e99999", None),
        ];
        for (resource, text, expected) in cases {
            assert_eq!(units(resource, text), expected, "{resource} {text}");
        }
    }
}
