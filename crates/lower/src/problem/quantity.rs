//! Kubernetes' quantities (`500m`, `1.5Gi`, `1e3`) as exact whole numbers, and back.

pub use trellis_api::quantity::{NANOS, parse};

use trellis_api::names::resource;
use trellis_api::quantity::TOO_LARGE;

/// The most that all amounts of one resource may come to, on nodes and in pods each, so that sums never overflow.
pub const MOST: i64 = i64::MAX / 2;

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
