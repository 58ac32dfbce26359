//! What an object of a kind may look like: a structural schema, compiled once and used by everything that has to know the shape of
//! data: pruning, defaulting, validation, strategic merge and server-side apply.
//!
//! Kinds of custom resource definitions and built-in kinds have the same form here, so that nothing downstream tells them apart.

pub mod compile;
pub mod defaults;
pub mod prune;
pub mod rules;
pub mod validate;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

/// The shape of one value. `Schema::default()` takes anything and keeps it as it is.
#[derive(Debug, Clone, Default)]
#[expect(clippy::struct_excessive_bools, reason = "they are the switches of OpenAPI, and independent of each other")]
pub struct Schema {
    /// What the value is.
    pub shape: Shape,
    /// Whether `null` is a value of its own; otherwise `null` means absent.
    pub nullable: bool,
    /// Fields of an object, by name.
    pub properties: BTreeMap<String, Arc<Schema>>,
    /// What the values of a map (an object with free keys) are.
    pub additional: Option<Arc<Schema>>,
    /// What the members of a list are.
    pub items: Option<Arc<Schema>>,
    /// Fields that have to be there.
    pub required: Vec<String>,
    /// How the members of a list are told apart.
    pub list: ListType,
    /// Whether a map or object has one owner as a whole (`x-kubernetes-map-type: atomic`).
    pub atomic: bool,
    /// Fields that are not described are kept (`x-kubernetes-preserve-unknown-fields`).
    pub preserve_unknown: bool,
    /// The value is an object with apiVersion, kind and metadata (`x-kubernetes-embedded-resource`).
    pub embedded: bool,
    /// What stands there when nothing is given.
    pub default: Option<Value>,
    /// How a strategic merge patch treats it. Built-in kinds only.
    pub merge: Merge,
    /// Limits on the value itself.
    pub limits: Option<Box<Limits>>,
    /// Rules in the Common Expression Language.
    pub rules: Vec<Rule>,
    /// What a person reads in `kubectl explain`.
    pub description: String,
}

/// What a value is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Shape {
    /// Anything; also where a schema says no type.
    #[default]
    Any,
    /// An object with fields, or a map.
    Object,
    /// A list.
    Array,
    /// Text.
    String,
    /// A whole number.
    Integer,
    /// A number.
    Number,
    /// True or false.
    Boolean,
    /// A whole number or text (`x-kubernetes-int-or-string`).
    IntOrString,
}

/// How the members of a list are told apart by those who own them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum ListType {
    /// They are not: the list has one owner.
    #[default]
    Atomic,
    /// By their value.
    Set,
    /// By the values of these fields, never empty.
    Map(Vec<String>),
}

/// How a strategic merge patch treats a list or an object (`x-kubernetes-patch-strategy`, `x-kubernetes-patch-merge-key`).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Merge {
    /// Members are merged rather than replaced.
    pub merge: bool,
    /// The patch stands in the place of what was there (`replace`); so it is for lists that are not merged anyway.
    pub replace: bool,
    /// Fields that the patch leaves out go (`retainKeys`).
    pub retain_keys: bool,
    /// The field that tells members apart; without it, members are plain values.
    pub key: Option<String>,
}

/// Limits on a value, as in OpenAPI. All optional; all that are given hold.
#[derive(Debug, Clone, Default)]
pub struct Limits {
    /// `enum`
    pub one_of_values: Vec<Value>,
    /// `format`
    pub format: Option<String>,
    /// `pattern`
    pub pattern: Option<String>,
    /// `pattern`, compiled; none if it cannot be.
    pub matcher: Option<regex::Regex>,
    /// `minimum`, and whether it is exclusive
    pub minimum: Option<(f64, bool)>,
    /// `maximum`, and whether it is exclusive
    pub maximum: Option<(f64, bool)>,
    /// `multipleOf`
    pub multiple_of: Option<f64>,
    /// `minLength`
    pub min_length: Option<u64>,
    /// `maxLength`
    pub max_length: Option<u64>,
    /// `minItems`
    pub min_items: Option<u64>,
    /// `maxItems`
    pub max_items: Option<u64>,
    /// `uniqueItems`
    pub unique_items: bool,
    /// `minProperties`
    pub min_properties: Option<u64>,
    /// `maxProperties`
    pub max_properties: Option<u64>,
    /// `additionalProperties: false`: fields that are not described are refused rather than dropped.
    pub closed: bool,
    /// `allOf`
    pub all_of: Vec<Schema>,
    /// `anyOf`
    pub any_of: Vec<Schema>,
    /// `oneOf`
    pub one_of: Vec<Schema>,
    /// `not`
    pub not: Option<Box<Schema>>,
}

/// One entry of `x-kubernetes-validations`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rule {
    /// The expression.
    pub rule: String,
    /// What is said when it does not hold.
    pub message: Option<String>,
    /// An expression for what is said.
    pub message_expression: Option<String>,
    /// The word in the cause: `FieldValueInvalid` if nothing is given.
    pub reason: Option<String>,
    /// Where the fault is, seen from the value that has the rule.
    pub field_path: Option<String>,
    /// Whether a transition rule is also judged without an old value.
    pub optional_old_self: bool,
}

impl Schema {
    /// What stands under a key of an object: the field, or what the values of a map are.
    pub fn field(&self, name: &str) -> Option<&Arc<Schema>> {
        self.properties.get(name).or(self.additional.as_ref())
    }

    /// Whether it says nothing at all, as `additionalProperties: true` does of the values of a map.
    pub(crate) fn is_bare(&self) -> bool {
        self.shape == Shape::Any
            && !self.preserve_unknown
            && self.properties.is_empty()
            && self.additional.is_none()
            && self.items.is_none()
            && self.limits.is_none()
            && self.default.is_none()
    }
}
