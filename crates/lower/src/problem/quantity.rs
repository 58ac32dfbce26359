//! Kubernetes' quantities (`500m`, `1.5Gi`, `1e3`) as exact whole numbers, and back.

use trellis_api::names::resource;

/// Parts of one that [`parse`] counts in: as fine as Kubernetes does.
pub const NANOS: i128 = 1_000_000_000;

/// The most that all amounts of one resource may come to, on nodes and in pods each, so that sums never overflow.
pub const MOST: i64 = i64::MAX / 2;

const MALFORMED: &str = "must be a quantity: a number, with an optional suffix n, u, m, k, M, G, T, P, E, Ki, Mi, Gi, Ti, \
                         Pi, Ei or an exponent (e.g. '500m', '8', '1.5Gi', '1e3')";
const TOO_LARGE: &str = "is more than can be counted: at most 9223372036854775807";

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

/// An exact quantity in the resource's base unit, rounded up: thousandths for `cpu`, whole ones for all else. Nothing if
/// it is too large.
pub fn whole_units(resource: &str, nanos: i128) -> Option<i64> {
    let unit = if resource == resource::CPU { NANOS / 1000 } else { NANOS };
    i64::try_from(nanos.div_euclid(unit) + i128::from(nanos.rem_euclid(unit) != 0)).ok()
}

/// Reads an amount of a resource: exact, and not negative.
pub fn parse_amount(text: &str) -> Result<i128, String> {
    match parse(text) {
        Ok(nanos) if nanos < 0 => Err("must not be negative".to_owned()),
        parsed => parsed,
    }
}

/// Reads an amount of a resource in its base unit.
pub fn amount(resource: &str, text: &str) -> Result<i64, String> {
    whole_units(resource, parse_amount(text)?).ok_or_else(|| TOO_LARGE.to_owned())
}

/// An amount for people, in Kubernetes' form: `8` or `500m` of CPU, `1Ti` of memory, `4` of anything else.
pub fn show(resource: &str, amount: i64) -> String {
    let is_bytes = matches!(resource, resource::MEMORY | resource::EPHEMERAL_STORAGE | "storage")
        || resource.starts_with(resource::HUGE_PAGES);
    match resource {
        resource::CPU if amount % 1000 == 0 => (amount / 1000).to_string(),
        resource::CPU => format!("{amount}m"),
        _ if is_bytes => show_bytes(amount),
        _ => amount.to_string(),
    }
}

/// Bytes with the largest suffix that loses nothing, decimal only where that is shorter.
fn show_bytes(bytes: i64) -> String {
    const BINARY: [&str; 7] = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
    const DECIMAL: [&str; 7] = ["", "k", "M", "G", "T", "P", "E"];
    let reduced = |base: i64, suffixes: [&'static str; 7]| {
        let (mut rest, mut steps) = (bytes, 0);
        while rest != 0 && rest % base == 0 && steps + 1 < suffixes.len() {
            rest /= base;
            steps += 1;
        }
        (rest.to_string(), suffixes[steps])
    };
    let (binary, decimal) = (reduced(1024, BINARY), reduced(1000, DECIMAL));
    let (number, suffix) = if decimal.0.len() < binary.0.len() { decimal } else { binary };
    number + suffix
}
