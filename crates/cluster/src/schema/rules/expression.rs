//! One expression: compiled, and evaluated with variables.
//!
//! The interpreter is not ours, and expressions come from whoever may write definitions: what it cannot take is refused before it gets
//! it, and where it stumbles after all the rule is broken, not the server.

use std::borrow::Cow;
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;

use kube_cel::KubeCelExt;
use kube_cel::cel::common::ast::{CallExpr, EntryExpr, Expr, IdedExpr};
use kube_cel::cel::common::value::Val;
use kube_cel::cel::parser::Parser;
use kube_cel::cel::{Context, ExecutionError, Value};

use super::super::Schema;
use super::functions;
use super::types::{Checker, Type};

/// The function behind `a.?b`.
pub(super) const OPTIONAL_FIELD: &str = "@optionalField";

/// How deep an expression may be nested.
const DEEPEST: usize = 100;
/// How many characters an expression may have.
const LONGEST: usize = 64 * 1024;
/// The parser recurses generously.
const STACK: usize = 64 * 1024 * 1024;

/// A compiled expression.
#[derive(Debug)]
pub(super) struct Expression {
    tree: IdedExpr,
}

impl Expression {
    /// Compiles an expression; the error is worded as a real server words it.
    pub(super) fn compile(source: &str) -> Result<Expression, String> {
        if source.len() > LONGEST {
            return Err(format!(
                "compilation failed: ERROR: <input>: expression code point size exceeds limit: size: {}, limit {LONGEST}",
                source.len()
            ));
        }
        let parsed = thread::scope(|scope| {
            let parse = || {
                let parser = Parser::new().enable_optional_syntax(true);
                let tree = parser.parse(source).map_err(|errors| in_words(&errors.to_string()))?;
                prepared(tree, 0)
            };
            thread::Builder::new().stack_size(STACK).spawn_scoped(scope, parse).map(thread::ScopedJoinHandle::join)
        });
        match parsed {
            Ok(Ok(tree)) => Ok(Expression { tree: tree.map_err(|error| format!("compilation failed: {error}"))? }),
            Ok(Err(_)) => Err("compilation failed: ERROR: <input>:1:1: the expression cannot be read".to_owned()),
            Err(error) => Err(format!("compilation failed: {error}")),
        }
    }

    pub(super) fn tree(&self) -> &IdedExpr {
        &self.tree
    }

    /// Whether a variable is mentioned.
    pub(super) fn mentions(&self, variable: &str) -> bool {
        self.tree.references().has_variable(variable)
    }
}

/// Judges an expression against the schema that it stands in and says whether it looks back (`oldSelf`). `wanted` is the type that it
/// has to have: `bool` of a rule, `string` of a message.
pub(crate) fn fault_of_expression(
    source: &str,
    schema: &Arc<Schema>,
    optional_old: bool,
    wanted: &str,
) -> Result<bool, String> {
    let expression = Expression::compile(source)?;
    let this = Type::of(schema);
    let before = if optional_old { Type::Any } else { this.clone() };
    let names = HashMap::from([("self".to_owned(), this), ("oldSelf".to_owned(), before)]);
    let is_function = |name: &str| with_functions(|scope| scope.has_function(name));
    let mut checker = Checker::new(source, names, &is_function);
    let found = checker.infer(&expression.tree);
    if !checker.problems.is_empty() {
        let problems: Vec<String> = checker.problems.iter().map(|(at, message)| marked(source, *at, message)).collect();
        return Err(format!("compilation failed: {}", problems.join("\n")));
    }
    if found.is(wanted) {
        return Ok(expression.mentions("oldSelf"));
    }
    Err(match wanted {
        "bool" => "cel expression must evaluate to a bool".to_owned(),
        _ => format!("messageExpression must evaluate to a {wanted}"),
    })
}

/// A message with the place it is about.
fn marked(source: &str, at: usize, message: &str) -> String {
    let before = &source[..at];
    let line_start = before.rfind('\n').map_or(0, |index| index + 1);
    let line = source[line_start..].lines().next().unwrap_or_default();
    let number = before.matches('\n').count() + 1;
    let column = source[line_start..at].chars().count();
    format!("ERROR: <input>:{number}:{}: {message}\n | {line}\n | {}^", column + 1, ".".repeat(column))
}

/// Calls a function with each part of an expression.
pub(super) fn each(tree: &IdedExpr, found: &mut impl FnMut(&IdedExpr)) {
    found(tree);
    match &tree.expr {
        Expr::Call(call) => {
            call.target.iter().for_each(|target| each(target, found));
            call.args.iter().for_each(|argument| each(argument, found));
        }
        Expr::Comprehension(part) => {
            for part in [&part.iter_range, &part.accu_init, &part.loop_cond, &part.loop_step, &part.result] {
                each(part, found);
            }
        }
        Expr::List(list) => list.elements.iter().for_each(|element| each(element, found)),
        Expr::Map(map) => {
            for entry in &map.entries {
                if let EntryExpr::MapEntry(entry) = &entry.expr {
                    each(&entry.key, found);
                    each(&entry.value, found);
                }
            }
        }
        Expr::Select(select) => each(&select.operand, found),
        _ => {}
    }
}

/// Refuses what the interpreter does not know, and gives `a.?b` to a function of ours, for the interpreter takes a missing field for a
/// fault.
fn prepared(tree: IdedExpr, depth: usize) -> Result<IdedExpr, String> {
    if depth > DEEPEST {
        return Err("ERROR: <input>:1:1: expression recursion limit exceeded: 100".to_owned());
    }
    let next = |tree: IdedExpr| prepared(tree, depth + 1);
    let id = tree.id;
    let expr = match tree.expr {
        Expr::Call(mut call) => {
            call.target = call.target.map(|target| next(*target)).transpose()?.map(Box::new);
            call.args = call.args.into_iter().map(next).collect::<Result<_, _>>()?;
            if call.func_name == "_?._" {
                OPTIONAL_FIELD.clone_into(&mut call.func_name);
            }
            Expr::Call(call)
        }
        Expr::Comprehension(mut part) => {
            for part in
                [&mut part.iter_range, &mut part.accu_init, &mut part.loop_cond, &mut part.loop_step, &mut part.result]
            {
                *part = next(std::mem::take(part))?;
            }
            Expr::Comprehension(part)
        }
        Expr::List(mut list) => {
            list.elements = list.elements.into_iter().map(next).collect::<Result<_, _>>()?;
            Expr::List(list)
        }
        Expr::Map(mut map) => {
            for entry in &mut map.entries {
                let EntryExpr::MapEntry(entry) = &mut entry.expr else { return Err(unsupported()) };
                entry.key = next(std::mem::take(&mut entry.key))?;
                entry.value = next(std::mem::take(&mut entry.value))?;
            }
            Expr::Map(map)
        }
        Expr::Select(mut select) => {
            select.operand = Box::new(next(*select.operand)?);
            Expr::Select(select)
        }
        Expr::Struct(_) | Expr::Unspecified => return Err(unsupported()),
        other @ (Expr::Ident(_) | Expr::Literal(_)) => other,
    };
    Ok(IdedExpr { id, expr })
}

fn unsupported() -> String {
    "ERROR: <input>:1:1: messages cannot be made here".to_owned()
}

/// Variables, and the functions behind them.
pub(super) struct Scope<'a> {
    context: Context<'a>,
}

impl Scope<'_> {
    /// A scope of its own on top of this one.
    pub(super) fn child(&self) -> Scope<'_> {
        Scope { context: self.context.new_inner_scope() }
    }

    pub(super) fn set(&mut self, name: &str, value: Box<dyn Val>) {
        let (Context::Root { variables, .. } | Context::Child { variables, .. }) = &mut self.context;
        variables.insert(name.to_owned(), value);
    }

    /// Whether there is a function of this name: calling it with nothing fails, but not for want of the function.
    fn has_function(&self, name: &str) -> bool {
        if name.starts_with(['_', '@', '!', '-']) {
            return true;
        }
        let call = CallExpr { func_name: name.to_owned(), target: None, args: Vec::new() };
        let expression = Expression { tree: IdedExpr { id: 0, expr: Expr::Call(call) } };
        self.value_of(&expression).err().is_none_or(|error| !error.starts_with("undeclared reference"))
    }

    /// The value of an expression; the error is worded as a real server words it.
    pub(super) fn value_of(&self, expression: &Expression) -> Result<Box<dyn Val>, String> {
        let evaluate = || Value::resolve_val(&expression.tree, &self.context).map(Cow::into_owned);
        match catch_unwind(AssertUnwindSafe(evaluate)) {
            Ok(result) => result.map_err(|error| error_in_words(&error)),
            Err(_) => Err("internal error".to_owned()),
        }
    }
}

thread_local! {
    /// All functions that Kubernetes has. Putting them together takes longer than most expressions.
    static FUNCTIONS: Scope<'static> = {
        let mut context = Context::default().with_all();
        functions::add(&mut context);
        Scope { context }
    };
}

pub(super) fn with_functions<T>(run: impl FnOnce(&Scope) -> T) -> T {
    FUNCTIONS.with(run)
}

fn error_in_words(error: &ExecutionError) -> String {
    match error {
        ExecutionError::NoSuchKey(key) => format!("no such key: {key}"),
        ExecutionError::DivisionByZero(_) => "division by zero".to_owned(),
        ExecutionError::RemainderByZero(_) => "modulus by zero".to_owned(),
        ExecutionError::Overflow(..) => "integer overflow".to_owned(),
        ExecutionError::IndexOutOfBounds(Value::Int(index)) => format!("index out of bounds: {index}"),
        ExecutionError::FunctionError { message, .. } => function_error_in_words(message),
        ExecutionError::UndeclaredReference(name) => format!("undeclared reference to '{name}' (in container '')"),
        _ => "no such overload".to_owned(),
    }
}

fn function_error_in_words(message: &str) -> String {
    let index = message.strip_suffix(" out of range").and_then(|rest| rest.rsplit_once("index "));
    index.map_or_else(|| message.to_owned(), |(_, index)| format!("index out of range: {index}"))
}

/// The parser's errors; lines of source are indented by one more there.
fn in_words(errors: &str) -> String {
    errors.replace("\n| ", "\n | ")
}
