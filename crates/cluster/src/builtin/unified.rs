//! What differs between two texts, in the form of `diff -u` with three lines around each change.
//!
//! Which of several equally short answers is given decides whether messages are the same as a real server's, so lines are matched as it
//! does: the longest run of equal lines first, then what is left before and after it. In long texts, lines that are everywhere begin
//! no run.

use std::collections::HashMap;

const AROUND: usize = 3;
/// From this many lines on, lines that are everywhere count for less.
const LONG: usize = 200;

/// A run of equal lines: where it begins in both texts, and how long it is.
#[derive(Debug, Clone, Copy)]
struct Run {
    old: usize,
    new: usize,
    length: usize,
}

/// A stretch of both texts that is equal or was replaced.
#[derive(Debug, Clone, Copy)]
struct Stretch {
    equal: bool,
    old: (usize, usize),
    new: (usize, usize),
}

/// The changes from one text to another, line by line; lines end with their line feeds.
pub fn diff(old: &[String], new: &[String]) -> String {
    let mut out = String::new();
    for group in groups(stretches(old, new)) {
        let (Some(first), Some(last)) = (group.first(), group.last()) else { continue };
        let range = |from: usize, to: usize| match to - from {
            1 => (from + 1).to_string(),
            0 => format!("{from},0"),
            length => format!("{},{length}", from + 1),
        };
        out.push_str(&format!("@@ -{} +{} @@\n", range(first.old.0, last.old.1), range(first.new.0, last.new.1)));
        for stretch in group {
            if stretch.equal {
                old[stretch.old.0..stretch.old.1].iter().for_each(|line| out.push_str(&format!(" {line}")));
            } else {
                old[stretch.old.0..stretch.old.1].iter().for_each(|line| out.push_str(&format!("-{line}")));
                new[stretch.new.0..stretch.new.1].iter().for_each(|line| out.push_str(&format!("+{line}")));
            }
        }
    }
    out
}

/// Both texts from beginning to end.
fn stretches(old: &[String], new: &[String]) -> Vec<Stretch> {
    let mut places: HashMap<&str, Vec<usize>> = HashMap::new();
    for (at, line) in new.iter().enumerate() {
        places.entry(line).or_default().push(at);
    }
    if new.len() >= LONG {
        let most = new.len() / 100 + 1;
        places.retain(|_, places| places.len() <= most);
    }
    let mut runs = Vec::new();
    let mut open = vec![((0, old.len()), (0, new.len()))];
    while let Some(((old_from, old_to), (new_from, new_to))) = open.pop() {
        let run = longest(old, new, &places, (old_from, old_to), (new_from, new_to));
        if run.length == 0 {
            continue;
        }
        runs.push(run);
        open.push(((old_from, run.old), (new_from, run.new)));
        open.push(((run.old + run.length, old_to), (run.new + run.length, new_to)));
    }
    runs.sort_by_key(|run| run.old);
    runs.push(Run { old: old.len(), new: new.len(), length: 0 });
    let (mut all, mut at) = (Vec::new(), (0, 0));
    for run in runs {
        if at != (run.old, run.new) {
            all.push(Stretch { equal: false, old: (at.0, run.old), new: (at.1, run.new) });
        }
        at = (run.old + run.length, run.new + run.length);
        if run.length > 0 {
            all.push(Stretch { equal: true, old: (run.old, at.0), new: (run.new, at.1) });
        }
    }
    join(all)
}

/// Neighbouring runs of equal lines are one.
fn join(all: Vec<Stretch>) -> Vec<Stretch> {
    let mut joined: Vec<Stretch> = Vec::new();
    for stretch in all {
        match joined.last_mut() {
            Some(last) if last.equal && stretch.equal => {
                last.old.1 = stretch.old.1;
                last.new.1 = stretch.new.1;
            }
            _ => joined.push(stretch),
        }
    }
    joined
}

/// The longest run of equal lines in these parts of the texts; of several, the one that begins first.
fn longest(
    old: &[String],
    new: &[String],
    places: &HashMap<&str, Vec<usize>>,
    (old_from, old_to): (usize, usize),
    (new_from, new_to): (usize, usize),
) -> Run {
    let mut best = Run { old: old_from, new: new_from, length: 0 };
    let mut lengths: HashMap<usize, usize> = HashMap::new();
    for (at, line) in old.iter().enumerate().take(old_to).skip(old_from) {
        let mut now = HashMap::new();
        for &place in places.get(line.as_str()).into_iter().flatten() {
            if place < new_from {
                continue;
            }
            if place >= new_to {
                break;
            }
            let length = 1 + place.checked_sub(1).and_then(|before| lengths.get(&before)).copied().unwrap_or(0);
            now.insert(place, length);
            if length > best.length {
                best = Run { old: at + 1 - length, new: place + 1 - length, length };
            }
        }
        lengths = now;
    }
    // Lines that begin no run still belong to one.
    while best.old > old_from && best.new > new_from && old[best.old - 1] == new[best.new - 1] {
        best = Run { old: best.old - 1, new: best.new - 1, length: best.length + 1 };
    }
    while best.old + best.length < old_to
        && best.new + best.length < new_to
        && old[best.old + best.length] == new[best.new + best.length]
    {
        best.length += 1;
    }
    best
}

/// Changes with the lines around them; those that are near each other stay together.
fn groups(mut all: Vec<Stretch>) -> Vec<Vec<Stretch>> {
    if let Some(first) = all.first_mut().filter(|first| first.equal) {
        first.old.0 = first.old.0.max(first.old.1.saturating_sub(AROUND));
        first.new.0 = first.new.0.max(first.new.1.saturating_sub(AROUND));
    }
    if let Some(last) = all.last_mut().filter(|last| last.equal) {
        last.old.1 = last.old.1.min(last.old.0 + AROUND);
        last.new.1 = last.new.1.min(last.new.0 + AROUND);
    }
    let mut groups = vec![Vec::new()];
    for stretch in all {
        let length = stretch.old.1 - stretch.old.0;
        if stretch.equal && length > 2 * AROUND {
            let end = Stretch {
                old: (stretch.old.0, stretch.old.0 + AROUND),
                new: (stretch.new.0, stretch.new.0 + AROUND),
                ..stretch
            };
            let start = Stretch {
                old: (stretch.old.1 - AROUND, stretch.old.1),
                new: (stretch.new.1 - AROUND, stretch.new.1),
                ..stretch
            };
            if let Some(group) = groups.last_mut() {
                group.push(end);
            }
            groups.push(vec![start]);
        } else if let Some(group) = groups.last_mut() {
            group.push(stretch);
        }
    }
    groups.retain(|group| group.iter().any(|stretch| !stretch.equal));
    groups
}

#[cfg(test)]
mod tests {
    use super::diff;

    fn check(old: &str, new: &str, expected: &str) {
        let lines = |text: &str| text.chars().map(|line| format!("{line}\n")).collect::<Vec<_>>();
        assert_eq!(diff(&lines(old), &lines(new)).replace('\n', "|"), expected, "{old} {new}");
    }

    #[test]
    fn changes_are_told_with_what_is_around_them() {
        check("abc", "abc", "");
        check("abcdefg", "abcXefg", "@@ -1,7 +1,7 @@| a| b| c|-d|+X| e| f| g|");
        check("a", "b", "@@ -1 +1 @@|-a|+b|");
        check("", "b", "@@ -0,0 +1 @@|+b|");
        check("abcdefghijklmn", "Xbcdefghijklmn", "@@ -1,4 +1,4 @@|-a|+X| b| c| d|");
        check("abcdefghijklmn", "XbcdefghijklmY", "@@ -1,4 +1,4 @@|-a|+X| b| c| d|@@ -11,4 +11,4 @@| k| l| m|-n|+Y|");
    }
}
