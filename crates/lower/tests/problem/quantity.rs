//! Quantities, against values worked out by hand from Kubernetes' documentation.

use trellis_lower::problem::quantity::{NANOS, amount, parse, show};

#[test]
fn quantities_are_exact() {
    let check = |text: &str, nanos: i128| assert_eq!(parse(text), Ok(nanos), "{text:?}");
    check("0", 0);
    check("8", 8 * NANOS);
    check("+8", 8 * NANOS);
    check("-8", -8 * NANOS);
    check("007", 7 * NANOS);
    check("1.5", NANOS * 3 / 2);
    check("1.", NANOS);
    check(".5", NANOS / 2);
    check("-.5", -NANOS / 2);
    check("500m", NANOS / 2);
    check("0.5m", NANOS / 2000);
    check("1u", 1000);
    check("1n", 1);
    check("1k", 1000 * NANOS);
    check("1M", 1_000_000 * NANOS);
    check("1.25G", 1_250_000_000 * NANOS);
    check("1T", 1_000_000_000_000 * NANOS);
    check("1P", 1_000_000_000_000_000 * NANOS);
    check("1E", 1_000_000_000_000_000_000 * NANOS);
    check("1Ki", 1024 * NANOS);
    check("1Mi", 1_048_576 * NANOS);
    check("1.5Gi", 1_610_612_736 * NANOS);
    check("1Ti", 1_099_511_627_776 * NANOS);
    check("1Pi", 1_125_899_906_842_624 * NANOS);
    check("7Ei", 7 * 1_152_921_504_606_846_976 * NANOS);
    check("0.1Ki", 102_400_000_000);
    check("1e3", 1000 * NANOS);
    check("1E3", 1000 * NANOS);
    check("1e+3", 1000 * NANOS);
    check("12e-1", 1_200_000_000);
    check("1.5e2", 150 * NANOS);
    check("0e999", 0);
    check("0.000e-999", 0);
    check("9223372036854775807", i128::from(i64::MAX) * NANOS);
    check(&format!("{}1", "0".repeat(200)), NANOS);
    check(&format!("1.{}", "0".repeat(200)), NANOS);
}

#[test]
fn what_is_finer_than_a_billionth_is_rounded_away_from_zero() {
    let check = |text: &str, nanos: i128| assert_eq!(parse(text), Ok(nanos), "{text:?}");
    check("0.1n", 1);
    check("-0.1n", -1);
    check("1.0000000001", NANOS + 1);
    check("1e-300", 1);
    check(&format!("1.{}1", "0".repeat(60)), NANOS + 1);
    // 33333333333333333333 * 2^60 / 10^11, by exact arithmetic elsewhere.
    check("0.33333333333333333333Ei", 384_307_168_202_282_325_329_490_262);
}

#[test]
fn malformed_quantities_are_refused() {
    let check = |text: &str, part: &str| {
        let fault = parse(text).expect_err(text);
        assert!(fault.contains(part), "{text:?}: {fault}");
    };
    let malformed = [
        "",
        " ",
        "-",
        "+",
        ".",
        "m",
        "Gi",
        "1 Gi",
        " 1",
        "1 ",
        "1.2.3",
        "--1",
        "+-1",
        "1K",
        "1KI",
        "1mi",
        "1gi",
        "1B",
        "1GB",
        "1e",
        "1ee3",
        "1e3k",
        "1e1.5",
        "0x10",
        "1_000",
        "1,5",
        "½",
        "１",
        "NaN",
        "inf",
        "1e99999999999999999999",
        "1\u{0}",
        "é",
        "1Zi",
    ];
    for text in malformed {
        check(text, "must be a quantity");
    }
    let too_large = ["9223372036854775808", "8Ei", "10E", "1e19", "1e308", "1e2147483647", &"9".repeat(4000), "-1e19"];
    for text in too_large {
        check(text, "more than can be counted");
    }
}

#[test]
fn amounts_are_whole_base_units_rounded_up() {
    let check = |resource: &str, text: &str, expected: Result<i64, &str>| {
        let got = amount(resource, text);
        match (&got, expected) {
            (Err(fault), Err(part)) => assert!(fault.contains(part), "{resource} {text}: {fault}"),
            _ => assert_eq!(got, expected.map_err(str::to_owned), "{resource} {text}"),
        }
    };
    check("cpu", "8", Ok(8000));
    check("cpu", "500m", Ok(500));
    check("cpu", "0.5", Ok(500));
    check("cpu", "100u", Ok(1));
    check("cpu", "1.0001", Ok(1001));
    check("memory", "1Ti", Ok(1 << 40));
    check("memory", "1500m", Ok(2));
    check("memory", "128974848000m", Ok(128_974_848));
    check("nvidia.com/gpu", "4", Ok(4));
    check("nvidia.com/gpu", "500m", Ok(1));
    check("pods", "110", Ok(110));
    check("pods", "9223372036854775807", Ok(i64::MAX));
    check("cpu", "9223372036854775807", Err("more than can be counted"));
    check("cpu", "-1", Err("must not be negative"));
    check("memory", "-0.1n", Err("must not be negative"));
    check("memory", "-0", Ok(0));
    check("memory", "lots", Err("must be a quantity"));
}

#[test]
fn amounts_are_shown_as_kubernetes_writes_them() {
    let check = |resource: &str, amount: i64, text: &str| {
        assert_eq!(show(resource, amount), text);
        // And can be read again.
        assert_eq!(parse(text).map(i128::abs), parse(text.trim_start_matches('-')), "{text}");
        if amount >= 0 {
            assert_eq!(trellis_lower::problem::quantity::amount(resource, text), Ok(amount), "{text}");
        }
    };
    check("cpu", 8000, "8");
    check("cpu", 500, "500m");
    check("cpu", 1250, "1250m");
    check("cpu", 0, "0");
    check("cpu", -1500, "-1500m");
    check("memory", 1 << 40, "1Ti");
    check("memory", 3 << 29, "1536Mi");
    check("memory", 1_500_000_000, "1500M");
    check("memory", 1_500_000_001, "1500000001");
    check("memory", 0, "0");
    check("memory", -(1 << 30), "-1Gi");
    check("memory", i64::MAX, "9223372036854775807");
    check("memory", 1 << 62, "4Ei");
    check("hugepages-2Mi", 4 << 20, "4Mi");
    check("ephemeral-storage", 100_000_000_000, "100G");
    check("nvidia.com/gpu", 4000, "4000");
    check("pods", 1024, "1024");
}
