//! Kubernetes' quantities (`500m`, `1.5Gi`, `1e3`), read as exact whole numbers.

/// Parts of one that [`parse`] counts in: as fine as Kubernetes does.
pub const NANOS: i128 = 1_000_000_000;

const MALFORMED: &str = "must be a quantity: a number, with an optional suffix n, u, m, k, M, G, T, P, E, Ki, Mi, Gi, Ti, \
                         Pi, Ei or an exponent (e.g. '500m', '8', '1.5Gi', '1e3')";
/// What is said of a quantity that is too large.
pub const TOO_LARGE: &str = "is more than can be counted: at most 9223372036854775807";

/// Decimal places below a billionth that are looked at; whatever follows only rounds up.
const PLACES: i64 = 19;

/// Reads a quantity as billionths of one. What is finer is rounded away from zero, as Kubernetes does.
pub fn parse(text: &str) -> Result<i128, String> {
    let (is_negative, unsigned) = match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    };
    let end = unsigned.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(unsigned.len());
    let (number, suffix) = unsigned.split_at(end);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let is_number = whole.len() + fraction.len() > 0 && !fraction.contains('.');
    let (true, Some((ten, two))) = (is_number, scale(suffix)) else { return Err(MALFORMED.to_owned()) };
    // Digits before this one count billionths; it may lie outside the digits that there are.
    let point = i64::try_from(whole.len()).unwrap_or(i64::MAX).saturating_add(ten).saturating_add(9);
    let digits = whole.bytes().chain(fraction.bytes()).map(|byte| u128::from(byte - b'0'));
    let nanos = shifted(digits, point, two).filter(|nanos| *nanos <= i128::from(i64::MAX) * NANOS);
    let nanos = nanos.ok_or_else(|| TOO_LARGE.to_owned())?;
    Ok(if is_negative { -nanos } else { nanos })
}

/// The powers of ten and of two that a suffix stands for.
fn scale(suffix: &str) -> Option<(i64, u32)> {
    Some(match suffix {
        "n" => (-9, 0),
        "u" => (-6, 0),
        "m" => (-3, 0),
        "" => (0, 0),
        "k" => (3, 0),
        "M" => (6, 0),
        "G" => (9, 0),
        "T" => (12, 0),
        "P" => (15, 0),
        "E" => (18, 0),
        "Ki" => (0, 10),
        "Mi" => (0, 20),
        "Gi" => (0, 30),
        "Ti" => (0, 40),
        "Pi" => (0, 50),
        "Ei" => (0, 60),
        _ => (suffix.strip_prefix(['e', 'E'])?.parse::<i32>().ok()?.into(), 0),
    })
}

/// The number with these digits and the decimal point before digit `point`, times `2^two`, rounded up.
fn shifted(digits: impl Iterator<Item = u128>, point: i64, two: u32) -> Option<i128> {
    let (mut whole, mut fraction, mut is_finer) = (0_u128, 0_u128, false);
    let mut position = 0_i64;
    for digit in digits {
        let place = position.saturating_sub(point);
        if place < 0 {
            whole = whole.checked_mul(10)?.checked_add(digit)?;
        } else if place < PLACES {
            fraction += digit * 10_u128.pow(u32::try_from(PLACES - 1 - place).ok()?);
        } else {
            is_finer |= digit != 0;
        }
        position += 1;
    }
    while whole != 0 && position < point {
        whole = whole.checked_mul(10)?;
        position += 1;
    }
    let denominator = 10_u128.pow(u32::try_from(PLACES).ok()?);
    let below = ((fraction + u128::from(is_finer)) << two).div_ceil(denominator);
    i128::try_from(whole.checked_mul(1 << two)?.checked_add(below)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities() {
        for (text, nanos) in [
            ("0", 0),
            ("8", 8 * NANOS),
            ("500m", NANOS / 2),
            ("1.5Ki", 1536 * NANOS),
            (".5", NANOS / 2),
            ("-1e1", -10 * NANOS),
        ] {
            assert_eq!(parse(text), Ok(nanos), "{text}");
        }
        for text in ["", "x8", "8x", "1Gb", "8 Gi", "Gi", "1.2.3", "8gi", "eight", "1e", "9223372036854775808"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
