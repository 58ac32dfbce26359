//! The order of merged lists. Members that the patch names stand in the order of the patch (or of `$setElementOrder`), the others in the
//! order they had, and the two are interleaved so that a member that only the server has stays before those it stood before.

use serde_json::Value;

use super::{
    Fields, PATCH, SET_ORDER, after_prefix, broken, member_type, merge_lists, no_key, without_orders, wrong_type,
};
use crate::schema::Schema;
use crate::status::Status;

/// Carries out every `$setElementOrder` of a patch, with the list it is about; both leave the patch.
pub fn set(target: &mut Fields, patch: &mut Fields, schema: &Schema) -> Result<(), Status> {
    let orders: Vec<String> = patch.keys().filter(|name| name.starts_with(SET_ORDER)).cloned().collect();
    for order in orders {
        let Some(wanted) = patch.remove(&order) else { continue };
        let wanted = list(wanted)?;
        let name = after_prefix(&order, SET_ORDER, "setElementOrder list")?;
        let old = target.get(&name).cloned().map(list).transpose()?;
        let new = patch.get(&name).cloned().map(list).transpose()?;
        set_one(target, &name, &wanted, old, new, schema)?;
        patch.remove(&name);
    }
    Ok(())
}

fn set_one(
    target: &mut Fields,
    name: &str,
    wanted: &[Value],
    old: Option<Vec<Value>>,
    new: Option<Vec<Value>>,
    schema: &Schema,
) -> Result<(), Status> {
    let Some(field) = schema.field(name) else {
        return Err(broken(format!("unable to find api field in struct for the json field {name:?}")));
    };
    if field.items.is_none() {
        return Err(broken("expected slice or array type, but got: struct"));
    }
    let key = field.merge.key.as_deref();
    agree(new.as_deref().unwrap_or_default(), wanted, key)?;
    let merged = match (old.clone(), new.clone()) {
        (None, None) => return Ok(()),
        (Some(old), None) => old,
        (None, Some(new)) => new.into_iter().filter_map(without_orders).collect(),
        (Some(old), Some(new)) => merge_lists(old, new, field)?,
    };
    let (old, new) = (old.unwrap_or_default(), new.unwrap_or_default());
    if let Some(place) = wanted.iter().position(|member| key.is_some() && !member.is_object()) {
        return Err(broken(format!("value for key {place} is not a map")));
    }
    if member_type(&old, &new)?.is_none() {
        return Err(broken("no elements in any of the given slices"));
    }
    let stood = key.map_or_else(|| old.clone(), |key| after_deletion(&old, &new, key));
    target.insert(name.to_owned(), Value::Array(interleave(merged, wanted, &stood, key)?));
    Ok(())
}

/// The order that members are held to have had. In a real server a new member takes the place at the end of the old list that a deleted
/// one left, and so counts as an old one.
fn after_deletion(old: &[Value], new: &[Value], key: &str) -> Vec<Value> {
    let order = |member: &&Value, wanted: Option<&str>| member.get(PATCH).and_then(Value::as_str) == wanted;
    let same = |left: &Value, right: &Value| left.get(key) == right.get(key);
    let gone: Vec<&Value> = new.iter().filter(|member| order(member, Some("delete"))).collect();
    let mut stood: Vec<Value> =
        old.iter().filter(|member| !gone.iter().any(|gone| same(gone, member))).cloned().collect();
    if new.iter().any(|member| order(&member, Some("replace"))) {
        return stood;
    }
    for member in new.iter().filter(|member| order(member, None)) {
        if stood.len() < old.len() && !stood.iter().any(|candidate| same(candidate, member)) {
            stood.push(member.clone());
        }
    }
    stood
}

fn list(value: Value) -> Result<Vec<Value>, Status> {
    match value {
        Value::Array(members) => Ok(members),
        other => Err(wrong_type("[]interface {}", &other)),
    }
}

/// The members of a patch have to stand in the wanted order, and in the same sequence.
fn agree(new: &[Value], wanted: &[Value], key: Option<&str>) -> Result<(), Status> {
    if new.is_empty() || wanted.is_empty() {
        return Ok(());
    }
    let mut data = Vec::with_capacity(new.len());
    for member in new {
        if key.is_some() && !member.is_object() {
            return Err(wrong_type("map[string]interface {}", member));
        }
        if key.is_none() || member.get(PATCH).is_none_or(|order| order != "delete") {
            data.push(member);
        }
    }
    let (mut data, mut wanted_left) = (data.into_iter().peekable(), wanted.iter().peekable());
    while let (Some(member), Some(candidate)) = (data.peek(), wanted_left.peek()) {
        if member.get(PATCH).is_some() {
            data.next();
            continue;
        }
        if same(member, candidate, key)? {
            data.next();
        }
        wanted_left.next();
    }
    if data.peek().is_none() {
        return Ok(());
    }
    let (new, wanted) = (Value::Array(new.to_vec()), Value::Array(wanted.to_vec()));
    let (new, wanted) = (super::shown(&new), super::shown(&wanted));
    Err(broken(format!("The order in patch list:\n{new}\n doesn't match {SET_ORDER} list:\n{wanted}\n")))
}

fn same(left: &Value, right: &Value, key: Option<&str>) -> Result<bool, Status> {
    let Some(key) = key else { return Ok(left == right) };
    for member in [left, right] {
        if !member.is_object() {
            return Err(wrong_type("map[string]interface {}", member));
        }
        if member.get(key).is_none() {
            return Err(no_key(member, key));
        }
    }
    Ok(left.get(key) == right.get(key))
}

/// Puts merged members in order: those that `first` names as it has them, the others as `old` has them.
pub fn interleave(merged: Vec<Value>, first: &[Value], old: &[Value], key: Option<&str>) -> Result<Vec<Value>, Status> {
    if let Some(key) = key {
        for member in merged.iter().chain(first).chain(old) {
            if !member.is_object() {
                return Err(wrong_type("map[string]interface {}", member));
            }
            if member.get(key).is_none() {
                return Err(no_key(member, key));
            }
        }
    }
    let place =
        |list: &[Value], member: &Value| list.iter().position(|candidate| tell(candidate, key) == tell(member, key));
    let (mut named, mut others): (Vec<Value>, Vec<Value>) =
        merged.into_iter().partition(|member| place(first, member).is_some());
    sort(&mut named, |member| place(first, member));
    sort(&mut others, |member| place(old, member));

    let mut all = Vec::with_capacity(named.len() + others.len());
    let mut others = others.into_iter().peekable();
    for member in named {
        let stood = place(old, &member);
        while others.peek().is_some_and(|other| stood.is_some() && place(old, other).is_some_and(|at| Some(at) < stood))
        {
            all.extend(others.next());
        }
        all.push(member);
    }
    all.extend(others);
    Ok(all)
}

/// Sorts members by their places. Those without one move behind each of the others, as they do in a real server.
fn sort(members: &mut [Value], place: impl Fn(&Value) -> Option<usize>) {
    let places: Option<Vec<usize>> = members.iter().map(&place).collect();
    if places.is_some() {
        members.sort_by_cached_key(place);
        return;
    }
    for end in 1..members.len() {
        for at in (1..=end).rev() {
            match (place(&members[at]), place(&members[at - 1])) {
                (Some(this), Some(previous)) if this >= previous => break,
                _ => members.swap(at, at - 1),
            }
        }
    }
}

/// What tells members apart.
fn tell<'a>(member: &'a Value, key: Option<&str>) -> Option<&'a Value> {
    key.map_or(Some(member), |key| member.get(key))
}
