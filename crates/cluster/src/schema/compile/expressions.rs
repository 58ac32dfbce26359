//! Whether the rules of a schema can be rules.

use std::sync::Arc;

use serde_json::Value;

use super::super::Schema;
use super::super::rules::{fault_of_expression, field_path};
use super::super::validate::words;
use super::{compile, flag, text};
use crate::status::{Fault, What};

const REASONS: [&str; 4] = ["FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"];

/// Whether what belongs to a rule has its form.
pub(super) fn form(rules: &[Value], schema: &Value, path: &str, faults: &mut Vec<Fault>) {
    let breaks = |text: &str| text.contains(['\n', '\r']);
    for (index, rule) in rules.iter().enumerate() {
        let at = format!("{path}.x-kubernetes-validations[{index}]");
        let invalid = |field: &str, detail: &str| {
            words::fault(What::Invalid, format!("{at}.{field}"), &text(rule, field).into(), detail)
        };
        let (expression, message) = (text(rule, "rule").trim(), text(rule, "message"));
        if expression.is_empty() {
            faults.push(Fault::required(format!("{at}.rule"), "rule is not specified"));
        } else if !message.is_empty() && message.trim().is_empty() {
            faults.push(invalid("message", "must be non-empty if specified"));
        } else if breaks(message.trim()) {
            faults.push(invalid("message", "must not contain line breaks"));
        } else if breaks(expression) && message.trim().is_empty() {
            let detail = "message must be specified if rule contains line breaks";
            faults.push(Fault::required(format!("{at}.message"), detail));
        }
        let made = text(rule, "messageExpression");
        if !made.is_empty() && made.trim().is_empty() {
            let detail = "messageExpression must be non-empty if specified";
            faults.push(Fault::required(format!("{at}.messageExpression"), detail));
        }
        if let Some(reason) =
            rule.get("reason").filter(|reason| reason.as_str().is_none_or(|text| !REASONS.contains(&text)))
        {
            faults.push(words::not_supported(format!("{at}.reason"), reason, REASONS.into_iter()));
        }
        let field = text(rule, "fieldPath");
        if field.is_empty() {
            continue;
        }
        if field.trim().is_empty() {
            faults.push(invalid("fieldPath", "must be non-empty if specified"));
        }
        if breaks(field) {
            faults.push(invalid("fieldPath", "must not contain line breaks"));
        }
        if field_path(field, &compile(schema), true).is_err() {
            faults.push(invalid("fieldPath", "must be a valid path"));
        }
    }
}

/// Whether rules are expressions that fit the schema.
pub(super) fn check(
    rules: &[Value],
    schema: &Arc<Schema>,
    path: &str,
    uncorrelatable: Option<&str>,
    faults: &mut Vec<Fault>,
) {
    for (index, rule) in rules.iter().enumerate() {
        let at = format!("{path}.x-kubernetes-validations[{index}]");
        let invalid = |field: &str, detail: &str| Fault {
            what: What::Invalid,
            field: format!("{at}.{field}"),
            value: None,
            detail: format!("{}: {detail}", shown(rule)),
        };
        let expression = text(rule, "rule").trim();
        let optional_old = flag(rule, "optionalOldSelf");
        let looks_back = match fault_of_expression(expression, schema, optional_old, "bool") {
            Ok(looks_back) => looks_back,
            Err(error) => {
                faults.push(invalid("rule", &error));
                expression.contains("oldSelf")
            }
        };
        let made = text(rule, "messageExpression").trim();
        if !made.is_empty()
            && let Err(error) = fault_of_expression(made, schema, optional_old, "string")
        {
            let word = if error.starts_with("compilation") { "messageExpression " } else { "" };
            faults.push(invalid("messageExpression", &format!("{word}{error}")));
        }
        if looks_back {
            if let Some(place) = uncorrelatable {
                let detail =
                    format!("oldSelf cannot be used on the uncorrelatable portion of the schema within {place}");
                faults.push(words::fault(What::Invalid, format!("{at}.rule"), &text(rule, "rule").into(), &detail));
            }
        } else if rule.get("optionalOldSelf").is_some() {
            let detail = "may not be set if oldSelf is not used in rule";
            let value = flag(rule, "optionalOldSelf").into();
            faults.push(Fault::of(What::Invalid, format!("{at}.optionalOldSelf"), value, detail));
        }
    }
}

/// A rule as a real server shows it: with all its fields, in its own order.
pub(crate) fn shown(rule: &Value) -> String {
    let part = |name: &str, value: Value| format!("\"{name}\":{}", words::json(&value));
    let word = |field: &str| Value::from(text(rule, field));
    let optional = |field: &str| rule.get(field).cloned().unwrap_or_default();
    let parts = [
        part("Rule", word("rule")),
        part("Message", word("message")),
        part("MessageExpression", word("messageExpression")),
        part("Reason", optional("reason")),
        part("FieldPath", word("fieldPath")),
        part("OptionalOldSelf", optional("optionalOldSelf")),
    ];
    format!("{{{}}}", parts.join(","))
}
