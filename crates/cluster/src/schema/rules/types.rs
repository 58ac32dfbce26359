//! What an expression is made of, as far as a schema tells: a field that is not there, a comparison of a number with a text and a rule
//! that is no yes or no are found before there is an object.
//!
//! Where the type is not known, anything goes.

use std::collections::HashMap;
use std::sync::Arc;

use kube_cel::cel::common::ast::{CallExpr, ComprehensionExpr, Expr, IdedExpr, LiteralValue};

use super::super::{Schema, Shape};
use super::data::escaped;

/// The type of a value.
#[derive(Debug, Clone)]
pub(super) enum Type {
    /// Not known.
    Any,
    /// One that stands for itself: `bool`, `int`, `string`…
    Plain(&'static str),
    List(Box<Type>),
    Map(Box<Type>),
    /// An object with these fields.
    Object(Arc<Schema>),
}

const BOOL: Type = Type::Plain("bool");

/// What stands before a point in names of functions.
const LIBRARIES: [&str; 4] = ["sets", "optional", "format", "base64"];

const MACROS: [&str; 10] = [
    "all",
    "exists",
    "exists_one",
    "existsOne",
    "transformList",
    "transformMap",
    "transformMapEntry",
    "sortBy",
    "optMap",
    "optFlatMap",
];

impl Type {
    /// The type of values of a schema.
    pub(super) fn of(schema: &Arc<Schema>) -> Type {
        let format = schema.limits.as_ref().and_then(|limits| limits.format.as_deref()).unwrap_or_default();
        match schema.shape {
            Shape::Any | Shape::IntOrString => Type::Any,
            Shape::Boolean => BOOL,
            Shape::Integer => Type::Plain("int"),
            Shape::Number => Type::Plain("double"),
            Shape::String => Type::Plain(match format {
                "date-time" | "datetime" | "date" => "timestamp",
                "duration" => "duration",
                "byte" => "bytes",
                _ => "string",
            }),
            Shape::Array => Type::List(Box::new(schema.items.as_ref().map_or(Type::Any, Type::of))),
            Shape::Object => match &schema.additional {
                Some(additional) => Type::Map(Box::new(Type::of(additional))),
                None if schema.properties.is_empty() => Type::Any,
                None => Type::Object(schema.clone()),
            },
        }
    }

    /// The name in messages, if all of the type is known and it has no fields.
    fn name(&self) -> Option<String> {
        match self {
            Type::Plain(name) => Some((*name).to_owned()),
            Type::List(member) => Some(format!("list({})", member.name()?)),
            Type::Map(value) => Some(format!("map(string, {})", value.name()?)),
            Type::Any | Type::Object(_) => None,
        }
    }

    pub(super) fn is(&self, name: &str) -> bool {
        match self {
            Type::Any => true,
            Type::Plain(plain) => *plain == name,
            _ => false,
        }
    }

    fn or_any(&self, other: &Type) -> Type {
        if self.name().is_some() && self.name() == other.name() { self.clone() } else { Type::Any }
    }
}

/// Walks over an expression and collects what is wrong, with where it is in the source.
pub(super) struct Checker<'a> {
    source: &'a str,
    names: HashMap<String, Type>,
    /// How often each piece of source was looked for.
    seen: HashMap<String, usize>,
    is_function: &'a dyn Fn(&str) -> bool,
    pub(super) problems: Vec<(usize, String)>,
}

impl<'a> Checker<'a> {
    pub(super) fn new(source: &'a str, names: HashMap<String, Type>, is_function: &'a dyn Fn(&str) -> bool) -> Self {
        Checker { source, names, seen: HashMap::new(), is_function, problems: Vec::new() }
    }

    /// Where the next of these pieces is: names are whole words.
    fn place(&mut self, piece: &str) -> usize {
        let seen = self.seen.entry(piece.to_owned()).or_default();
        let is_word = |char: char| char.is_alphanumeric() || char == '_';
        let whole = |at: usize| {
            let before = self.source[..at].chars().next_back().is_some_and(is_word);
            let after = self.source[at + piece.len()..].chars().next().is_some_and(is_word);
            let (starts, ends) = (piece.starts_with(is_word), piece.ends_with(is_word));
            !(starts && before || ends && after)
        };
        let places: Vec<usize> = self.source.match_indices(piece).map(|(at, _)| at).filter(|at| whole(*at)).collect();
        let found = places.get(*seen).or(places.last()).copied().unwrap_or_default();
        *seen += 1;
        found
    }

    fn problem(&mut self, at: usize, message: String) -> Type {
        self.problems.push((at, message));
        Type::Any
    }

    /// The type of an expression.
    pub(super) fn infer(&mut self, tree: &IdedExpr) -> Type {
        match &tree.expr {
            Expr::Ident(name) => self.variable(name),
            Expr::Literal(literal) => Type::Plain(match literal {
                LiteralValue::Boolean(_) => "bool",
                LiteralValue::Bytes(_) => "bytes",
                LiteralValue::Double(_) => "double",
                LiteralValue::Int(_) => "int",
                LiteralValue::Null => "null",
                LiteralValue::String(_) => "string",
                LiteralValue::UInt(_) => "uint",
            }),
            Expr::Select(select) => {
                let operand = self.infer(&select.operand);
                let found = self.field(&operand, &select.field);
                if select.test { BOOL } else { found }
            }
            Expr::Call(call) => self.called(call),
            Expr::Comprehension(comprehension) => self.looped(comprehension),
            Expr::List(list) => {
                let members: Vec<Type> = list.elements.iter().map(|element| self.infer(element)).collect();
                let member = members.iter().skip(1).fold(members.first().cloned(), |all, one| Some(all?.or_any(one)));
                Type::List(Box::new(member.unwrap_or(Type::Any)))
            }
            _ => Type::Any,
        }
    }

    fn variable(&mut self, name: &str) -> Type {
        const TYPES: [&str; 13] = [
            "bool",
            "bytes",
            "double",
            "duration",
            "int",
            "list",
            "map",
            "null_type",
            "string",
            "timestamp",
            "type",
            "uint",
            "dyn",
        ];
        match self.names.get(name) {
            Some(found) => found.clone(),
            None if TYPES.contains(&name) || name.starts_with(['@', '#']) => Type::Any,
            None => {
                let at = self.place(name);
                self.problem(at, format!("undeclared reference to '{name}' (in container '')"))
            }
        }
    }

    fn field(&mut self, operand: &Type, name: &str) -> Type {
        let message = match operand {
            Type::Object(schema) => {
                let property = schema.properties.iter().find(|(property, _)| escaped(property) == name);
                let is_meta = schema.embedded && matches!(name, "apiVersion" | "kind" | "metadata");
                match property {
                    Some((_, property)) => return Type::of(property),
                    None if is_meta => return Type::Any,
                    None => format!("undefined field '{name}'"),
                }
            }
            Type::Map(value) => return (**value).clone(),
            Type::Plain(kind) => format!("type '{kind}' does not support field selection"),
            Type::Any | Type::List(_) => return Type::Any,
        };
        let at = self.place(&format!(".{name}"));
        self.problem(at, message)
    }

    fn called(&mut self, call: &CallExpr) -> Type {
        let function = call.func_name.as_str();
        // `sets.contains` is a name with a point, not a function of something.
        let library = matches!(
            call.target.as_ref().map(|target| &target.expr),
            Some(Expr::Ident(prefix)) if LIBRARIES.contains(&prefix.as_str())
        );
        let target = call.target.as_ref().filter(|_| !library).map(|target| self.infer(target));
        // Macros that the parser leaves alone bind names of their own.
        if target.is_some() && MACROS.contains(&function) {
            return Type::Any;
        }
        let known = library || (self.is_function)(function);
        if !known {
            let at = self.place(&format!("{function}(")) + function.len();
            self.problem(at, format!("undeclared reference to '{function}' (in container '')"));
        }
        let arguments: Vec<Type> = call.args.iter().map(|argument| self.infer(argument)).collect();
        if library || !known {
            return Type::Any;
        }
        self.result(function, target.as_ref(), &arguments)
    }

    fn result(&mut self, function: &str, target: Option<&Type>, arguments: &[Type]) -> Type {
        match (function, arguments) {
            ("_&&_" | "_||_", _) => {
                for wrong in arguments.iter().filter(|argument| !argument.is("bool")) {
                    if let Some(kind) = wrong.name() {
                        // The place is that of the operand, which is not kept.
                        let at = self.source.find('.').unwrap_or_default();
                        self.problem(at, format!("expected type 'bool' but found '{kind}'"));
                    }
                }
                BOOL
            }
            ("!_", [one]) if !one.is("bool") => self.no_overload("!_", "!", &[one]),
            ("@in" | "_in_", [one, container]) => {
                let member = match container {
                    Type::List(member) => (**member).clone(),
                    Type::Map(_) => Type::Plain("string"),
                    _ => Type::Any,
                };
                if let (Some(one_name), Some(member)) = (one.name(), member.name())
                    && one_name != member
                {
                    return self.no_overload("@in", "in", &[one, container]);
                }
                BOOL
            }
            ("_==_" | "_!=_", [one, other]) if differ(one, other) => self.no_overload(function, "", &[one, other]),
            ("_<_" | "_<=_" | "_>_" | "_>=_", [one, other])
                if differ(one, other) && !(is_number(one) && is_number(other)) =>
            {
                self.no_overload(function, "", &[one, other])
            }
            (
                "!_" | "_==_" | "_!=_" | "_<_" | "_<=_" | "_>_" | "_>=_" | "startsWith" | "endsWith" | "contains"
                | "matches" | "hasValue" | "isSorted" | "bool",
                _,
            ) => BOOL,
            ("_+_" | "_-_" | "_*_" | "_/_" | "_%_", [one, other]) => {
                let times = |kind: &Type| kind.is("timestamp") || kind.is("duration");
                if differ(one, other) && !times(one) && !times(other) {
                    return self.no_overload(function, "", &[one, other]);
                }
                one.or_any(other)
            }
            ("-_", [one]) => one.clone(),
            ("_?_:_", [_, one, other]) => one.or_any(other),
            ("_[_]", [Type::List(member) | Type::Map(member), _]) => (**member).clone(),
            ("size", [one @ Type::Plain(kind)]) if target.is_none() && !matches!(*kind, "string" | "bytes") => {
                self.no_overload("size", "size(", &[one])
            }
            ("size" | "int" | "indexOf" | "lastIndexOf", _) => Type::Plain("int"),
            ("double", _) => Type::Plain("double"),
            ("timestamp", _) => Type::Plain("timestamp"),
            ("duration", _) => Type::Plain("duration"),
            ("bytes", _) => Type::Plain("bytes"),
            (
                "string" | "lowerAscii" | "upperAscii" | "trim" | "replace" | "substring" | "charAt" | "join"
                | "format",
                _,
            ) => Type::Plain("string"),
            _ => Type::Any,
        }
    }

    /// An operator or function that does not take these; the operator stands in the source without its underscores.
    fn no_overload(&mut self, function: &str, piece: &str, arguments: &[&Type]) -> Type {
        let piece = if piece.is_empty() { function.trim_matches('_') } else { piece };
        let at = self.place(piece) + piece.len().saturating_sub(1) * usize::from(piece.ends_with('('));
        let names: Vec<String> = arguments.iter().filter_map(|argument| argument.name()).collect();
        self.problem(at, format!("found no matching overload for '{function}' applied to '({})'", names.join(", ")))
    }

    fn looped(&mut self, part: &ComprehensionExpr) -> Type {
        let member = match self.infer(&part.iter_range) {
            Type::List(member) => *member,
            Type::Map(_) => Type::Plain("string"),
            _ => Type::Any,
        };
        let start = self.infer(&part.accu_init);
        let hidden = [
            (part.iter_var.clone(), self.names.insert(part.iter_var.clone(), member)),
            (part.accu_var.clone(), self.names.insert(part.accu_var.clone(), start)),
        ];
        self.infer(&part.loop_step);
        let result = self.infer(&part.result);
        for (name, before) in hidden.into_iter().rev() {
            match before {
                Some(before) => self.names.insert(name, before),
                None => self.names.remove(&name),
            };
        }
        result
    }
}

/// Whether both are known and not the same.
fn differ(one: &Type, other: &Type) -> bool {
    matches!((one, other), (Type::Plain(one), Type::Plain(other)) if one != other)
}

fn is_number(kind: &Type) -> bool {
    matches!(kind, Type::Plain("int" | "uint" | "double"))
}
