//! Two servers' answers, side by side: what differs, and whether it is listed.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use crate::play::Answer;

const LISTED: &str = include_str!("differences.yaml");

/// A server that differs everywhere should not hide where it differs first.
const STEPS_MAX: usize = 3;
const LINES_MAX: usize = 60;

/// The answers of both servers to one case.
#[derive(Debug)]
pub struct Outcome {
    /// Its title.
    pub case: String,
    /// Those that count.
    pub real: Vec<Answer>,
    /// Those that are judged.
    pub other: Vec<Answer>,
}

/// A difference that is there on purpose.
#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Difference {
    /// The case's title: `file: name`.
    pub case: String,
    /// The step's title: `2. GET /path`.
    pub step: String,
    /// The lines that only the embedded API answers.
    pub embedded: Vec<String>,
    /// The lines that only the real server answers.
    pub real: Vec<String>,
    /// Why it stays.
    pub reason: String,
}

/// What came out of all cases.
#[derive(Debug, PartialEq, Eq)]
pub struct Verdict {
    /// Cases that differ as `differences.yaml` says.
    pub as_listed: usize,
    /// Everything else that is wrong, in words.
    pub faults: Vec<String>,
}

/// The differences that are there on purpose.
///
/// # Panics
/// If the file cannot be read.
pub fn listed() -> Vec<Difference> {
    serde_saphyr::from_str(LISTED).unwrap_or_else(|error| panic!("differences.yaml: {error}"))
}

/// Compares all outcomes with what is listed; `complete` if all cases ran, so that every entry has to show.
pub fn judge(outcomes: &[Outcome], listed: Vec<Difference>, complete: bool) -> Verdict {
    let mut left = listed;
    let mut verdict = Verdict { as_listed: 0, faults: Vec::new() };
    for outcome in outcomes {
        let (mut shown, mut was_listed) = (Vec::new(), false);
        for (step, real, embedded) in outcome.differing() {
            let entry = |entry: &Difference| {
                entry.case == outcome.case && entry.step == step && entry.real == real && entry.embedded == embedded
            };
            match left.iter().position(entry) {
                Some(index) => {
                    left.remove(index);
                    was_listed = true;
                }
                None => shown.push(told(&step, &real, &embedded)),
            }
        }
        verdict.as_listed += usize::from(was_listed);
        let mut faults = outcome.broken();
        let more = shown.len().saturating_sub(STEPS_MAX);
        faults.extend(shown.into_iter().take(STEPS_MAX));
        if more > 0 {
            faults.push(format!("  {more} more steps differ\n"));
        }
        if !faults.is_empty() {
            verdict.faults.push(format!("{}\n{}", outcome.case, faults.concat()));
        }
    }
    if complete {
        let stale = |entry: &Difference| {
            format!("differences.yaml: `{}`, step `{}`: does not differ like this any more\n", entry.case, entry.step)
        };
        verdict.faults.extend(left.iter().map(stale));
    }
    verdict
}

impl Outcome {
    /// The steps that differ: title, the lines of the real server only, the lines of the other only.
    fn differing(&self) -> Vec<(String, Vec<String>, Vec<String>)> {
        let pairs = self.real.iter().zip(&self.other);
        let differ = |(real, other): (&Answer, &Answer)| {
            let (only_real, only_other) = (only(&real.lines, &other.lines), only(&other.lines, &real.lines));
            let same = only_real.is_empty() && only_other.is_empty() && real.step == other.step;
            (!same).then(|| (real.step.clone(), only_real, only_other))
        };
        pairs.filter_map(differ).collect()
    }

    fn broken(&self) -> Vec<String> {
        let told = |answer: &Answer| {
            let broken = answer.broken.as_ref()?;
            Some(format!("  {}\n    the case is broken: {broken}\n", answer.step))
        };
        self.real.iter().filter_map(told).collect()
    }

    /// All that the real server answered, for whoever works on a case.
    pub fn shown(&self) -> String {
        let answer = |answer: &Answer| {
            let lines = answer.lines.iter().map(|(place, value)| format!("    {place}: {value}\n"));
            format!("  {}\n{}", answer.step, lines.collect::<String>())
        };
        format!("{}\n{}\n", self.case, self.real.iter().map(answer).collect::<String>())
    }
}

fn only(these: &BTreeMap<String, String>, those: &BTreeMap<String, String>) -> Vec<String> {
    let missing = these.iter().filter(|(place, value)| those.get(*place) != Some(value));
    missing.map(|(place, value)| format!("{place}: {value}")).collect()
}

fn told(step: &str, real: &[String], embedded: &[String]) -> String {
    let side = |mark: &str, lines: &[String]| -> String {
        let shown: Vec<String> = lines.iter().take(LINES_MAX).map(|line| format!("    {mark} {line}\n")).collect();
        let mut told = shown.concat();
        if lines.len() > LINES_MAX {
            told.push_str(&format!("    {mark} … {} more\n", lines.len() - LINES_MAX));
        }
        told
    };
    format!("  {step}\n{}{}", side("real    ", real), side("embedded", embedded))
}

/// A line for every leaf of a value, by its place.
pub fn flat(place: &str, value: &Value, lines: &mut BTreeMap<String, String>) {
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            fields.iter().for_each(|(key, value)| flat(&format!("{place}.{key}"), value, lines));
        }
        Value::Array(items) if !items.is_empty() => {
            items.iter().enumerate().for_each(|(index, item)| flat(&format!("{place}[{index}]"), item, lines));
        }
        leaf => {
            lines.insert(place.to_owned(), leaf.to_string());
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn answer(step: &str, value: &Value) -> Answer {
        let mut lines = BTreeMap::new();
        flat("", value, &mut lines);
        Answer { step: step.to_owned(), lines, broken: None }
    }

    fn outcome(real: &Value, other: &Value) -> Outcome {
        Outcome {
            case: "a: b".to_owned(),
            real: vec![answer("1. GET /", real)],
            other: vec![answer("1. GET /", other)],
        }
    }

    fn entry() -> Difference {
        let text = "case: 'a: b'\nstep: 1. GET /\nembedded: ['.x: 2']\nreal: ['.x: 1']\nreason: it must";
        serde_saphyr::from_str(text).unwrap()
    }

    #[track_caller]
    fn check(outcome: &Outcome, listed: Vec<Difference>, complete: bool, as_listed: usize, faults: &[&str]) {
        let faults = faults.iter().map(|&fault| fault.to_owned()).collect();
        assert_eq!(judge(std::slice::from_ref(outcome), listed, complete), Verdict { as_listed, faults });
    }

    #[test]
    fn equal_answers_are_no_fault_and_different_ones_are_told_by_place() {
        let (one, two) = (json!({"x": 1, "y": [{}]}), json!({"x": 2, "y": [{}]}));
        check(&outcome(&one, &one), vec![], true, 0, &[]);
        let told = "a: b\n  1. GET /\n    real     .x: 1\n    embedded .x: 2\n";
        check(&outcome(&one, &two), vec![], true, 0, &[told]);
    }

    #[test]
    fn a_listed_difference_is_counted_and_a_stale_one_is_a_fault() {
        let (one, two) = (json!({"x": 1}), json!({"x": 2}));
        check(&outcome(&one, &two), vec![entry()], true, 1, &[]);
        let stale = "differences.yaml: `a: b`, step `1. GET /`: does not differ like this any more\n";
        check(&outcome(&one, &one), vec![entry()], true, 0, &[stale]);
        check(&outcome(&one, &one), vec![entry()], false, 0, &[]);
    }

    #[test]
    fn a_case_that_is_broken_on_the_real_server_is_a_fault() {
        let mut broken = outcome(&json!(1), &json!(1));
        broken.real[0].broken = Some("answered with 500".to_owned());
        check(&broken, vec![], true, 0, &["a: b\n  1. GET /\n    the case is broken: answered with 500\n"]);
    }
}
