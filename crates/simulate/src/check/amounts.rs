//! Amounts of resources, in thousandths, read from the text that stands in objects.

use std::collections::BTreeMap;

use serde_json::Value;

/// Amounts by resource, in thousandths.
pub type Amounts = BTreeMap<String, i128>;

/// What a quantity says; nothing if it is none.
fn thousandths(text: &str) -> Option<i128> {
    const SUFFIXES: [(&str, i128); 13] = [
        ("Ki", 1 << 10),
        ("Mi", 1 << 20),
        ("Gi", 1 << 30),
        ("Ti", 1 << 40),
        ("Pi", 1 << 50),
        ("Ei", 1 << 60),
        ("k", 1_000),
        ("M", 1_000_000),
        ("G", 1_000_000_000),
        ("T", 1_000_000_000_000),
        ("P", 1_000_000_000_000_000),
        ("E", 1_000_000_000_000_000_000),
        ("", 1),
    ];
    if let Some(number) = text.strip_suffix('m') {
        return number.parse().ok();
    }
    let (number, unit) = SUFFIXES.iter().find_map(|(suffix, unit)| Some((text.strip_suffix(suffix)?, unit)))?;
    let (whole, part) = number.split_once('.').unwrap_or((number, ""));
    let digits = i128::try_from(part.len()).ok()?;
    let scale = 10_i128.checked_pow(u32::try_from(digits).ok()?)?;
    let whole: i128 = whole.parse().ok()?;
    let part: i128 = if part.is_empty() { 0 } else { part.parse().ok()? };
    Some((whole * scale + part) * unit * 1_000 / scale)
}

/// A map of quantities.
pub fn quantities(value: &Value) -> Amounts {
    let read = |(name, amount): (&String, &Value)| {
        let text = amount.as_str().map_or_else(|| amount.to_string(), ToOwned::to_owned);
        Some((name.clone(), thousandths(&text)?))
    };
    value.as_object().into_iter().flatten().filter_map(read).collect()
}

/// What a pod asks for: the sum of its containers, or an init container that asks for more; and one place on the node.
pub fn of_pod(spec: &Value) -> Amounts {
    let mut sum = Amounts::new();
    for container in spec["containers"].as_array().into_iter().flatten() {
        add(&mut sum, &quantities(&container["resources"]["requests"]));
    }
    for container in spec["initContainers"].as_array().into_iter().flatten() {
        for (name, amount) in quantities(&container["resources"]["requests"]) {
            let known = sum.entry(name).or_default();
            *known = (*known).max(amount);
        }
    }
    sum.insert("pods".to_owned(), 1_000);
    sum
}

/// Amounts as the plan record writes them: processors in thousandths, all else in whole units.
pub fn recorded(value: &Value) -> Amounts {
    let read = |(name, amount): (&String, &Value)| {
        let amount = i128::from(amount.as_i64()?);
        Some((name.clone(), if name == "cpu" { amount } else { amount * 1_000 }))
    };
    value.as_object().into_iter().flatten().filter_map(read).collect()
}

/// Adds to a sum.
pub fn add(sum: &mut Amounts, more: &Amounts) {
    for (name, amount) in more {
        *sum.entry(name.clone()).or_default() += amount;
    }
}

/// Takes away; what was not there becomes negative.
pub fn take(sum: &mut Amounts, less: &Amounts) {
    for (name, amount) in less {
        *sum.entry(name.clone()).or_default() -= amount;
    }
}

/// The first resource of which there is less than is asked for.
pub fn lacks<'a>(free: &Amounts, asked: &'a Amounts) -> Option<&'a str> {
    let is_short =
        |(name, amount): &(&String, &i128)| **amount > 0 && free.get(*name).is_none_or(|free| free < *amount);
    asked.iter().find(is_short).map(|(name, _)| name.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Option<i128>) {
        assert_eq!(thousandths(text), expected, "{text}");
    }

    #[test]
    fn quantities_are_read() {
        check("8", Some(8_000));
        check("250m", Some(250));
        check("1.5", Some(1_500));
        check("2Gi", Some((2 << 30) * 1_000));
        check("1k", Some(1_000_000));
        check("much", None);
    }
}
