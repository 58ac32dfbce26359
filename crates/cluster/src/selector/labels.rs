//! Label selectors: `app=web,tier in (a,b),!canary` in queries, `matchLabels` and `matchExpressions` in objects.

use serde_json::{Value, json};

use super::names::{key_faults, value_faults};
use crate::status::{Fault, Status, What};

/// A label selector. All of its requirements have to hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Labels {
    requirements: Vec<Requirement>,
    nothing: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Requirement {
    key: String,
    operator: Operator,
    /// Sorted, without doubles.
    values: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operator {
    In,
    NotIn,
    Exists,
    DoesNotExist,
    Greater,
    Less,
}

impl Labels {
    /// Reads a selector as it stands in a query; an empty text selects everything.
    pub fn parse(text: &str) -> Result<Self, Status> {
        let tokens = Tokens { rest: text, next: None };
        let requirements = tokens.requirements().map_err(Status::bad_request)?;
        Ok(Self { requirements, nothing: false })
    }

    /// Reads a selector as it stands in objects. `null` selects nothing, an empty one everything.
    pub fn from_object(selector: &Value) -> Result<Self, Status> {
        if selector.is_null() {
            return Ok(Self { requirements: Vec::new(), nothing: true });
        }
        let mut requirements = Vec::new();
        for (key, value) in selector["matchLabels"].as_object().into_iter().flatten() {
            let value = value.as_str().unwrap_or_default().to_owned();
            requirements.push(requirement(key, Operator::In, vec![value]).map_err(Status::bad_request)?);
        }
        for expression in selector["matchExpressions"].as_array().into_iter().flatten() {
            let operator = match expression["operator"].as_str().unwrap_or_default() {
                "In" => Operator::In,
                "NotIn" => Operator::NotIn,
                "Exists" => Operator::Exists,
                "DoesNotExist" => Operator::DoesNotExist,
                other => return Err(Status::bad_request(format!("{other:?} is not a valid label selector operator"))),
            };
            let values = expression["values"].as_array().into_iter().flatten();
            let values = values.filter_map(Value::as_str).map(str::to_owned).collect();
            let key = expression["key"].as_str().unwrap_or_default();
            requirements.push(requirement(key, operator, values).map_err(Status::bad_request)?);
        }
        Ok(Self { requirements, nothing: false })
    }

    /// Whether everything is selected.
    pub fn is_empty(&self) -> bool {
        self.requirements.is_empty() && !self.nothing
    }

    /// Whether an object with these labels is selected; `get` gives the value of a label.
    pub fn matches<'a>(&self, get: impl Fn(&str) -> Option<&'a str>) -> bool {
        !self.nothing && self.requirements.iter().all(|requirement| requirement.holds(get(&requirement.key)))
    }

    /// Whether an object is selected, by its `metadata.labels`.
    pub fn select(&self, object: &Value) -> bool {
        self.matches(|key| object.get("metadata")?.get("labels")?.get(key)?.as_str())
    }
}

impl Requirement {
    fn holds(&self, value: Option<&str>) -> bool {
        let listed = |value: &str| self.values.iter().any(|candidate| candidate == value);
        let number = |text: &str| text.parse::<i64>().ok();
        match self.operator {
            Operator::In => value.is_some_and(listed),
            Operator::NotIn => !value.is_some_and(listed),
            Operator::Exists => value.is_some(),
            Operator::DoesNotExist => value.is_none(),
            Operator::Greater | Operator::Less => {
                let limit = self.values.first().and_then(|text| number(text));
                let order = value.and_then(number).zip(limit).map(|(value, limit)| value.cmp(&limit));
                order
                    .is_some_and(|order| if self.operator == Operator::Greater { order.is_gt() } else { order.is_lt() })
            }
        }
    }
}

/// Puts a requirement together, or says everything that is wrong with it.
fn requirement(key: &str, operator: Operator, values: Vec<String>) -> Result<Requirement, String> {
    let mut faults = Vec::new();
    let invalid = |field: String, value: Value, why: String| Fault::of(What::Invalid, field, value, why).to_string();
    let key_wrong = key_faults(key);
    if !key_wrong.is_empty() {
        faults.push(invalid("key".to_owned(), key.into(), key_wrong.join("; ")));
    }
    match operator {
        Operator::In | Operator::NotIn if values.is_empty() => {
            let why = "for 'in', 'notin' operators, values set can't be empty";
            faults.push(invalid("values".to_owned(), json!(values), why.to_owned()));
        }
        Operator::Exists | Operator::DoesNotExist if !values.is_empty() => {
            let why = "values set must be empty for exists and does not exist";
            faults.push(invalid("values".to_owned(), json!(values), why.to_owned()));
        }
        Operator::Greater | Operator::Less => {
            for (index, value) in values.iter().enumerate().filter(|(_, value)| value.parse::<i64>().is_err()) {
                let why = "for 'Gt', 'Lt' operators, the value must be an integer";
                faults.push(invalid(format!("values[{index}]"), value.as_str().into(), why.to_owned()));
            }
        }
        _ => {}
    }
    for (index, value) in values.iter().enumerate() {
        let wrong = value_faults(value);
        if !wrong.is_empty() {
            faults.push(invalid(format!("values[{index}][{key}]"), value.as_str().into(), wrong.join("; ")));
        }
    }
    match faults.len() {
        0 => Ok(Requirement { key: key.to_owned(), operator, values }),
        1 => Err(faults.remove(0)),
        _ => Err(format!("[{}]", faults.join(", "))),
    }
}

/// What a selector's text is made of. `in` and `notin` are words like any other, except where an operator is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Token<'a> {
    Word(&'a str),
    Sign(&'a str),
    End,
}

impl Token<'_> {
    fn text(&self) -> &str {
        match self {
            Token::Word(text) | Token::Sign(text) => text,
            Token::End => "",
        }
    }
}

struct Tokens<'a> {
    rest: &'a str,
    next: Option<Token<'a>>,
}

impl<'a> Tokens<'a> {
    fn peek(&mut self) -> Token<'a> {
        let token = self.take();
        self.next = Some(token);
        token
    }

    fn take(&mut self) -> Token<'a> {
        if let Some(token) = self.next.take() {
            return token;
        }
        let signs = ['=', '!', '(', ')', ',', '>', '<'];
        let blanks = [' ', '\t', '\r', '\n'];
        let rest = self.rest.trim_start_matches(blanks);
        let (token, rest) = match rest.chars().next() {
            None | Some('\0') => (Token::End, ""),
            Some(first) if signs.contains(&first) => {
                let length = if rest.starts_with("==") || rest.starts_with("!=") { 2 } else { 1 };
                (Token::Sign(&rest[..length]), &rest[length..])
            }
            Some(_) => {
                let ends = |letter: char| signs.contains(&letter) || blanks.contains(&letter) || letter == '\0';
                let length = rest.find(ends).unwrap_or(rest.len());
                (Token::Word(&rest[..length]), &rest[length..])
            }
        };
        self.rest = rest;
        token
    }

    fn requirements(mut self) -> Result<Vec<Requirement>, String> {
        let mut requirements = Vec::new();
        let begins = |token| matches!(token, Token::Word(_) | Token::Sign("!"));
        match self.peek() {
            Token::End => return Ok(requirements),
            first if begins(first) => {}
            other => return Err(format!("found '{}', expected: !, identifier, or 'end of string'", other.text())),
        }
        loop {
            let requirement = self.requirement().map_err(|why| format!("unable to parse requirement: {why}"))?;
            requirements.push(requirement);
            match self.take() {
                Token::End => return Ok(requirements),
                Token::Sign(",") => {
                    let next = self.peek();
                    if !begins(next) {
                        return Err(format!("found '{}', expected: identifier after ','", next.text()));
                    }
                }
                other => return Err(format!("found '{}', expected: ',' or 'end of string'", other.text())),
            }
        }
    }

    fn requirement(&mut self) -> Result<Requirement, String> {
        let mut token = self.take();
        let negated = token == Token::Sign("!");
        if negated {
            token = self.take();
        }
        let Token::Word(key) = token else { return Err(format!("found '{}', expected: identifier", token.text())) };
        let wrong = key_faults(key);
        if !wrong.is_empty() {
            // There is no field to name here, and a real server says so.
            return Err(Fault::of(What::Invalid, "<nil>", key.into(), wrong.join("; ")).to_string());
        }
        if negated {
            return requirement(key, Operator::DoesNotExist, Vec::new());
        }
        if matches!(self.peek(), Token::End | Token::Sign(",")) {
            return requirement(key, Operator::Exists, Vec::new());
        }
        let sign = self.take();
        let (operator, set) = match sign.text() {
            "in" => (Operator::In, true),
            "notin" => (Operator::NotIn, true),
            "=" | "==" => (Operator::In, false),
            "!=" => (Operator::NotIn, false),
            ">" => (Operator::Greater, false),
            "<" => (Operator::Less, false),
            other => return Err(format!("found '{other}', expected: in, notin, =, ==, !=, gt, lt")),
        };
        let mut values = if set { self.set()? } else { vec![self.value()?] };
        values.sort_unstable();
        values.dedup();
        requirement(key, operator, values)
    }

    fn value(&mut self) -> Result<String, String> {
        if matches!(self.peek(), Token::End | Token::Sign(",")) {
            return Ok(String::new());
        }
        match self.take() {
            Token::Word(value) => Ok(value.to_owned()),
            other => Err(format!("found '{}', expected: identifier", other.text())),
        }
    }

    /// What stands between parentheses. Nothing before or after a comma is an empty value.
    fn set(&mut self) -> Result<Vec<String>, String> {
        let open = self.take();
        if open != Token::Sign("(") {
            return Err(format!("found '{}' expected: '('", open.text()));
        }
        let mut values = Vec::new();
        match self.peek() {
            Token::Word(_) | Token::Sign(",") => {}
            Token::Sign(")") => values.push(String::new()),
            other => return Err(format!("found '{}', expected: ',', ')' or identifier", other.text())),
        }
        loop {
            match self.take() {
                Token::Sign(")") => return Ok(values),
                Token::Word(value) => {
                    values.push(value.to_owned());
                    let next = self.peek();
                    if !matches!(next, Token::Sign("," | ")")) {
                        return Err(format!("found '{}', expected: ',' or ')'", next.text()));
                    }
                }
                Token::Sign(",") => {
                    if values.is_empty() || matches!(self.peek(), Token::Sign("," | ")")) {
                        values.push(String::new());
                    }
                }
                other => return Err(format!("found '{}', expected: ',', or identifier", other.text())),
            }
        }
    }
}

#[cfg(test)]
mod tests;
