//! Tables of what a real server says, for the tests: blocks of lines of JSON, with the faults indented below them.

use serde_json::Value;

use crate::status::Fault;

/// What is given, and what is said to it.
pub(crate) struct Case {
    pub(crate) given: Vec<Value>,
    pub(crate) said: Vec<String>,
}

/// Reads a table.
pub(crate) fn read(table: &str) -> Vec<Case> {
    let block = |block: &str| {
        let lines = || block.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
        let given = lines().filter(|line| !line.starts_with("    "));
        let said = lines().filter_map(|line| line.strip_prefix("    "));
        Case {
            given: given.map(|line| serde_json::from_str(line).expect(line)).collect(),
            said: said.map(|line| line.replace('↵', "\n")).collect(),
        }
    };
    let cases: Vec<Case> = table.split("\n\n").map(block).filter(|case| !case.given.is_empty()).collect();
    assert!(cases.len() > 5, "the table has been read");
    cases
}

/// Compares what is said. A real server has no order among the fields of an object.
pub(crate) fn compare(case: &Case, faults: &[Fault]) {
    let mut said: Vec<String> = faults.iter().map(ToString::to_string).collect();
    let mut expected = case.said.clone();
    said.sort_unstable();
    expected.sort_unstable();
    assert_eq!(said, expected, "for {:?}", case.given);
}
