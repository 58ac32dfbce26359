//! How old something is, in the few figures that a person wants to read.

use jiff::Timestamp;

/// The time between two moments in seconds: `45s`, `5m30s`, `27h`, `3d4h`, `2y10d`.
pub fn age(then_seconds: i64, now_seconds: i64) -> String {
    let seconds = now_seconds.saturating_sub(then_seconds);
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    let two = |large: i64, unit: char, small: i64, part: char| match small {
        0 => format!("{large}{unit}"),
        small => format!("{large}{unit}{small}{part}"),
    };
    match seconds {
        // Clocks may differ by a second.
        ..-1 => "<invalid>".to_owned(),
        -1 => "0s".to_owned(),
        0..120 => format!("{seconds}s"),
        120..600 => two(minutes, 'm', seconds % 60, 's'),
        600..10_800 => format!("{minutes}m"),
        10_800..28_800 => two(hours, 'h', minutes % 60, 'm'),
        28_800..172_800 => format!("{hours}h"),
        172_800..691_200 => two(days, 'd', hours % 24, 'h'),
        691_200..63_072_000 => format!("{days}d"),
        63_072_000..252_288_000 => two(days / 365, 'y', days % 365, 'd'),
        _ => format!("{}y", days / 365),
    }
}

/// The age of what happened at a moment written as in objects: `<unknown>` if nothing is written, `<invalid>` if it is no time.
pub fn age_of(text: &str, now_seconds: i64) -> String {
    const NEVER: &str = "0001-01-01T00:00:00Z";
    match text {
        "" | "null" | NEVER => "<unknown>".to_owned(),
        text => match text.parse::<Timestamp>() {
            Ok(then) => age(then.as_second(), now_seconds),
            Err(_) => "<invalid>".to_owned(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::{age, age_of};

    fn check(seconds: i64, expected: &str) {
        assert_eq!(age(1000, 1000 + seconds), expected, "{seconds}");
    }

    #[test]
    fn shows_few_figures() {
        const HOUR: i64 = 3600;
        const DAY: i64 = 24 * HOUR;
        check(-5, "<invalid>");
        check(-2, "<invalid>");
        check(-1, "0s");
        check(0, "0s");
        check(119, "119s");
        check(120, "2m");
        check(599, "9m59s");
        check(600, "10m");
        check(3 * HOUR - 1, "179m");
        check(3 * HOUR, "3h");
        check(3 * HOUR + 720, "3h12m");
        check(8 * HOUR, "8h");
        check(2 * DAY - 1, "47h");
        check(2 * DAY, "2d");
        check(7 * DAY + 5 * HOUR, "7d5h");
        check(8 * DAY, "8d");
        check(729 * DAY, "729d");
        check(730 * DAY, "2y");
        check(740 * DAY, "2y10d");
        check(8 * 365 * DAY, "8y");
    }

    #[test]
    fn reads_times() {
        assert_eq!(age_of("1970-01-01T00:00:10Z", 40), "30s");
        assert_eq!(age_of("1970-01-01T02:00:10+02:00", 40), "30s");
        assert_eq!(age_of("1970-01-01T00:00:10.999999Z", 40), "30s");
        assert_eq!(age_of("", 40), "<unknown>");
        assert_eq!(age_of("garbage", 40), "<invalid>");
        assert_eq!(age_of("5", 40), "<invalid>");
    }
}
