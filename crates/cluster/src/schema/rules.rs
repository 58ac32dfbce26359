//! Rules in the Common Expression Language: those of a schema (`x-kubernetes-validations`) and conditions of webhooks.
//!
//! Expressions are compiled once. A rule sees the value that carries it as `self`, and what stood there before as `oldSelf` where that
//! can be told: by name in objects and maps, by key in lists that have keys.

mod data;
mod expression;
mod functions;
mod paths;
mod types;
mod uses;

use std::sync::Arc;

use kube_cel::cel::common::types::{CelBool, CelString};
use serde_json::Value;

use super::validate::path::{Path, child, or_nil};
use super::validate::{Verdict, lists, words};
use super::{ListType, Rule, Schema, Shape, compile};
use crate::status::{Fault, What};
use data::{optional, plain, typed};
use expression::{Expression, Scope};
use uses::Uses;

pub(crate) use expression::fault_of_expression;
pub(crate) use paths::field_path;

/// The longest message that an expression may make.
const LONGEST_MESSAGE: usize = 5 * 1024;

/// The rules of a schema.
#[derive(Debug, Default)]
pub struct Rules {
    root: Option<Node>,
}

/// The rules of one place in a schema and of the places below.
#[derive(Debug)]
struct Node {
    schema: Arc<Schema>,
    rules: Vec<Compiled>,
    /// What the rules look at; the rest need not be prepared for them.
    uses: Uses,
    properties: Vec<(String, Node)>,
    additional: Option<Box<Node>>,
    items: Option<Box<Node>>,
}

#[derive(Debug)]
struct Compiled {
    rule: Rule,
    expression: Result<Expression, String>,
    message: Option<Expression>,
    /// Where the fault is, below the value.
    field: Option<String>,
    is_transition: bool,
}

/// What stood somewhere before, for telling whether it changed.
#[derive(Clone, Copy)]
struct Change<'a> {
    new: &'a Value,
    old: &'a Value,
    schema: &'a Schema,
}

/// The change at a place, or at the nearest place above for which it can be told.
#[derive(Clone, Copy, Default)]
struct Changes<'a> {
    here: Option<Change<'a>>,
    above: Option<Change<'a>>,
}

impl Rules {
    /// Compiles the rules of a custom kind's schema.
    pub fn compile(openapi: &Value) -> Rules {
        Rules::of(&Arc::new(compile::custom_root(openapi)))
    }

    /// Compiles the rules of a schema.
    pub fn of(schema: &Arc<Schema>) -> Rules {
        Rules { root: Node::of(schema) }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.root.is_none()
    }

    /// Which rules an object breaks.
    pub fn check(&self, new: &Value, old: Option<&Value>) -> Vec<Fault> {
        self.judge(new, old).faults
    }

    /// Which rules an object breaks, and, as warnings, which ones it broke before where nothing changed.
    pub fn judge(&self, new: &Value, old: Option<&Value>) -> Verdict {
        let mut verdict = Verdict::default();
        if let Some(root) = &self.root {
            let changes = Changes { here: old.map(|old| Change { new, old, schema: &root.schema }), above: None };
            expression::with_functions(|scope| root.judge(scope, new, old, &Path::ROOT, changes, &mut verdict));
        }
        verdict
    }
}

impl Node {
    fn of(schema: &Arc<Schema>) -> Option<Node> {
        let rules: Vec<Compiled> = schema
            .rules
            .iter()
            .filter(|rule| !rule.rule.trim().is_empty())
            .map(|rule| Compiled::of(rule, schema))
            .collect();
        let below = |schema: &Option<Arc<Schema>>| schema.as_ref().and_then(Node::of).map(Box::new);
        let mut uses = Uses::default();
        for rule in &rules {
            for expression in rule.expression.iter().chain(&rule.message) {
                uses.add(expression.tree(), &["self", "oldSelf"]);
            }
        }
        let node = Node {
            rules,
            uses,
            properties: schema
                .properties
                .iter()
                .filter_map(|(name, property)| Some((name.clone(), Node::of(property)?)))
                .collect(),
            additional: below(&schema.additional),
            items: below(&schema.items),
            schema: schema.clone(),
        };
        let some =
            !node.rules.is_empty() || !node.properties.is_empty() || node.additional.is_some() || node.items.is_some();
        some.then_some(node)
    }

    fn judge<'a>(
        &'a self,
        scope: &Scope,
        new: &'a Value,
        old: Option<&'a Value>,
        path: &Path<'_>,
        changes: Changes<'a>,
        verdict: &mut Verdict,
    ) {
        if new.is_null() {
            return;
        }
        let old = old.filter(|old| !old.is_null());
        if !self.rules.is_empty() {
            self.apply(scope, new, old, path, changes, verdict);
        }
        match new {
            Value::Array(items) => {
                let Some(node) = &self.items else { return };
                for (index, item) in items.iter().enumerate() {
                    let before = old.and_then(|old| lists::counterpart(item, old, &self.schema.list));
                    node.judge(scope, item, before, &path.index(index), changes.item(item, node), verdict);
                }
            }
            Value::Object(fields) => {
                let before = |name: &str| old.and_then(|old| old.get(name));
                if let Some(node) = &self.additional {
                    for (name, value) in fields {
                        node.judge(
                            scope,
                            value,
                            before(name),
                            &path.key(name),
                            changes.field(name, value, node),
                            verdict,
                        );
                    }
                }
                for (name, node) in &self.properties {
                    if let Some(value) = fields.get(name) {
                        node.judge(
                            scope,
                            value,
                            before(name),
                            &path.field(name),
                            changes.field(name, value, node),
                            verdict,
                        );
                    }
                }
            }
            _ => {}
        }
    }

    /// Judges by the rules of this place.
    fn apply(
        &self,
        scope: &Scope,
        new: &Value,
        old: Option<&Value>,
        path: &Path<'_>,
        changes: Changes<'_>,
        verdict: &mut Verdict,
    ) {
        let with_old = self.rules.iter().any(|rule| rule.is_transition);
        let this = typed(new, &self.schema, &self.uses, scope);
        // Lists of which the order does not count are put in the new order, so that they compare equal.
        let aligned = old.filter(|_| with_old).map(|old| lists::aligned(old, new, &self.schema));
        let before = aligned.map(|old| typed(&old, &self.schema, &self.uses, scope));
        let mut variables = scope.child();
        variables.set("self", this);
        if let Some(before) = &before {
            variables.set("oldSelf", before.clone_as_boxed());
        }
        for rule in &self.rules {
            let optional_old = rule.rule.optional_old_self;
            if rule.is_transition && before.is_none() && !optional_old {
                continue;
            }
            let outcome =
                rule.expression.as_ref().map_err(|error| Outcome::Uncompiled(error.clone())).and_then(|expression| {
                    let mut scope = variables.child();
                    if optional_old {
                        scope.set("oldSelf", optional(before.as_deref()));
                    }
                    let value = scope.value_of(expression).map_err(Outcome::Failed)?;
                    match value.downcast_ref::<CelBool>().map(|bool| *bool.inner()) {
                        Some(true) => Ok(()),
                        _ => Err(Outcome::Broken),
                    }
                });
            let Err(outcome) = outcome else { continue };
            let fault = rule.fault(outcome, &variables, new, self.schema.shape, path);
            if rule.is_transition || !changes.unchanged() || !fault.1 {
                verdict.faults.push(fault.0);
            } else {
                verdict.warnings.push(fault.0.to_string());
            }
        }
    }
}

/// Why a rule does not hold.
enum Outcome {
    /// It is false.
    Broken,
    /// It cannot be told.
    Failed(String),
    /// It is no expression.
    Uncompiled(String),
}

impl Compiled {
    fn of(rule: &Rule, schema: &Schema) -> Compiled {
        let expression = Expression::compile(rule.rule.trim());
        let is_transition = expression.as_ref().is_ok_and(|expression| expression.mentions("oldSelf"));
        let message = rule.message_expression.as_deref().and_then(|message| Expression::compile(message.trim()).ok());
        let field = rule.field_path.as_deref().and_then(|path| Some(field_path(path.trim(), schema, true).ok()?.0));
        Compiled { rule: rule.clone(), expression, message, field, is_transition }
    }

    /// What is said, and whether it would be let pass if nothing changed.
    fn fault(&self, outcome: Outcome, scope: &Scope, value: &Value, shape: Shape, path: &Path<'_>) -> (Fault, bool) {
        let here = path.bracketed();
        let kind = Value::from(kind_of(shape));
        let said = self.rule.message.as_deref().map(str::trim).filter(|message| !message.is_empty());
        let shown = said.unwrap_or(self.rule.rule.trim());
        let detail = match outcome {
            Outcome::Uncompiled(error) => format!("rule compile error: {error}"),
            Outcome::Failed(error) if error == "no such overload" => format!(
                "'{error}': call arguments did not match a supported operator, function or macro signature for rule: {shown}"
            ),
            Outcome::Failed(error) => format!("{error} evaluating rule: {shown}"),
            Outcome::Broken => return (self.broken(scope, value, &here, said), true),
        };
        (words::fault(What::Invalid, or_nil(here), &kind, &detail), false)
    }

    fn broken(&self, scope: &Scope, value: &Value, here: &str, said: Option<&str>) -> Fault {
        let field = or_nil(self.field.as_ref().map_or_else(|| here.to_owned(), |field| child(here, field)));
        let made = self.message.as_ref().and_then(|message| made(scope, message));
        let detail = made
            .unwrap_or_else(|| said.map_or_else(|| format!("failed rule: {}", self.rule.rule.trim()), str::to_owned));
        let what = match self.rule.reason.as_deref() {
            Some("FieldValueForbidden") => return Fault::forbidden(field, detail),
            Some("FieldValueRequired") => return Fault::required(field, detail),
            Some("FieldValueDuplicate") => What::Duplicate,
            _ => What::Invalid,
        };
        let detail = if what == What::Duplicate { String::new() } else { detail };
        match value {
            // Only scalars are shown.
            Value::Object(_) | Value::Array(_) => Fault { what, field, value: None, detail },
            _ => words::fault(what, field, value, &detail),
        }
    }
}

/// A message that an expression made, if it is one that can be shown.
fn made(scope: &Scope, message: &Expression) -> Option<String> {
    let value = scope.value_of(message).ok()?;
    let text = value.downcast_ref::<CelString>()?.inner().trim().to_owned();
    (!text.is_empty() && text.len() <= LONGEST_MESSAGE && !text.contains('\n')).then_some(text)
}

impl<'a> Changes<'a> {
    fn field(self, name: &str, new: &'a Value, node: &'a Node) -> Changes<'a> {
        const NOTHING: Value = Value::Null;
        let Some(here) = self.here else { return self };
        if self.above.is_none() && matches!(name, "apiVersion" | "kind") {
            return Changes::default();
        }
        let below = here.old.as_object().map(|old| Change {
            new,
            old: old.get(name).unwrap_or(&NOTHING),
            schema: &node.schema,
        });
        Changes { here: below, above: Some(here) }
    }

    fn item(self, new: &'a Value, node: &'a Node) -> Changes<'a> {
        let Some(here) = self.here else { return self };
        let old = match &here.schema.list {
            list @ ListType::Map(_) => lists::counterpart(new, here.old, list),
            _ => None,
        };
        Changes { here: old.map(|old| Change { new, old, schema: &node.schema }), above: Some(here) }
    }

    fn unchanged(self) -> bool {
        self.here.or(self.above).is_some_and(|change| lists::unchanged(change.new, change.old, change.schema))
    }
}

fn kind_of(shape: Shape) -> &'static str {
    match shape {
        Shape::Any | Shape::IntOrString => "",
        Shape::Object => "object",
        Shape::Array => "array",
        Shape::String => "string",
        Shape::Integer => "integer",
        Shape::Number => "number",
        Shape::Boolean => "boolean",
    }
}

/// A condition, such as those under which a webhook is called.
#[derive(Debug)]
pub struct Condition {
    expression: Expression,
}

impl Condition {
    /// Compiles a condition; the error says what is wrong with it.
    pub fn compile(expression: &str) -> Result<Condition, String> {
        Ok(Condition { expression: Expression::compile(expression.trim())? })
    }

    /// Whether it holds for these variables; the error says why that cannot be told.
    pub fn holds(&self, variables: &[(&str, &Value)]) -> Result<bool, String> {
        expression::with_functions(|scope| {
            let mut scope = scope.child();
            for (name, value) in variables {
                if self.expression.mentions(name) {
                    scope.set(name, plain(value));
                }
            }
            let value = scope.value_of(&self.expression)?;
            value
                .downcast_ref::<CelBool>()
                .map(|bool| *bool.inner())
                .ok_or_else(|| "cel expression must evaluate to a bool".to_owned())
        })
    }
}

#[cfg(test)]
mod tests;
