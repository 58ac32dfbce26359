//! Built-in kinds as a real server has them: the tables hold its answers.

mod changed;
mod kept;
mod refused;

use serde_json::{Value, json};

use super::*;
use crate::status::Status;

const NOW: &str = "2026-01-01T00:00:00Z";

fn known(object: &Value) -> Resource {
    let api_version = object["apiVersion"].as_str().unwrap();
    let group = api_version.split_once('/').map_or("", |(group, _)| group);
    resources().into_iter().find(|known| known.group == group && object["kind"] == known.kind).unwrap()
}

/// What becomes of a new object: what is kept, or why it is refused.
fn made(mut object: Value) -> Result<Value, String> {
    let resource = known(&object);
    let (kind, group) = (resource.kind.as_str(), resource.group.as_str());
    if let Some(why) = unreadable(kind, group, &object) {
        return Err(why);
    }
    default(kind, group, &mut object);
    if kind == "Pod" {
        tolerations(&mut object);
        priority(&mut object, None)?;
    }
    protect_storage(kind, &mut object);
    object["metadata"]["creationTimestamp"] = NOW.into();
    if resource.namespaced {
        object["metadata"]["namespace"] = "builtin".into();
    }
    prepare(kind, group, Verb::Create, &mut object, None);
    if kind == "Service" {
        service::give_address(&mut object, None, || "10.0.0.9".to_owned());
        service::give_node_ports(&mut object, None, || 30000);
    }
    let mut faults = metadata_faults(&resource, &object, None, "");
    faults.extend(validate(kind, group, &object, None, ""));
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    if faults.is_empty() { Ok(object) } else { Err(Status::invalid(resource.about_kind(name), &faults).message) }
}

fn pairs(table: &str) -> impl Iterator<Item = (&str, &str)> {
    let lines: Vec<&str> = table.lines().filter(|line| !line.is_empty()).collect();
    assert_eq!(lines.len() % 2, 0);
    lines.chunks(2).map(|pair| (pair[0], pair[1])).collect::<Vec<_>>().into_iter()
}

fn read(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn new_objects_are_kept_as_a_server_keeps_them() {
    for (given, expected) in pairs(kept::KEPT) {
        let mut made = made(read(given)).unwrap();
        made["metadata"].as_object_mut().unwrap().remove("creationTimestamp");
        let mut expected = read(expected);
        // Some kinds keep the times they were given.
        for object in [&mut made, &mut expected] {
            object["metadata"].as_object_mut().unwrap().remove("uid");
        }
        assert_eq!(made, expected, "{given}");
    }
}

#[test]
fn wrong_objects_are_refused_in_a_servers_words() {
    for (given, expected) in pairs(refused::REFUSED) {
        assert_eq!(made(read(given)).unwrap_err(), expected, "{given}");
    }
}

#[test]
fn pods_change_as_a_server_lets_them() {
    let pods: Vec<Value> = changed::PODS.lines().filter(|line| !line.is_empty()).map(read).collect();
    for (case, expected) in pairs(changed::CHANGED) {
        let case = read(case);
        let old = pods.iter().find(|pod| pod["metadata"]["name"] == case[0]).unwrap();
        let subresource = case[1].as_str().unwrap();
        let mut new = old.clone();
        json_patch::merge(&mut new, &case[2]);
        default("Pod", "", &mut new);
        let verb = if subresource.is_empty() { Verb::Update } else { Verb::UpdateStatus };
        prepare("Pod", "", verb, &mut new, Some(old));
        let resource = known(old);
        let mut faults = metadata_faults(&resource, &new, Some(old), subresource);
        faults.extend(validate("Pod", "", &new, Some(old), subresource));
        let told = match faults.as_slice() {
            [] => String::new(),
            _ => {
                let message = Status::invalid(resource.about_kind("x"), &faults).message;
                message.split_once(" is invalid: ").unwrap().1.to_owned()
            }
        };
        assert_eq!(json!(told), read(expected), "{case}");
        if told.is_empty() {
            assert_eq!(new["metadata"]["generation"], case[3], "{case}");
        }
    }
}

#[test]
fn every_kind_has_a_type() {
    for resource in resources() {
        let name =
            resource.versions[0].published["$ref"].as_str().unwrap().strip_prefix(types::PREFIX).unwrap().to_owned();
        assert!(components().contains_key(&name), "{name}");
        assert!(compiled::schema(&name).is_some(), "{name}");
    }
}

#[test]
fn references_lead_somewhere() {
    fn check(value: &Value) {
        if let Some(name) = value["$ref"].as_str() {
            assert!(components().contains_key(name.strip_prefix(types::PREFIX).unwrap()), "{name}");
        }
        match value {
            Value::Object(map) => map.values().for_each(check),
            Value::Array(list) => list.iter().for_each(check),
            _ => {}
        }
    }
    components().values().for_each(check);
}
