//! Limits on numbers. A real server compares whole numbers as whole numbers, cutting off what a limit has behind the point, and judges
//! the limits themselves by the type of the field.

use serde_json::{Number, Value, json};

use super::super::{Limits, Shape};
use super::path::{Path, or_nil};
use super::words;
use crate::status::{Fault, What};

/// The largest whole number that JSON carries without loss.
const SAFE: f64 = 9_007_199_254_740_991.0;

#[derive(Clone, Copy)]
enum Amount {
    Whole(i64),
    Float(f64),
}

impl Amount {
    fn of(number: &Number) -> Self {
        match number.as_i64() {
            Some(whole) => Amount::Whole(whole),
            None => Amount::Float(number.as_f64().unwrap_or(f64::NAN)),
        }
    }

    fn float(self) -> f64 {
        match self {
            Amount::Whole(whole) => as_float(whole),
            Amount::Float(float) => float,
        }
    }

    fn shown(self) -> String {
        match self {
            Amount::Whole(whole) => whole.to_string(),
            Amount::Float(float) => words::float(float),
        }
    }

    /// A limit the way it is compared with this number: as a whole number if both can be.
    fn limit(self, limit: f64, sound: bool) -> Amount {
        match self {
            Amount::Whole(_) if sound => Amount::Whole(whole(limit)),
            _ => Amount::Float(limit),
        }
    }

    fn is_below(self, other: Amount) -> bool {
        match (self, other) {
            (Amount::Whole(one), Amount::Whole(other)) => one < other,
            _ => self.float() < other.float(),
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "the limits it is compared with are floats")]
fn as_float(number: i64) -> f64 {
    number as f64
}

#[expect(clippy::cast_possible_truncation, reason = "what is behind the point is cut off on purpose")]
fn whole(number: f64) -> i64 {
    number as i64
}

/// Whether a number with a point is a whole number after all.
pub(super) fn is_whole(value: &Value) -> bool {
    let Some(number) = value.as_f64() else { return false };
    let rest = (number - number.trunc()).abs();
    number.abs() <= SAFE && (rest == 0.0 || rest / (number.abs() + number.trunc().abs()) < 1e-9)
}

/// Judges a number.
pub(super) fn check(
    number: &Number,
    shape: Shape,
    format: &str,
    limits: &Limits,
    path: &Path<'_>,
    faults: &mut Vec<Fault>,
) {
    let amount = Amount::of(number);
    let mut judge = Judge { amount, shape, format, path, faults };
    judge.range(amount, "Checked");
    if let Some(factor) = limits.multiple_of {
        judge.multiple(factor);
    }
    if let Some((minimum, exclusive)) = limits.minimum {
        let sound = judge.range(Amount::Float(minimum), "Minimum boundary");
        let minimum = amount.limit(minimum, sound);
        if amount.is_below(minimum) || (exclusive && !minimum.is_below(amount)) {
            let orequal = if exclusive { "" } else { " or equal to" };
            judge.say(&format!("should be greater than{orequal} {}", minimum.shown()));
        }
    }
    if let Some((maximum, exclusive)) = limits.maximum {
        let sound = judge.range(Amount::Float(maximum), "Maximum boundary");
        let maximum = amount.limit(maximum, sound);
        if maximum.is_below(amount) || (exclusive && !amount.is_below(maximum)) {
            let orequal = if exclusive { "" } else { " or equal to" };
            judge.say(&format!("should be less than{orequal} {}", maximum.shown()));
        }
    }
}

struct Judge<'a> {
    amount: Amount,
    shape: Shape,
    format: &'a str,
    path: &'a Path<'a>,
    faults: &'a mut Vec<Fault>,
}

impl Judge<'_> {
    fn say(&mut self, what: &str) {
        let detail = format!("{} in body {what}", self.path.dotted());
        self.fault(&self.amount.shown(), &detail);
    }

    fn fault(&mut self, shown: &str, detail: &str) {
        let value = shown.parse::<i64>().map(Value::from);
        let field = or_nil(self.path.dotted());
        self.faults.push(match value {
            Ok(value) => Fault::of(What::Invalid, field, value, detail),
            Err(_) => Fault { what: What::Invalid, field, value: None, detail: format!("{shown}: {detail}") },
        });
    }

    /// Whether a number is one of the field's type and format.
    fn range(&mut self, amount: Amount, what: &str) -> bool {
        let fits = match (self.shape, self.format) {
            (Shape::Integer, "int32") => in_range(amount, i64::from(i32::MIN), i64::from(i32::MAX)),
            (Shape::Integer, _) => in_range(amount, i64::MIN, i64::MAX),
            (_, "float") => amount.float().abs() <= f64::from(f32::MAX),
            _ => true,
        };
        if !fits {
            let kind = if self.shape == Shape::Integer { "integer" } else { "number" };
            let format = match self.format {
                "" => "(default format)".to_owned(),
                format => format!("with format {format}"),
            };
            let detail = format!("{what} value must be of type {kind} {format} in {}", self.path.dotted());
            self.faults.push(Fault::of(What::Invalid, "<nil>", json!(""), detail));
        }
        fits
    }

    fn multiple(&mut self, factor: f64) {
        let sound = self.range(Amount::Float(factor), "MultipleOf");
        let factor = self.amount.limit(factor, sound);
        let positive = match factor {
            Amount::Whole(factor) => factor > 0,
            Amount::Float(factor) => factor > 0.0,
        };
        if !positive {
            let shown = factor.shown();
            let detail = format!("factor MultipleOf declared for {} must be positive: {shown}", self.path.dotted());
            return self.fault(&shown, &detail);
        }
        let multiple = match (self.amount, factor) {
            (Amount::Whole(amount), Amount::Whole(factor)) => amount % factor == 0,
            _ => is_whole(&json!(self.amount.float() / factor.float())),
        };
        if !multiple {
            self.say(&format!("should be a multiple of {}", factor.shown()));
        }
    }
}

fn in_range(amount: Amount, min: i64, max: i64) -> bool {
    match amount {
        Amount::Whole(whole) => (min..=max).contains(&whole),
        Amount::Float(float) => {
            // The largest of 64 bits is not a float; the next one up is, and does not fit.
            let below = if max == i64::MAX { float < as_float(max) } else { float <= as_float(max) };
            float.fract() == 0.0 && float >= as_float(min) && below
        }
    }
}
