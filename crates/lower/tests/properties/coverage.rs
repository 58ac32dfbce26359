//! The cases reach what the properties speak of; otherwise they would hold for nothing.

use crate::support::{admit, check, objects};
use std::cell::RefCell;
use std::collections::BTreeMap;
use trellis_testkit::sets::{cases, constrained_cases, large_cases};

#[test]
fn cases_reach_what_the_properties_speak_of() {
    let counts: RefCell<BTreeMap<&str, u32>> = RefCell::default();
    let saw = |what: &'static str, holds: bool| *counts.borrow_mut().entry(what).or_default() += u32::from(holds);
    check(file!(), "coverage", 500, cases(), |case| {
        let admitted = admit(&case);
        saw("admitted", admitted.is_some());
        let Some(admitted) = admitted else { return Ok(()) };
        let lowered = admitted.lower();
        let kinds = objects(&lowered);
        for (kind, objects) in &kinds {
            saw(kind, !objects.is_empty());
        }
        let longest = kinds["Pod"].iter().filter_map(|pod| pod["spec"]["hostname"].as_str()).map(str::len).max();
        saw("long names", longest.is_some_and(|length| length > 50));
        saw("group configs", lowered.gangs.iter().any(|g| !g.spec.topology_constraint_group_configs.is_empty()));
        saw("constraints", lowered.gangs.iter().any(|g| g.spec.topology_constraint.is_some()));
        let is_scaled = |labels: &BTreeMap<String, String>| labels.contains_key("grove.io/base-podgang");
        saw("scaled gangs", lowered.gangs.iter().any(|g| g.metadata.labels.as_ref().is_some_and(is_scaled)));
        let waits = |pod: &serde_json::Value| pod["spec"]["initContainers"].to_string().contains("trellis-wait");
        saw("waiting pods", kinds["Pod"].iter().any(waits));
        Ok(())
    });
    check(file!(), "constrained", 200, constrained_cases(), |case| {
        saw("constrained and admitted", admit(&case).is_some());
        Ok(())
    });
    check(file!(), "large", 40, large_cases(), |case| {
        saw("large and admitted", admit(&case).is_some());
        Ok(())
    });
    let counts = counts.into_inner();
    println!("{counts:?}");
    assert!(counts["admitted"] > 200, "{counts:?}");
    assert!(counts.values().all(|count| *count > 10), "{counts:?}");
}
