//! Patches: the object that comes out of an object and a JSON patch, a merge patch or a strategic merge patch, with the quirks of a
//! real server (negative indices, `replace` of what is absent, the order of merged lists) and its refusals.
//!
//! Server-side apply is not decided here: it is about owners of fields.

mod json;
mod merge;
mod strategic;
mod words;

pub use json::{json, unknown_fields};
pub use merge::merge;
pub use strategic::strategic;
pub use words::shown;

use serde_json::{Map, Value, json as literal};

use crate::status::{Fault, Status, What};

/// What a patched object is refused with when it cannot be read as an object of its kind. `text` is what the server shows: the patched
/// object as JSON for JSON and merge patches, [`shown`] of the patch for strategic ones.
pub fn unreadable(text: &str, why: &str) -> Status {
    let fault = Fault::of(What::Invalid, "patch", text.into(), why);
    let cause = literal!({"reason": fault.what.reason(), "message": fault.message(), "field": fault.field});
    let mut status = Status::unprocessable(format!(" \"\" is invalid: {fault}"));
    status.set_causes(vec![cause]);
    status
}

/// The patch as an object, or the words of a real server for anything else. `null` is not judged here.
fn object(patch: &Value) -> Result<&Map<String, Value>, String> {
    let kind = words::json_kind(patch);
    patch
        .as_object()
        .ok_or_else(|| format!("json: cannot unmarshal {kind} into Go value of type map[string]interface {{}}"))
}

/// What a patch is refused with that cannot be carried out: always the same words, whatever the cause.
fn rejected() -> Status {
    let mut status = Status::unprocessable("the server rejected our request due to an error in our request");
    status.details = Some(literal!({}));
    status
}

/// Fields that are null go, at any depth, also inside of lists; members of lists stay.
fn drop_nulls(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, value| !value.is_null());
            fields.values_mut().for_each(drop_nulls);
        }
        Value::Array(members) => members.iter_mut().for_each(drop_nulls),
        _ => {}
    }
}
