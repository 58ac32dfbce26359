//! What is refused of pods as they change: little of a spec can, and a status has its own rules.

use serde_json::{Value, json};

use super::{Findings, pod, scheduling};
use crate::builtin::reach::{at, entries, list, text};
use crate::builtin::{inside, names};

const CHANGEABLE: &str = "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,\
                          `spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),\
                          `spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";

/// A changed pod.
pub fn update(new: &Value, old: &Value, found: &mut Findings) {
    pod::spec(new, found);
    for containers in ["containers", "initContainers"] {
        let (now, before) = (list(&new["spec"], containers), list(&old["spec"], containers));
        if now.len() != before.len() {
            found.forbidden(&format!("spec.{containers}"), "pod updates may not add or remove containers");
            return;
        }
        for (index, container) in now.iter().enumerate() {
            let (field, image) = (format!("spec.{containers}[{index}].image"), text(container, "image"));
            if image.is_empty() {
                found.required(&field, "");
            }
            if image.trim() != image {
                found.invalid(&field, image, "must not have leading or trailing whitespace");
            }
        }
    }
    if deadline(new, old, found) {
        return;
    }
    added_tolerations(new, old, found);
    removed_gates(new, old, found);
    let mut munged = new["spec"].clone();
    forgive(&mut munged, &old["spec"], found);
    if munged != old["spec"] {
        found.forbidden("spec", format!("{CHANGEABLE}\n{}", inside::diff("PodSpec", &old["spec"], &munged)));
    }
}

/// The deadline may come nearer, not go away. True if nothing else is to be looked at.
fn deadline(new: &Value, old: &Value, found: &mut Findings) -> bool {
    let field = "spec.activeDeadlineSeconds";
    match (at(new, field).as_i64(), at(old, field).as_i64()) {
        (Some(now), _) if !(0..=i64::from(i32::MAX)).contains(&now) => {
            found.invalid(field, now, "must be between 0 and 2147483647, inclusive");
            true
        }
        (Some(now), Some(before)) if before < now => {
            found.invalid(field, now, "must be less than or equal to previous value");
            true
        }
        (None, Some(_)) => {
            found.invalid(field, Value::Null, "must not update from a positive integer to nil value");
            false
        }
        _ => false,
    }
}

fn added_tolerations(new: &Value, old: &Value, found: &mut Findings) {
    let without_time = |toleration: &Value| {
        let mut toleration = toleration.clone();
        toleration.as_object_mut().map(|fields| fields.remove("tolerationSeconds"));
        toleration
    };
    let now: Vec<Value> = list(new, "spec.tolerations").iter().map(without_time).collect();
    let kept = list(old, "spec.tolerations").iter().all(|toleration| now.contains(&without_time(toleration)));
    if kept {
        scheduling::tolerations(&new["spec"], found);
    } else {
        found.forbidden("spec.tolerations", "existing toleration can not be modified except its tolerationSeconds");
    }
}

fn removed_gates(new: &Value, old: &Value, found: &mut Findings) {
    let before: Vec<&str> = list(old, "spec.schedulingGates").iter().map(|gate| text(gate, "name")).collect();
    for (index, gate) in list(new, "spec.schedulingGates").iter().enumerate() {
        let name = text(gate, "name");
        if !before.contains(&name) {
            let detail = format!("only deletion is allowed, but found new scheduling gate '{name}'");
            found.forbidden(&format!("spec.schedulingGates[{index}].name"), detail);
        }
    }
}

/// Puts back what may change, so that only what may not is left.
fn forgive(munged: &mut Value, old: &Value, found: &mut Findings) {
    for containers in ["containers", "initContainers"] {
        let images: Vec<Value> = list(old, containers).iter().map(|container| container["image"].clone()).collect();
        let now = munged.get_mut(containers).and_then(Value::as_array_mut);
        for (container, image) in now.into_iter().flatten().zip(images) {
            container["image"] = image;
        }
    }
    for field in ["activeDeadlineSeconds", "schedulingGates", "tolerations"] {
        put_back(munged, old, field);
    }
    let grace = "terminationGracePeriodSeconds";
    if old[grace].as_i64().is_some_and(|before| before < 0) && munged[grace] == 1 {
        put_back(munged, old, grace);
    }
    if !list(old, "schedulingGates").is_empty() {
        forgive_gated(munged, old, found);
    }
}

fn put_back(munged: &mut Value, old: &Value, field: &str) {
    if let Some(munged) = munged.as_object_mut() {
        crate::builtin::reach::put(munged, field, old.get(field).cloned());
    }
}

/// What may be narrowed while a pod waits behind a gate.
fn forgive_gated(munged: &mut Value, old: &Value, found: &mut Findings) {
    let lost = entries(old, "nodeSelector").any(|(key, value)| munged["nodeSelector"].get(key) != Some(value));
    if lost {
        let detail = "only additions to spec.nodeSelector are allowed (no mutations or deletions)";
        let shown = munged.get("nodeSelector").cloned().unwrap_or_else(|| json!({}));
        found.invalid("spec.nodeSelector", shown, detail);
    }
    put_back(munged, old, "nodeSelector");
    let before = at(old, "affinity.nodeAffinity");
    if at(munged, "affinity.nodeAffinity") == before {
        return;
    }
    narrowed(at(munged, "affinity.nodeAffinity"), before, found);
    let others = ["podAffinity", "podAntiAffinity"].iter().any(|kind| !at(munged, "affinity")[*kind].is_null());
    if old["affinity"].is_null() && !others {
        put_back(munged, old, "affinity");
    } else if let Some(munged) = munged.as_object_mut() {
        let affinity = munged.entry("affinity").or_insert_with(|| json!({}));
        if let Some(affinity) = affinity.as_object_mut() {
            crate::builtin::reach::put(affinity, "nodeAffinity", old["affinity"].get("nodeAffinity").cloned());
        }
    }
}

fn narrowed(new: &Value, old: &Value, found: &mut Findings) {
    const TERM: &str = "NodeSelectorTerm";
    const TERMS: &str = "requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms";
    let (now, before) = (list(new, TERMS), list(old, TERMS));
    let field = format!("spec.affinity.nodeAffinity.{TERMS}");
    if before.is_empty() {
        return;
    }
    if now.len() != before.len() {
        let shown: Vec<String> = now.iter().map(|term| inside::compact(TERM, term)).collect();
        let shown = if now.is_empty() { "null".to_owned() } else { format!("[{}]", shown.join(",")) };
        found.shown(&field, &shown, "no additions/deletions to non-empty NodeSelectorTerms list are allowed");
        return;
    }
    for (index, (now, before)) in now.iter().zip(before).enumerate() {
        let kept = |part: &str| list(now, part).starts_with(list(before, part));
        let empty =
            ["matchExpressions", "matchFields"].map(|part| (list(before, part).is_empty(), list(now, part).is_empty()));
        let filled = empty.iter().all(|(before, _)| *before) && !empty.iter().all(|(_, now)| *now);
        if filled || !kept("matchExpressions") || !kept("matchFields") {
            let detail = "only additions are allowed (no mutations or deletions)";
            found.shown(&format!("{field}[{index}]"), &inside::compact(TERM, now), detail);
        }
    }
}

/// A changed status.
pub fn status(new: &Value, old: &Value, found: &mut Findings) {
    for (index, condition) in list(new, "status.conditions").iter().enumerate() {
        let kind = text(condition, "type");
        if !matches!(kind, "PodScheduled" | "Ready" | "Initialized") {
            found.each(&format!("status.conditions[{index}].Type"), kind, names::qualified(kind));
        }
    }
    let nominated = text(new, "status.nominatedNodeName");
    if nominated != text(old, "status.nominatedNodeName") && !nominated.is_empty() {
        found.each("status.nominatedNodeName", nominated, names::subdomain(nominated, "characters"));
        if !text(old, "spec.nodeName").is_empty() {
            found.forbidden("status.nominatedNodeName", "may not be set on pods that are already bound to a node");
        }
    }
    if at(new, "status.qosClass") != at(old, "status.qosClass") {
        found.unchanged("status.qosClass", at(new, "status.qosClass"), at(old, "status.qosClass"));
    }
    for (index, address) in list(new, "status.podIPs").iter().enumerate() {
        let address = text(address, "ip");
        if address.parse::<std::net::IpAddr>().is_err() {
            let detail = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";
            found.invalid(&format!("status.podIPs[{index}]"), address, detail);
        }
    }
    transitions(new, old, "containerStatuses", "containers", found);
    transitions(new, old, "initContainerStatuses", "initContainers", found);
}

/// A container that ended and is not to run again stays so.
fn transitions(new: &Value, old: &Value, statuses: &str, containers: &str, found: &mut Findings) {
    for (index, before) in list(&old["status"], statuses).iter().enumerate() {
        let ended = &before["state"]["terminated"];
        if ended.is_null() {
            continue;
        }
        let name = text(before, "name");
        let now = list(&new["status"], statuses).iter().find(|now| text(now, "name") == name);
        let again = now.is_some_and(|now| now["state"]["terminated"].is_null());
        let own = list(&old["spec"], containers).iter().find(|container| text(container, "name") == name);
        let own = own.map(|container| text(container, "restartPolicy")).filter(|policy| !policy.is_empty());
        let failed = ended["exitCode"].as_i64().unwrap_or_default() != 0;
        let may = match own.unwrap_or_else(|| text(old, "spec.restartPolicy")) {
            "Always" => true,
            "OnFailure" => failed,
            _ => false,
        };
        if again && !may {
            found.forbidden(
                &format!("status.{statuses}[{index}].state"),
                "may not be transitioned to non-terminated state",
            );
        }
    }
}
