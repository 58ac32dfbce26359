//! Whether an object is what its schema says, in the words and the order of a real server.
//!
//! On an update a fault in something that did not change is let pass, so that a schema can be tightened without making the objects
//! that are already there impossible to change.

#[cfg(test)]
pub(crate) mod cases;
mod embedded;
pub(crate) mod formats;
pub(crate) mod lists;
pub(crate) mod names;
mod numbers;
pub(crate) mod path;
pub(crate) mod words;

use serde_json::{Value, json};

use super::rules::Rules;
use super::{Limits, ListType, Schema, Shape};
use crate::status::{Fault, What};
use path::{Path, or_nil};

/// What a real server says to an object.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Verdict {
    /// Why the object is refused; none if it is taken.
    pub faults: Vec<Fault>,
    /// What is said in warnings, whether the object is taken or not.
    pub warnings: Vec<String>,
}

/// Judges an object by schema and rules, as a new one or against the one that was there.
///
/// `known` is what is wrong with it otherwise: it comes first, and keeps rules from being judged like any fault. `more` comes after the
/// faults by schema.
pub fn judge(
    new: &Value,
    old: Option<&Value>,
    schema: &Schema,
    rules: &Rules,
    known: Vec<Fault>,
    more: Vec<Fault>,
) -> Verdict {
    let mut faults = known;
    faults.extend(match old {
        Some(old) => validate_update(new, old, schema),
        None => validate(new, schema),
    });
    faults.extend(more);
    judge_by_rules(new, old, rules, faults)
}

/// What is wrong with a status that is judged alone.
pub fn validate_status(new: &Value, old: Option<&Value>, schema: &Schema) -> Vec<Fault> {
    match old {
        Some(old) => validate_update(new, old, schema),
        None => validate(new, schema),
    }
}

/// Judges an object by its rules, unless what is already known stands in the way.
pub fn judge_by_rules(new: &Value, old: Option<&Value>, rules: &Rules, mut faults: Vec<Fault>) -> Verdict {
    if rules.is_empty() {
        return Verdict { faults, warnings: Vec::new() };
    }
    if faults.iter().any(blocks_rules) {
        let detail = "some validation rules were not checked because the object was invalid; \
                      correct the existing errors to complete validation";
        faults.push(Fault::of(What::Invalid, "<nil>", Value::Null, detail));
        return Verdict { faults, warnings: Vec::new() };
    }
    let mut verdict = rules.judge(new, old);
    faults.append(&mut verdict.faults);
    Verdict { faults, warnings: verdict.warnings }
}

/// After such a fault rules could stumble over what they do not expect.
fn blocks_rules(fault: &Fault) -> bool {
    matches!(fault.what, What::NotSupported | What::Required | What::TooLong | What::TooMany | What::TypeInvalid)
}

/// What is wrong with a new object.
pub fn validate(value: &Value, schema: &Schema) -> Vec<Fault> {
    let mut faults = by_schema(value, None, schema);
    embedded::check(value, schema, &Path::ROOT, &mut faults);
    lists::check(value, schema, &Path::ROOT, &mut faults);
    faults
}

/// What is wrong with a changed object.
pub fn validate_update(new: &Value, old: &Value, schema: &Schema) -> Vec<Fault> {
    let mut faults = by_schema(new, None, schema);
    if !faults.is_empty() {
        faults = by_schema(new, Some(old), schema);
    }
    embedded::check(new, schema, &Path::ROOT, &mut faults);
    let mut duplicates = Vec::new();
    lists::check(new, schema, &Path::ROOT, &mut duplicates);
    if !duplicates.is_empty() {
        let mut before = Vec::new();
        lists::check(old, schema, &Path::ROOT, &mut before);
        // A list that already had duplicates may keep them.
        if before.is_empty() {
            faults.append(&mut duplicates);
        }
    }
    faults
}

fn by_schema(value: &Value, old: Option<&Value>, schema: &Schema) -> Vec<Fault> {
    let mut walk = Walk::default();
    walk.value(value, schema, &Path::ROOT, old);
    walk.faults
}

/// What was found so far.
#[derive(Default)]
struct Walk {
    faults: Vec<Fault>,
    /// How many checks were passed: of several alternatives that all fail, the faults of the one that got furthest are told.
    matched: u64,
}

impl Walk {
    /// Judges a value; `old` is what stood there before, if that can be told.
    fn value(&mut self, value: &Value, schema: &Schema, path: &Path<'_>, old: Option<&Value>) {
        let before = self.faults.len();
        self.checks(value, schema, path, old);
        if self.faults.len() > before && old.is_some_and(|old| lists::unchanged(value, old, schema)) {
            self.faults.truncate(before);
        }
    }

    fn checks(&mut self, value: &Value, schema: &Schema, path: &Path<'_>, old: Option<&Value>) {
        let limits = schema.limits.as_deref();
        let format = limits.and_then(|limits| limits.format.as_deref()).unwrap_or_default();
        if value.is_null() {
            self.kind(value, schema, format, path);
            self.one_of_values(value, limits, path);
            return;
        }
        if schema.shape != Shape::Any || !format.is_empty() {
            self.kind(value, schema, format, path);
            self.matched += 1;
        }
        if let Some(limits) = limits {
            self.alternatives(value, limits, path);
        }
        self.matched += 2;
        match value {
            Value::String(text) => self.text(text, limits, format, path),
            Value::Number(number) => {
                if let Some(limits) = limits {
                    numbers::check(number, schema.shape, format, limits, path, &mut self.faults);
                } else if schema.shape == Shape::Integer && number.as_i64().is_none() {
                    numbers::check(number, schema.shape, format, &Limits::default(), path, &mut self.faults);
                }
                self.matched += 2;
            }
            Value::Array(items) => self.items(items, schema, path, old),
            _ => {}
        }
        self.one_of_values(value, limits, path);
        self.matched += 1;
        if let Value::Object(fields) = value {
            self.fields(fields, schema, path, old);
            self.matched += 1;
        }
        self.matched += 1;
    }

    fn say(&mut self, what: What, path: &Path<'_>, value: &Value, detail: &str) {
        self.faults.push(words::fault(what, or_nil(trimmed(path)), value, detail));
    }

    /// The kind of the value. What a real server thinks of formats of numbers and lists is peculiar.
    fn kind(&mut self, value: &Value, schema: &Schema, format: &str, path: &Path<'_>) {
        let wanted = names(schema.shape);
        let wrong = |walk: &mut Walk, wanted: &str, got: &str| {
            let detail = format!("{} in body must be of type {wanted}: {}", path.dotted(), words::quoted(got));
            walk.say(What::TypeInvalid, path, &got.into(), &detail);
        };
        if value.is_null() {
            match wanted.is_empty() || schema.nullable {
                true => self.matched += 1,
                false => wrong(self, &wanted.join(","), "null"),
            }
            return;
        }
        let (got, got_format) = kind_of(value);
        let fits = wanted.contains(&got)
            || (got == "integer" && wanted.contains(&"number"))
            || (got == "number" && wanted.contains(&"integer") && numbers::is_whole(value));
        let listed = matches!(value, Value::String(_) | Value::Array(_));
        if !format.is_empty() && !listed && !fits && got_format != format {
            wrong(self, format, got_format);
        } else if fits || !format.is_empty() && listed && !wanted.contains(&"number") && !wanted.contains(&"integer") {
            self.matched += 1;
        } else {
            wrong(self, &wanted.join(","), got);
        }
    }

    /// `anyOf`, `oneOf`, `allOf` and `not`.
    fn alternatives(&mut self, value: &Value, limits: &Limits, path: &Path<'_>) {
        let composite = |what: &str| {
            let detail = format!("{} must {what}", words::quoted(&path.dotted()));
            Fault::of(What::Invalid, "<nil>", json!(""), detail)
        };
        let judge = |schema: &Schema| {
            let mut walk = Walk::default();
            walk.value(value, schema, path, None);
            walk
        };
        if !limits.any_of.is_empty() {
            let best = best_of(&limits.any_of, judge);
            if !best.faults.is_empty() {
                self.faults.push(composite("validate at least one schema (anyOf)"));
            }
            self.take(best);
        }
        if !limits.one_of.is_empty() {
            let valid = limits.one_of.iter().filter(|schema| judge(schema).faults.is_empty()).count();
            match valid {
                0 => {
                    self.faults.push(composite("validate one and only one schema (oneOf). Found none valid"));
                    self.take(best_of(&limits.one_of, judge));
                }
                1 => self.take(best_of(&limits.one_of, judge)),
                _ => self.faults.push(composite(&format!(
                    "validate one and only one schema (oneOf). Found {valid} valid alternatives"
                ))),
            }
        }
        let mut valid = 0;
        for schema in &limits.all_of {
            let walk = judge(schema);
            valid += usize::from(walk.faults.is_empty());
            self.take(walk);
        }
        if valid != limits.all_of.len() {
            let none = if valid == 0 { ". None validated" } else { "" };
            self.faults.push(composite(&format!("validate all the schemas (allOf){none}")));
        }
        if limits.not.as_deref().is_some_and(|schema| judge(schema).faults.is_empty()) {
            self.faults.push(composite("not validate the schema (not)"));
        }
    }

    fn take(&mut self, mut other: Walk) {
        self.faults.append(&mut other.faults);
        self.matched += other.matched;
    }

    fn text(&mut self, text: &str, limits: Option<&Limits>, format: &str, path: &Path<'_>) {
        self.matched += 1;
        let Some(limits) = limits else { return };
        self.length_and_pattern(text, limits, path);
        if !formats::is_of_text(format) {
            return;
        }
        self.matched += 1;
        if !formats::valid(format, text) {
            let detail = format!("{} in body must be of type {format}: {}", path.dotted(), words::quoted(text));
            self.say(What::TypeInvalid, path, &text.into(), &detail);
        }
    }

    fn length_and_pattern(&mut self, text: &str, limits: &Limits, path: &Path<'_>) {
        let length = || u64::try_from(text.chars().count()).unwrap_or(u64::MAX);
        if let Some(max) = limits.max_length
            && length() > max
        {
            let bytes = if max == 1 { "byte" } else { "bytes" };
            self.say(What::TooLong, path, &Value::Null, "");
            if let Some(fault) = self.faults.last_mut() {
                fault.detail = format!("may not be more than {max} {bytes}");
            }
            return;
        }
        if let Some(min) = limits.min_length
            && length() < min
        {
            let detail = format!("{} in body should be at least {min} chars long", path.dotted());
            return self.say(What::Invalid, path, &text.into(), &detail);
        }
        if let Some(pattern) = &limits.pattern
            && limits.matcher.as_ref().is_some_and(|matcher| !matcher.is_match(text))
        {
            let detail = format!("{} in body should match '{pattern}'", path.dotted());
            self.say(What::Invalid, path, &text.into(), &detail);
        }
    }

    fn one_of_values(&mut self, value: &Value, limits: Option<&Limits>, path: &Path<'_>) {
        let Some(limits) = limits else { return };
        if limits.one_of_values.is_empty() || limits.one_of_values.iter().any(|allowed| same(allowed, value)) {
            return;
        }
        let allowed: Vec<String> = limits
            .one_of_values
            .iter()
            .map(|allowed| allowed.as_str().map_or_else(|| words::json(allowed), str::to_owned))
            .collect();
        let field = or_nil(trimmed(path));
        self.faults.push(words::not_supported(field, value, allowed.iter().map(String::as_str)));
    }

    fn items(&mut self, items: &[Value], schema: &Schema, path: &Path<'_>, old: Option<&Value>) {
        if let Some(item_schema) = &schema.items {
            for (index, item) in items.iter().enumerate() {
                let old = old.and_then(|old| lists::counterpart(item, old, &schema.list));
                self.value(item, item_schema, &path.index(index), old);
            }
        }
        let Some(limits) = &schema.limits else { return self.matched += 2 };
        let count = u64::try_from(items.len()).unwrap_or(u64::MAX);
        if let Some(min) = limits.min_items.filter(|min| count < *min) {
            let detail = format!("{} in body should have at least {min} items", path.dotted());
            self.say(What::Invalid, path, &count.into(), &detail);
        }
        self.too_many(count, limits.max_items, path);
        if limits.unique_items && items.iter().enumerate().any(|(index, item)| items[..index].contains(item)) {
            let detail = format!("{} in body shouldn't contain duplicates", path.dotted());
            self.say(What::Invalid, path, &json!(""), &detail);
        }
        self.matched += 2;
    }

    fn too_many(&mut self, count: u64, max: Option<u64>, path: &Path<'_>) {
        if let Some(max) = max.filter(|max| count > *max) {
            let items = if max == 1 { "item" } else { "items" };
            self.say(What::TooMany, path, &count.into(), &format!("must have at most {max} {items}"));
        }
    }

    fn fields(
        &mut self,
        fields: &serde_json::Map<String, Value>,
        schema: &Schema,
        path: &Path<'_>,
        old: Option<&Value>,
    ) {
        if let Some(limits) = &schema.limits {
            let count = u64::try_from(fields.len()).unwrap_or(u64::MAX);
            if let Some(min) = limits.min_properties.filter(|min| count < *min) {
                let detail = format!("{} in body should have at least {min} properties", path.dotted());
                self.say(What::Invalid, path, &count.into(), &detail);
            }
            self.too_many(count, limits.max_properties, path);
            if limits.closed {
                for name in fields.keys().filter(|name| !schema.properties.contains_key(*name)) {
                    let detail = format!("{} in body is a forbidden property", path.key(name).dotted());
                    self.say(What::Invalid, path, &name.as_str().into(), &detail);
                }
            }
        }
        let before = |name: &str| old.and_then(|old| old.get(name));
        if let Some(additional) = &schema.additional {
            for (name, value) in fields.iter().filter(|(name, _)| !schema.properties.contains_key(*name)) {
                self.value(value, additional, &path.key(name), before(name));
            }
        }
        for (name, value) in fields {
            match schema.properties.get(name) {
                Some(property) if is_metadata(name, schema, path) => self.metadata(value, property, &path.field(name)),
                Some(property) => self.value(value, property, &path.field(name), before(name)),
                None => {}
            }
        }
        for name in schema.required.iter().filter(|name| !fields.contains_key(*name)) {
            self.faults.push(Fault::required(trimmed(&path.key(name)), ""));
        }
    }

    /// Metadata is judged elsewhere, but for what a definition says of names.
    fn metadata(&mut self, metadata: &Value, schema: &Schema, path: &Path<'_>) {
        for name in ["name", "generateName"] {
            if let (Some(value), Some(property)) = (metadata.get(name), schema.properties.get(name)) {
                self.value(value, property, &path.field(name), None);
            }
        }
    }
}

fn is_metadata(name: &str, schema: &Schema, path: &Path<'_>) -> bool {
    name == "metadata" && path.is_root() && schema.properties.contains_key("apiVersion")
}

/// The field of a fault; a path that starts with a key of a map would have a point in front.
fn trimmed(path: &Path<'_>) -> String {
    let path = path.dotted();
    path.strip_prefix('.').map(str::to_owned).unwrap_or(path)
}

/// The first that is fine, else the one that got furthest.
fn best_of(schemas: &[Schema], judge: impl Fn(&Schema) -> Walk) -> Walk {
    let mut best: Option<Walk> = None;
    for schema in schemas {
        let walk = judge(schema);
        if walk.faults.is_empty() {
            return walk;
        }
        if best.as_ref().is_none_or(|best| walk.matched > best.matched) {
            best = Some(walk);
        }
    }
    best.unwrap_or_default()
}

/// The names of what a value may be.
fn names(shape: Shape) -> &'static [&'static str] {
    match shape {
        Shape::Any => &[],
        Shape::Object => &["object"],
        Shape::Array => &["array"],
        Shape::String => &["string"],
        Shape::Integer => &["integer"],
        Shape::Number => &["number"],
        Shape::Boolean => &["boolean"],
        Shape::IntOrString => &["integer", "string"],
    }
}

/// What a value is, and the format that goes with it.
fn kind_of(value: &Value) -> (&'static str, &'static str) {
    match value {
        Value::Null => ("null", ""),
        Value::Bool(_) => ("boolean", ""),
        Value::Number(number) if number.as_i64().is_some() => ("integer", "int64"),
        Value::Number(_) => ("number", "float64"),
        Value::String(_) => ("string", ""),
        Value::Array(_) => ("array", ""),
        Value::Object(_) => ("object", ""),
    }
}

/// Equal, numbers by what they are worth.
fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Null, _) | (_, Value::Null) => false,
        (Value::Number(one), Value::Number(other)) => one == other || one.as_f64() == other.as_f64(),
        _ => left == right,
    }
}

/// Whether the list type tells members apart by keys.
fn keys(list: &ListType) -> Option<&[String]> {
    match list {
        ListType::Map(keys) => Some(keys),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
