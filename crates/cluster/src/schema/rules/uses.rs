//! What an expression looks at: preparing a whole object for a rule that reads one field would cost more than the rule.

use std::collections::BTreeMap;

use kube_cel::cel::common::ast::{Expr, IdedExpr};

use super::expression::each;

/// The fields that are looked at, by the names they have in expressions.
#[derive(Debug, Default)]
pub(super) struct Uses {
    /// Everything at this place and below.
    pub(super) all: bool,
    fields: BTreeMap<String, Uses>,
}

/// Everything.
pub(super) static ALL: Uses = Uses { all: true, fields: BTreeMap::new() };

impl Uses {
    /// Adds what an expression looks at below these variables.
    pub(super) fn add(&mut self, tree: &IdedExpr, variables: &[&str]) {
        let is_variable = |name: &String| variables.contains(&name.as_str());
        let mut paths: Vec<Vec<&str>> = Vec::new();
        let mut mentions = 0;
        each(tree, &mut |part| match &part.expr {
            Expr::Ident(name) if is_variable(name) => mentions += 1,
            _ => {}
        });
        collect(tree, variables, &mut paths);
        // A mention that is not the start of a path looks at everything.
        self.all |= mentions > paths.len();
        for path in paths {
            let mut place = &mut *self;
            for name in path {
                place = place.fields.entry(name.to_owned()).or_default();
            }
            place.all = true;
        }
    }

    /// What is looked at below a field; nothing if the field is not looked at.
    pub(super) fn field(&self, name: &str) -> Option<&Uses> {
        if self.all { Some(&ALL) } else { self.fields.get(name) }
    }
}

/// The longest paths of fields that start at the variables.
fn collect<'a>(tree: &'a IdedExpr, variables: &[&str], paths: &mut Vec<Vec<&'a str>>) {
    each_top(tree, &mut |select| {
        let mut path = Vec::new();
        let mut part = select;
        while let Expr::Select(select) = &part.expr {
            path.push(select.field.as_str());
            part = &select.operand;
        }
        match &part.expr {
            Expr::Ident(name) if variables.contains(&name.as_str()) && !path.is_empty() => {
                path.reverse();
                paths.push(path);
                None
            }
            _ => Some(part),
        }
    });
}

/// Calls a function with each chain of selections; it says where to go on below, if anywhere.
fn each_top<'a>(tree: &'a IdedExpr, found: &mut impl FnMut(&'a IdedExpr) -> Option<&'a IdedExpr>) {
    use kube_cel::cel::common::ast::EntryExpr;
    match &tree.expr {
        Expr::Select(_) => {
            if let Some(below) = found(tree) {
                each_top(below, found);
            }
        }
        Expr::Call(call) => {
            call.target.iter().for_each(|target| each_top(target, found));
            call.args.iter().for_each(|argument| each_top(argument, found));
        }
        Expr::Comprehension(part) => {
            for part in [&part.iter_range, &part.accu_init, &part.loop_cond, &part.loop_step, &part.result] {
                each_top(part, found);
            }
        }
        Expr::List(list) => list.elements.iter().for_each(|element| each_top(element, found)),
        Expr::Map(map) => {
            for entry in &map.entries {
                if let EntryExpr::MapEntry(entry) = &entry.expr {
                    each_top(&entry.key, found);
                    each_top(&entry.value, found);
                }
            }
        }
        _ => {}
    }
}
