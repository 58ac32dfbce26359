//! Amounts such as `500m`, `1.5Gi` and `1e3`, exact to a billionth, and the one form in which an API server writes each of them.

use std::cmp::Ordering;

use serde_json::Value;

/// An amount.
#[derive(Debug, Clone, Copy)]
pub struct Quantity {
    /// In billionths.
    nano: i128,
    /// How it was written, which decides how it is written again.
    form: Form,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// `Ki`, `Mi` …
    Binary,
    /// `m`, `k`, `M` …
    Decimal,
    /// `e3`
    Exponent,
}

const NANO: i128 = 1_000_000_000;
/// What a server takes for any larger binary amount.
const MOST: i128 = i64::MAX as i128 * NANO;
const BINARY: [&str; 7] = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
/// From a billionth up, a thousand apart.
const DECIMAL: [&str; 10] = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"];

/// What is said of text that is no amount.
pub const FORMAT: &str = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
const SUFFIX: &str = "unable to parse quantity's suffix";

/// Amounts are equal however they are written.
impl PartialEq for Quantity {
    fn eq(&self, other: &Self) -> bool {
        self.nano == other.nano
    }
}

impl Eq for Quantity {}

impl PartialOrd for Quantity {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Quantity {
    fn cmp(&self, other: &Self) -> Ordering {
        self.nano.cmp(&other.nano)
    }
}

impl Quantity {
    /// Reads an amount; the error is in a server's words.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        let text = text.trim();
        let (negative, unsigned) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        let (whole, fraction, suffix) = parts(unsigned);
        if !looks_right(suffix) || unsigned == suffix {
            return Err(FORMAT);
        }
        let (form, power) = read_suffix(suffix).ok_or(SUFFIX)?;
        let magnitude = match form {
            Form::Binary => scaled(whole, fraction, 9, 1 << (10 * power)).min(MOST),
            _ => scaled(whole, fraction, 9 + i64::from(power), 1),
        };
        Ok(Self { nano: if negative { -magnitude } else { magnitude }, form })
    }

    /// The amount of a JSON value: text or a number.
    pub fn of(value: &Value) -> Option<Self> {
        match value {
            Value::String(text) => Self::parse(text).ok(),
            Value::Number(number) => Self::parse(&number.to_string()).ok(),
            _ => None,
        }
    }

    /// Whether it is less than nothing.
    pub fn is_negative(self) -> bool {
        self.nano < 0
    }

    /// Whether it is a whole number.
    pub fn is_whole(self) -> bool {
        self.nano % NANO == 0
    }

    /// The sum, written as the first is, unless that is nothing.
    pub fn plus(self, other: Self) -> Self {
        let form = if self.is_zero() { other.form } else { self.form };
        Self { nano: self.nano.saturating_add(other.nano), form }
    }

    /// Nothing at all.
    pub fn is_zero(self) -> bool {
        self.nano == 0
    }
}

impl std::fmt::Display for Quantity {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.nano == 0 {
            return out.write_str("0");
        }
        if self.form == Form::Binary && self.is_whole() && self.nano.abs() >= 1024 * NANO {
            let mut number = self.nano / NANO;
            let mut power = 0;
            while number % 1024 == 0 && power + 1 < BINARY.len() {
                number /= 1024;
                power += 1;
            }
            return write!(out, "{number}{}", BINARY[power]);
        }
        let mut number = self.nano;
        let mut power = 0;
        while number % 1000 == 0 && power + 1 < DECIMAL.len() {
            number /= 1000;
            power += 1;
        }
        match (self.form, power) {
            (Form::Exponent, 3) => write!(out, "{number}"),
            (Form::Exponent, power) => write!(out, "{number}e{}", 3 * i64::try_from(power).unwrap_or(0) - 9),
            _ => write!(out, "{number}{}", DECIMAL[power]),
        }
    }
}

/// Digits before and after the point, and the rest.
fn parts(unsigned: &str) -> (&str, &str, &str) {
    let digits = |text: &str| text.find(|sign: char| !sign.is_ascii_digit()).unwrap_or(text.len());
    let (whole, rest) = unsigned.split_at(digits(unsigned));
    match rest.strip_prefix('.') {
        Some(rest) => {
            let (fraction, suffix) = rest.split_at(digits(rest));
            (whole, fraction, suffix)
        }
        None => (whole, "", rest),
    }
}

/// Letters, then a sign, then digits, each optional, as the regular expression has it.
fn looks_right(suffix: &str) -> bool {
    let rest = suffix.trim_start_matches(|letter| "eEinumkKMGTP".contains(letter));
    let rest = rest.strip_prefix(['-', '+']).unwrap_or(rest);
    rest.bytes().all(|digit| digit.is_ascii_digit())
}

fn read_suffix(suffix: &str) -> Option<(Form, i32)> {
    let position =
        |table: &[&str]| table.iter().position(|known| *known == suffix).and_then(|at| i32::try_from(at).ok());
    if let Some(at) = position(&DECIMAL) {
        return Some((Form::Decimal, 3 * at - 9));
    }
    if let Some(at) = position(&BINARY) {
        return Some((Form::Binary, at));
    }
    let exponent = suffix.strip_prefix(['e', 'E'])?;
    Some((Form::Exponent, exponent.parse().ok()?))
}

/// `whole.fraction` × 10^power × factor, rounded up; absurd amounts stop at the largest number there is.
fn scaled(whole: &str, fraction: &str, power: i64, factor: i128) -> i128 {
    let digits = whole.bytes().chain(fraction.bytes());
    let number = digits.fold(0_i128, |sum, digit| sum.saturating_mul(10).saturating_add(i128::from(digit - b'0')));
    let number = number.saturating_mul(factor);
    let shift = power.saturating_sub(i64::try_from(fraction.len()).unwrap_or(i64::MAX));
    let ten = |times: i64| u32::try_from(times).ok().and_then(|times| 10_i128.checked_pow(times)).unwrap_or(i128::MAX);
    if shift >= 0 {
        return number.saturating_mul(ten(shift));
    }
    let divisor = ten(shift.saturating_neg());
    number / divisor + i128::from(number % divisor != 0)
}

/// The form in which a server keeps an amount. In lists of resources nothing is finer than a thousandth, hence `milli`.
///
/// It leaves text alone if it looks as it would write it itself at a glance, so that `+2` and `1.500` stay.
pub fn canonical(text: &str, milli: bool) -> Result<String, &'static str> {
    let text = text.trim();
    let mut quantity = Quantity::parse(text)?;
    let (whole, fraction, suffix) = parts(text.trim_start_matches(['+', '-']));
    let (form, power) = read_suffix(suffix).ok_or(SUFFIX)?;
    // Leading zeros do not count, but the one before a point does.
    let bare = whole.trim_start_matches('0');
    let digits = format!("{}{fraction}", if bare.is_empty() && !whole.is_empty() { "0" } else { bare });
    let shift = i64::from(power) - i64::try_from(fraction.len()).unwrap_or(i64::MAX);
    let kept = text == "0"
        || match form {
            Form::Binary => {
                let room = 14 - i64::try_from(whole.len()).unwrap_or(i64::MAX) - 3 * i64::from(power);
                fraction.is_empty() && room >= 0 && whole.parse::<u64>().is_ok_and(|value| value & 7 != 0)
            }
            _ => {
                (1..=18).contains(&digits.len())
                    && shift >= if milli { -3 } else { -9 }
                    && shift % 3 == 0
                    && !digits.ends_with("000")
                    && !digits.starts_with('0')
            }
        };
    if kept {
        return Ok(text.to_owned());
    }
    if milli {
        quantity.nano =
            quantity.nano.signum() * (quantity.nano.saturating_abs().saturating_add(999_999) / 1_000_000 * 1_000_000);
    }
    Ok(quantity.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_written_as_a_server_does() {
        let cases = [
            ("1000m", "1"),
            ("1500m", "1500m"),
            ("0.5", "500m"),
            ("1.5", "1500m"),
            ("1.500", "1.500"),
            ("1.5Gi", "1536Mi"),
            ("1024Mi", "1Gi"),
            ("1000Mi", "1000Mi"),
            ("512", "512"),
            ("1024", "1024"),
            ("1000", "1k"),
            ("1500", "1500"),
            ("123456", "123456"),
            ("100k", "100k"),
            ("1e3", "1e3"),
            ("1E3", "1E3"),
            ("12e2", "1200"),
            ("1E", "1E"),
            ("0.1Ki", "102400m"),
            ("0.5Ki", "512"),
            ("1.1Ki", "1126400m"),
            ("-0.5", "-500m"),
            ("+2", "+2"),
            ("0.0000000001", "1m"),
            ("1.", "1."),
            (".5", "500m"),
            ("99999999999999999999", "99999999999999999999"),
            ("1e30", "1e30"),
            ("1e-30", "1e-3"),
            ("0.000001Ki", "2m"),
            (".", "0"),
            (" 1 ", "1"),
            ("1.000000000000001Gi", "1073741824001m"),
            ("0.00000000000000001Ki", "1m"),
            ("0.0015", "2m"),
            ("8Gi", "8Gi"),
            ("2048Mi", "2Gi"),
            ("1000000Ki", "1000000Ki"),
            ("00", "0"),
            ("01", "01"),
            ("9999999999999999Ei", "9223372036854775807"),
            ("1.5e3", "1500"),
            ("1n", "1m"),
        ];
        for (given, expected) in cases {
            assert_eq!(canonical(given, true).as_deref(), Ok(expected), "{given}");
        }
    }

    #[test]
    fn other_text_is_refused() {
        let cases = [
            ("x", FORMAT),
            ("", FORMAT),
            ("1 Gi", FORMAT),
            ("1mm", SUFFIX),
            ("1e", SUFFIX),
            ("1GiB", FORMAT),
            ("1.1.1", FORMAT),
        ];
        for (given, expected) in cases {
            assert_eq!(Quantity::parse(given), Err(expected), "{given}");
        }
    }
}
