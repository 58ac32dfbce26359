//! Text for people: bars, lists, paragraphs.

/// Cells of a bar.
pub const BAR: usize = 20;
/// Domains that are named in a list.
const NAMED: usize = 4;

/// How much of a total is taken, before and now. What is not nothing has a cell, as far as there are cells.
pub fn bar(before: i64, now: i64, total: i64) -> String {
    if total <= 0 {
        return String::new();
    }
    let (before, now) = (before.clamp(0, total), now.max(0));
    let taken = before.saturating_add(now).min(total);
    let cells = |amount: i64| {
        let rounded = (i128::from(amount) * BAR as i128 * 2 + i128::from(total)) / (i128::from(total) * 2);
        usize::try_from(rounded).unwrap_or(BAR)
    };
    // Neither is something shown as nothing, nor nearly all as all.
    let taken_cells = cells(taken).clamp(usize::from(taken > 0), BAR - usize::from(taken < total));
    let before_cells = cells(before).clamp(usize::from(before > 0), taken_cells);
    let before_cells = before_cells.min(taken_cells.saturating_sub(usize::from(now > 0))).max(usize::from(before > 0));
    let now_cells = taken_cells.saturating_sub(before_cells);
    format!("{}{}{}", "█".repeat(before_cells), "▓".repeat(now_cells), "░".repeat(BAR - before_cells - now_cells))
}

/// Paths of domains; what they share is said once: `zone0/block1/{r4, r5}`.
pub fn paths(mut values: Vec<&str>) -> String {
    values.sort_by_cached_key(|value| Natural::of(value));
    let parent = |value: &str| value.rfind('/').map_or(String::new(), |end| value[..=end].to_owned());
    let shared = values.first().map(|first| parent(first)).unwrap_or_default();
    let is_shared = !shared.is_empty() && values.len() > 1 && values.iter().all(|value| parent(value) == shared);
    let skip = if is_shared { shared.len() } else { 0 };
    let mut named: Vec<String> = values.iter().take(NAMED).map(|value| value[skip..].to_owned()).collect();
    if values.len() > NAMED {
        named.push(format!("{} more", values.len() - NAMED));
    }
    if is_shared { format!("{shared}{{{}}}", named.join(", ")) } else { named.join(", ") }
}

/// The lines of a paragraph, none longer than `width` unless a word is.
pub fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for paragraph in text.lines() {
        let mut line = String::new();
        for word in paragraph.split_whitespace() {
            if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > width {
                lines.push(std::mem::take(&mut line));
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
        lines.push(line);
    }
    lines
}

/// Columns side by side.
pub fn columns(rows: &[Vec<String>]) -> Vec<String> {
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let cell = |row: &Vec<String>, column: usize| row.get(column).map_or(0, |cell| cell.chars().count());
    let widths: Vec<usize> =
        (0..count).map(|column| rows.iter().map(|row| cell(row, column)).max().unwrap_or(0)).collect();
    let line = |row: &Vec<String>| {
        let cells: Vec<String> = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        cells.join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}

/// Text that sorts as people count: `r2` before `r10`.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Natural<'a> {
    parts: Vec<(&'a str, u128)>,
    pub text: &'a str,
}

impl<'a> Natural<'a> {
    pub fn of(text: &'a str) -> Self {
        let mut parts = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            let start = rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len());
            let (word, tail) = rest.split_at(start);
            let end = tail.find(|c: char| !c.is_ascii_digit()).unwrap_or(tail.len());
            let (digits, tail) = tail.split_at(end);
            parts.push((word, digits.parse().unwrap_or(0)));
            rest = tail;
        }
        Self { parts, text }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_sort_as_people_count() {
        let mut names = ["r10", "r2", "r1", "q", "r2a", "r", "r02"];
        names.sort_by_key(|name| Natural::of(name));
        assert_eq!(names, ["q", "r", "r1", "r02", "r2", "r2a", "r10"]);
    }

    #[test]
    fn bars_show_the_least_and_never_round_up_to_full() {
        let cases = [
            ((0, 0, 8), "░░░░░░░░░░░░░░░░░░░░"),
            ((8, 0, 8), "████████████████████"),
            ((1, 0, 1000), "█░░░░░░░░░░░░░░░░░░░"),
            ((1, 1, 1000), "█░░░░░░░░░░░░░░░░░░░"),
            ((0, 999, 1000), "▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓░"),
            ((4, 4, 16), "█████▓▓▓▓▓░░░░░░░░░░"),
            ((999, 1, 1000), "███████████████████▓"),
            ((20, 0, 8), "████████████████████"),
            ((1, 0, 0), ""),
        ];
        for ((before, now, total), expected) in cases {
            assert_eq!(bar(before, now, total), expected, "{before} {now} {total}");
        }
    }

    #[test]
    fn paths_say_what_they_share_once() {
        let cases = [
            (vec![], ""),
            (vec!["z0/r1"], "z0/r1"),
            (vec!["z0/r10", "z0/r2"], "z0/{r2, r10}"),
            (vec!["z0/r1", "z1/r1"], "z0/r1, z1/r1"),
            (vec!["a", "b", "c", "d", "e", "f"], "a, b, c, d, 2 more"),
        ];
        for (values, expected) in cases {
            assert_eq!(paths(values), expected);
        }
    }

    #[test]
    fn paragraphs_are_wrapped_at_words() {
        assert_eq!(wrapped("aa bb  cc dddddd e", 5), ["aa bb", "cc", "dddddd", "e"]);
        assert!(wrapped("", 5).is_empty());
    }
}
