//! The same set gives the same objects, down to the byte.

use crate::support::{Checked, admit, check, text};
use proptest::prelude::*;
use serde_json::Value;
use std::fmt::Write;
use trellis_testkit::mutate::Dice;
use trellis_testkit::sets::{Case, cases};

/// JSON text with the keys of all maps in an order of the dice's choosing.
pub fn shuffled(value: &Value, dice: &mut Dice) -> String {
    let mut out = String::new();
    write_shuffled(value, dice, &mut out);
    out
}

fn write_shuffled(value: &Value, dice: &mut Dice, out: &mut String) {
    match value {
        Value::Object(fields) => {
            let mut left: Vec<_> = fields.iter().collect();
            out.push('{');
            while !left.is_empty() {
                let (key, value) = left.swap_remove(dice.below(left.len()));
                let _ = write!(out, "{}: ", Value::from(key.as_str()));
                write_shuffled(value, dice, out);
                out.push_str(if left.is_empty() { "" } else { " ,\n" });
            }
            out.push('}');
        }
        Value::Array(items) => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                out.push_str(if i == 0 { "" } else { "," });
                write_shuffled(item, dice, out);
            }
            out.push(']');
        }
        scalar => out.push_str(&scalar.to_string()),
    }
}

#[test]
fn lowering_twice_gives_the_same_bytes() {
    check(file!(), "twice", 400, cases(), |case| {
        let Some(admitted) = admit(&case) else { return Ok(()) };
        prop_assert_eq!(text(&admitted.lower()), text(&admitted.lower()));
        Ok(())
    });
}

#[test]
fn the_order_of_keys_means_nothing() {
    let property = |(case, seed): (Case, u64)| -> Checked {
        let mut dice = Dice::new(seed);
        let mut reordered = |value: &Value| serde_json::from_str(&shuffled(value, &mut dice)).expect("JSON");
        let other = Case { set: reordered(&case.set), topology: reordered(&case.topology) };
        let texts = [case, other].map(|case| admit(&case).map(|admitted| text(&admitted.lower())));
        prop_assert_eq!(&texts[0], &texts[1]);
        Ok(())
    };
    check(file!(), "key order", 400, (cases(), any::<u64>()), property);
}

#[test]
fn the_order_of_levels_means_nothing() {
    check(file!(), "level order", 200, cases(), |case| {
        let Some(admitted) = admit(&case) else { return Ok(()) };
        let mut other = admitted.clone();
        for topology in other.topologies.values_mut() {
            topology.spec.levels.reverse();
        }
        prop_assert_eq!(text(&admitted.lower()), text(&other.lower()));
        Ok(())
    });
}
