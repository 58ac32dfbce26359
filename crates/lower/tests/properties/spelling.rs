//! Both spellings of a constraint mean the same (DECISIONS 3 and 43).

use crate::support::{Checked, admit, check, text};
use proptest::prelude::*;
use serde_json::{Value, json};
use trellis_testkit::mutate::Dice;
use trellis_testkit::sets::{Case, constrained_cases};

/// The same set with the constraints and the topology's name spelled in another of the allowed ways.
fn respelled(case: &Case, dice: &mut Dice) -> Case {
    let mut set = case.set.clone();
    let name = case.topology["metadata"]["name"].clone();
    let template = &mut set["spec"]["template"];
    // The default topology need not be named, any other one must be: there or at the first constraint, or at both.
    let must = name != "grove-topology";
    let at_top = dice.below(2) == 0;
    let mut named = at_top;
    let mut constrained = false;
    let mut respell = |place: &mut Value, dice: &mut Dice| {
        let Some(written) = place.get("topologyConstraint").cloned() else { return };
        constrained = true;
        let required = written.get("packDomain").or(written["pack"].get("required"));
        let preferred = written["pack"].get("preferred");
        let mut other = match (required, preferred) {
            (Some(required), None) if dice.below(2) == 0 => json!({ "packDomain": required }),
            _ => json!({ "pack": { "required": required, "preferred": preferred } }),
        };
        if (must && !named) || dice.below(4) == 0 {
            other["topologyName"] = name.clone();
            named = true;
        }
        place["topologyConstraint"] = other;
    };
    respell(template, dice);
    for list in ["podCliqueScalingGroups", "cliques"] {
        for place in template.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
            respell(place, dice);
        }
    }
    template["clusterTopologyName"] = if at_top && constrained { name } else { Value::Null };
    Case { set, topology: case.topology.clone() }
}

#[test]
fn both_spellings_give_the_same_objects() {
    let property = |(case, seed): (Case, u64)| -> Checked {
        let Some(admitted) = admit(&case) else { return Ok(()) };
        let other = respelled(&case, &mut Dice::new(seed));
        let Some(again) = admit(&other) else {
            return Err(TestCaseError::fail(format!("refused in the other spelling: {:#}", other.set)));
        };
        prop_assert_eq!(text(&admitted.lower()), text(&again.lower()), "{:#}", other.set);
        Ok(())
    };
    check(file!(), "spellings", 800, (constrained_cases(), any::<u64>()), property);
}
