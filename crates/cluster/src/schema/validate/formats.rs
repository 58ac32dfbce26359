//! What texts of a format look like. A real server ignores formats that it does not know.

use std::net::Ipv6Addr;
use std::str::FromStr;

use super::super::Shape;
use super::names::{is_dns1123, is_subdomain};

/// Formats of text that are checked.
const OF_TEXT: [&str; 27] = [
    "bsonobjectid",
    "uri",
    "email",
    "hostname",
    "ipv4",
    "ipv6",
    "cidr",
    "mac",
    "uuid",
    "uuid3",
    "uuid4",
    "uuid5",
    "isbn",
    "isbn10",
    "isbn13",
    "creditcard",
    "ssn",
    "hexcolor",
    "rgbcolor",
    "byte",
    "password",
    "date",
    "duration",
    "datetime",
    "date-time",
    "k8s-short-name",
    "k8s-long-name",
];

/// Whether a real server looks at this format for values of this shape.
pub(crate) fn counts(format: &str, shape: Shape) -> bool {
    match shape {
        Shape::Integer => matches!(format, "int32" | "int64"),
        Shape::Number => matches!(format, "float" | "double"),
        _ => is_of_text(format),
    }
}

pub(crate) fn is_of_text(format: &str) -> bool {
    OF_TEXT.contains(&format)
}

/// Whether a text is of a format; true for formats that are not known.
pub(crate) fn valid(format: &str, text: &str) -> bool {
    match format {
        "date-time" | "datetime" => is_date_time(text),
        "date" => is_date(text),
        "duration" => is_duration(text),
        "uuid" => is_uuid(text, None),
        "uuid3" => is_uuid(text, Some('3')),
        "uuid4" => is_uuid(text, Some('4')),
        "uuid5" => is_uuid(text, Some('5')),
        "byte" => is_base64(text),
        "ipv4" => is_ipv4(text),
        "ipv6" => is_ipv6(text),
        "cidr" => is_cidr(text),
        "mac" => is_mac(text),
        "uri" => is_uri(text),
        "email" => is_email(text),
        "hostname" => is_hostname(text),
        "bsonobjectid" => text.len() == 24 && is_hex(text),
        "isbn" => is_isbn10(text) || is_isbn13(text),
        "isbn10" => is_isbn10(text),
        "isbn13" => is_isbn13(text),
        "creditcard" => is_credit_card(text),
        "ssn" => is_ssn(text),
        "hexcolor" => {
            let digits = text.strip_prefix('#').unwrap_or(text);
            matches!(digits.len(), 3 | 6) && is_hex(digits)
        }
        "rgbcolor" => is_rgb(text),
        "k8s-short-name" => is_dns1123(text),
        "k8s-long-name" => is_subdomain(text),
        _ => true,
    }
}

fn is_hex(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_date(text: &str) -> bool {
    text.len() == 10 && text.is_ascii() && jiff::civil::Date::from_str(text).is_ok() && text.as_bytes()[4] == b'-'
}

fn is_date_time(text: &str) -> bool {
    let text = text.to_lowercase();
    let Some((date, time)) = text.split_once('t') else { return false };
    if !is_date(date) || !time.is_ascii() || time.len() < 9 {
        return false;
    }
    let (clock, rest) = time.split_at(8);
    let parts: Vec<&str> = clock.split(':').collect();
    let [hours, minutes, seconds] = parts[..] else { return false };
    let two = |part: &str, max: &str| part.len() == 2 && is_digits(part) && part <= max;
    if !two(hours, "23") || !two(minutes, "59") || !two(seconds, "59") {
        return false;
    }
    let digits = rest.get(1..).unwrap_or_default().bytes().take_while(u8::is_ascii_digit).count();
    let zone = if digits > 0 && !rest.starts_with(['+', '-']) { &rest[1 + digits..] } else { rest };
    match zone.strip_prefix(['+', '-']) {
        None => zone == "z",
        Some(offset) => offset.len() == 5 && &offset[2..3] == ":" && is_digits(&offset[..2]) && is_digits(&offset[3..]),
    }
}

/// Go's durations (`1h30m`), and numbers with names of units (`3 weeks`).
fn is_duration(text: &str) -> bool {
    is_go_duration(text) || has_named_units(text)
}

fn is_go_duration(text: &str) -> bool {
    let mut rest = text.strip_prefix(['+', '-']).unwrap_or(text);
    if rest == "0" {
        return true;
    }
    if rest.is_empty() {
        return false;
    }
    while !rest.is_empty() {
        let number = rest.bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b'.').count();
        let digits = &rest[..number];
        if digits.matches('.').count() > 1 || !digits.bytes().any(|byte| byte.is_ascii_digit()) {
            return false;
        }
        rest = &rest[number..];
        let units = ["ns", "us", "µs", "μs", "ms", "s", "m", "h"];
        let end = rest.find(|char: char| char.is_ascii_digit() || char == '.').unwrap_or(rest.len());
        if !units.contains(&&rest[..end]) {
            return false;
        }
        rest = &rest[end..];
    }
    true
}

fn has_named_units(text: &str) -> bool {
    const SHORT: [&str; 11] = ["ns", "us", "µs", "ms", "s", "m", "h", "hr", "d", "w", "wk"];
    const LONG: [&str; 8] = ["nano", "micro", "milli", "sec", "min", "hour", "day", "week"];
    let mut rest = text;
    let mut found = false;
    while let Some(start) = rest.find(|char: char| char.is_ascii_digit()) {
        let digits = rest[start..].bytes().take_while(u8::is_ascii_digit).count();
        let after = rest[start + digits..].trim_start();
        let end = after.find(|char: char| !(char.is_ascii_alphabetic() || char == 'µ')).unwrap_or(after.len());
        let unit = after[..end].to_lowercase();
        if !unit.is_empty() {
            if rest[start..start + digits].parse::<i64>().is_err() {
                return false;
            }
            found |= SHORT.contains(&unit.as_str()) || LONG.iter().any(|long| unit.starts_with(long));
        }
        rest = &after[end..];
    }
    found
}

/// Hyphens may be left out.
fn is_uuid(text: &str, version: Option<char>) -> bool {
    let mut digits = Vec::with_capacity(32);
    let mut hyphen = true;
    for char in text.chars() {
        if char == '-' && !hyphen && [8, 12, 16, 20].contains(&digits.len()) {
            hyphen = true;
        } else if char.is_ascii_hexdigit() {
            digits.push(char.to_ascii_lowercase());
            hyphen = false;
        } else {
            return false;
        }
    }
    digits.len() == 32
        && version.is_none_or(|version| digits[12] == version && (version == '3' || "89ab".contains(digits[16])))
}

fn is_base64(text: &str) -> bool {
    let body = text.trim_end_matches('=');
    let padding = text.len() - body.len();
    !text.is_empty()
        && text.len().is_multiple_of(4)
        && padding <= 2
        && body.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'+' || byte == b'/')
}

fn is_ipv4(text: &str) -> bool {
    let part = |part: &str| is_digits(part) && part.parse::<u32>().is_ok_and(|part| part < 256);
    text.split('.').count() == 4 && text.split('.').all(part)
}

fn is_ipv6(text: &str) -> bool {
    text.contains(':') && Ipv6Addr::from_str(text).is_ok()
}

fn is_cidr(text: &str) -> bool {
    let Some((address, bits)) = text.split_once('/') else { return false };
    let bits = if is_digits(bits) { bits.parse::<u32>().ok() } else { None };
    bits.is_some_and(|bits| (is_ipv4(address) && bits <= 32) || (is_ipv6(address) && bits <= 128))
}

fn is_mac(text: &str) -> bool {
    let groups = |separator: char, length: usize, counts: [usize; 3]| {
        let parts: Vec<&str> = text.split(separator).collect();
        counts.contains(&parts.len()) && parts.iter().all(|part| part.len() == length && is_hex(part))
    };
    groups(':', 2, [6, 8, 20]) || groups('-', 2, [6, 8, 20]) || groups('.', 4, [3, 4, 10])
}

fn is_uri(text: &str) -> bool {
    if text.is_empty() || text.bytes().any(|byte| byte.is_ascii_control()) {
        return false;
    }
    let scheme = text.split_once(':').map(|(scheme, _)| scheme).filter(|scheme| {
        scheme.as_bytes().first().is_some_and(u8::is_ascii_alphabetic)
            && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
    });
    let authority = text.split_once("://").map(|(_, rest)| rest.split('/').next().unwrap_or_default());
    (scheme.is_some() || text.starts_with('/')) && authority.is_none_or(|authority| !authority.contains(' '))
}

fn is_email(text: &str) -> bool {
    let address = match text.trim().strip_suffix('>') {
        Some(inside) => inside.rsplit_once('<').map(|(_, address)| address),
        None => Some(text.trim()),
    };
    let atoms = |text: &str| {
        text.split('.').all(|atom| {
            !atom.is_empty()
                && atom.chars().all(|char| {
                    !char.is_ascii() || char.is_ascii_alphanumeric() || "!#$%&'*+-/=?^_`{|}~".contains(char)
                })
        })
    };
    address.and_then(|address| address.split_once('@')).is_some_and(|(local, domain)| atoms(local) && atoms(domain))
}

fn is_hostname(text: &str) -> bool {
    let fine = |char: char| char.is_alphanumeric() || (!char.is_ascii() && !char.is_whitespace() && !char.is_control());
    let label = |label: &str| {
        !label.is_empty()
            && label.len() <= 63
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label.chars().all(|char| fine(char) || char == '-')
    };
    let labels: Vec<&str> = text.split('.').collect();
    text.len() <= 255
        && labels.iter().all(|part| label(part))
        && (labels.len() == 1 || labels.last().is_some_and(|last| last.chars().count() >= 2))
}

fn is_isbn10(text: &str) -> bool {
    let digits: String = text.chars().filter(|char| !matches!(char, ' ' | '-')).collect();
    if digits.len() != 10 || !is_digits(&digits[..9]) {
        return false;
    }
    let value = |byte: u8| if matches!(byte, b'X' | b'x') { 10 } else { u32::from(byte.wrapping_sub(b'0')) };
    let sum: u32 = (1..).zip(digits.bytes()).map(|(weight, byte)| weight * value(byte)).sum();
    sum.is_multiple_of(11)
}

fn is_isbn13(text: &str) -> bool {
    let digits: String = text.chars().filter(|char| !matches!(char, ' ' | '-')).collect();
    let weights = [1, 3].into_iter().cycle();
    digits.len() == 13
        && is_digits(&digits)
        && weights
            .zip(digits.bytes())
            .map(|(weight, byte)| weight * u32::from(byte - b'0'))
            .sum::<u32>()
            .is_multiple_of(10)
}

fn is_credit_card(text: &str) -> bool {
    let digits: String = text.chars().filter(char::is_ascii_digit).collect();
    let double = |digit: u32| if digit > 4 { digit * 2 - 9 } else { digit * 2 };
    let sum: u32 = digits
        .bytes()
        .rev()
        .enumerate()
        .map(|(index, byte)| {
            let digit = u32::from(byte - b'0');
            if index % 2 == 1 { double(digit) } else { digit }
        })
        .sum();
    (13..=19).contains(&digits.len()) && sum.is_multiple_of(10)
}

fn is_ssn(text: &str) -> bool {
    let parts: Vec<&str> = text.split(['-', ' ']).collect();
    matches!(&parts[..], [area, group, serial] if area.len() == 3 && group.len() == 2 && serial.len() == 4)
        && parts.iter().all(|part| is_digits(part))
}

fn is_rgb(text: &str) -> bool {
    let Some(inside) = text.strip_prefix("rgb(").and_then(|rest| rest.strip_suffix(')')) else { return false };
    let parts: Vec<&str> = inside.split(',').map(str::trim).collect();
    parts.len() == 3 && parts.iter().all(|part| is_digits(part) && part.parse::<u32>().is_ok_and(|part| part < 256))
}

#[cfg(test)]
mod tests {
    use super::valid;

    fn check(format: &str, good: &[&str], bad: &[&str]) {
        for text in good {
            assert!(valid(format, text), "{text:?} is a {format}");
        }
        for text in bad {
            assert!(!valid(format, text), "{text:?} is no {format}");
        }
    }

    #[test]
    fn formats_are_judged_as_by_a_real_server() {
        check(
            "date-time",
            &["2020-01-01T00:00:00Z", "2020-01-01T00:00:00+01:00", "2020-01-01T00:00:00.5Z", "2020-01-01t00:00:00z"],
            &["2020-01-01", "x", "2020-01-01 00:00:00Z", "2020-13-01T00:00:00Z", "", "2020-01-01T24:00:00Z", "13"],
        );
        check("date", &["2020-01-01"], &["x", "2020-1-1", "2020-02-30"]);
        check("duration", &["1h", "1d", "1.5h", "1w2d", "-1h", "1 day", "3 weeks", "1h30m"], &["x", "10", ""]);
        check(
            "uuid",
            &["123e4567-e89b-12d3-a456-426614174000", "123e4567e89b12d3a456426614174000"],
            &["x", "123e4567--e89b-12d3-a456-42661417400"],
        );
        check("ipv4", &["1.2.3.4", "01.2.3.4"], &["::1", "1.2.3", "1.2.3.256"]);
        check("byte", &["YWJj", "YW=="], &["a", "%%", "", "YWI"]);
        check("email", &["a@b", "A <a@b.c>"], &["a"]);
        check("uri", &["http://x", "/a"], &["x", "a b", ""]);
        check("hostname", &["example.com", "a"], &["a.b", "a_b", "-a", ""]);
        check("k8s-short-name", &["a-b"], &["a.b", "A"]);
        check("k8s-long-name", &["a.b"], &["a_b"]);
        check("rgbcolor", &["rgb(1,2,3)"], &["rgb(1,2)"]);
        check("mac", &["00:00:5e:00:53:01"], &["00:00:5e"]);
        check("isbn", &["0-306-40615-2", "978-3-16-148410-0"], &["1234567890"]);
        check("weird", &["anything"], &[]);
    }
}
