//! The order of versions, which decides the preferred one.

use std::cmp::{Ordering, Reverse};

/// How settled a version is.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    Alpha,
    Beta,
    Stable,
}

/// Compares the names of two versions: stable ones before beta before alpha, higher numbers first, and names that are
/// no versions of Kubernetes at the end by name.
///
/// `v10`, `v2`, `v1`, `v11beta2`, `v10beta3`, `v3beta1`, `v12alpha1`, `v11alpha2`, `foo1`, `foo10`
pub fn newest_first(one: &str, other: &str) -> Ordering {
    match (parse(one), parse(other)) {
        (Some(a), Some(b)) => Reverse(a).cmp(&Reverse(b)),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => one.cmp(other),
    }
}

/// Reads `v1`, `v1beta2` or `v1alpha3`.
fn parse(name: &str) -> Option<(Stage, u64, u64)> {
    let rest = name.strip_prefix('v')?;
    let (major, rest) = rest.split_at(rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len()));
    let major = number(major)?;
    if rest.is_empty() {
        return Some((Stage::Stable, major, 0));
    }
    let beta = rest.strip_prefix("beta").map(|minor| (Stage::Beta, minor));
    let (stage, minor) = beta.or_else(|| rest.strip_prefix("alpha").map(|minor| (Stage::Alpha, minor)))?;
    Some((stage, major, number(minor)?))
}

fn number(digits: &str) -> Option<u64> {
    // `parse` alone would take a sign.
    digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settled_and_high_versions_come_first_and_other_names_last() {
        let expected = [
            "v10",
            "v2",
            "v1",
            "v11beta2",
            "v10beta3",
            "v3beta1",
            "v12alpha1",
            "v11alpha2",
            "",
            "alpha",
            "foo1",
            "foo10",
            "v",
            "v+1",
            "v1beta",
            "v1beta1x",
            "v1gamma1",
            "v99999999999999999999",
        ];
        for (place, one) in expected.iter().enumerate() {
            for (other_place, other) in expected.iter().enumerate() {
                assert_eq!(newest_first(one, other), place.cmp(&other_place), "{one} {other}");
            }
        }
    }
}
