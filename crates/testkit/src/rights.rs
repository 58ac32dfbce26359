//! What a manifest allows, and what an audit log shows to have been done.

use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;

/// A right: a verb on a resource, on these objects of it, or on all.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Right {
    /// The API group.
    pub group: String,
    /// With its subresource, if it is about one.
    pub resource: String,
    /// What may be done.
    pub verb: String,
    /// None for all.
    pub names: BTreeSet<String>,
}

impl fmt::Display for Right {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { group, resource, verb, names } = self;
        write!(out, "{verb:7}{}{}{resource}", group, if group.is_empty() { "" } else { "/" })?;
        names.iter().try_for_each(|name| write!(out, " {name}"))
    }
}

fn texts(value: &Value) -> impl Iterator<Item = &str> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str)
}

/// All rights that the roles among these objects give, one by one.
pub fn given(objects: &[Value]) -> BTreeSet<Right> {
    let mut rights = BTreeSet::new();
    let roles = objects.iter().filter(|object| object["kind"] == "ClusterRole" || object["kind"] == "Role");
    for rule in roles.flat_map(|role| role["rules"].as_array().into_iter().flatten()) {
        let names: BTreeSet<String> = texts(&rule["resourceNames"]).map(ToOwned::to_owned).collect();
        for group in texts(&rule["apiGroups"]) {
            for resource in texts(&rule["resources"]) {
                rights.extend(texts(&rule["verbs"]).map(|verb| Right {
                    group: group.to_owned(),
                    resource: resource.to_owned(),
                    verb: verb.to_owned(),
                    names: names.clone(),
                }));
            }
        }
    }
    rights
}

/// What a user was seen to do, and what was refused.
#[derive(Debug, Default)]
pub struct Seen {
    /// What was done.
    pub done: BTreeSet<Right>,
    /// What was not allowed, in words.
    pub refused: BTreeSet<String>,
}

/// Reads an audit log.
pub fn seen(log: &Path, user: &str) -> Seen {
    let mut seen = Seen::default();
    let text = std::fs::read_to_string(log).unwrap_or_default();
    // The last line may still be on its way.
    for event in text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
        if event["user"]["username"] != user {
            continue;
        }
        let about = &event["objectRef"];
        let field = |name: &str| about[name].as_str().unwrap_or_default().to_owned();
        let resource = match about["subresource"].as_str() {
            Some(part) => format!("{}/{part}", field("resource")),
            None => field("resource"),
        };
        let verb = event["verb"].as_str().unwrap_or_default().to_owned();
        let names = about["name"].as_str().map(ToOwned::to_owned).into_iter().collect();
        let right = Right { group: field("apiGroup"), resource, verb, names };
        if event["responseStatus"]["code"] == 403 {
            let why = event["annotations"]["authorization.k8s.io/reason"].as_str().unwrap_or_default();
            seen.refused.insert(format!("{right} {why}: {}", event["responseStatus"]["message"]));
        } else if about.is_object() {
            // Whoever applies what is not there has to have the right to create it.
            if event["responseStatus"]["code"] == 201 {
                seen.done.insert(Right { verb: "create".to_owned(), ..right.clone() });
            }
            seen.done.insert(right);
        }
    }
    seen
}

impl Seen {
    /// Those of the rights that were not needed.
    pub fn unused(&self, given: &BTreeSet<Right>) -> Vec<Right> {
        let fits = |right: &Right, done: &Right| {
            // Whoever follows something lists it first, and may have seen enough by then.
            let verb = done.verb == right.verb || done.verb == "list" && right.verb == "watch";
            let same = verb && (&done.group, &done.resource) == (&right.group, &right.resource);
            same && (right.names.is_empty() || !done.names.is_disjoint(&right.names))
        };
        given.iter().filter(|right| !self.done.iter().any(|done| fits(right, done))).cloned().collect()
    }
}

/// Holds what a manifest gives against what the audit log shows: nothing was refused, and nothing is given that was not used. `besides` is
/// what was used without being seen there.
///
/// # Panics
/// If that is not so.
pub async fn check(log: &Path, user: &str, given: &BTreeSet<Right>, besides: &BTreeSet<Right>) {
    let look = || {
        let mut seen = seen(log, user);
        seen.done.extend(besides.clone());
        seen
    };
    let mut ticks = tokio::time::interval(Duration::from_millis(200));
    for _ in 0..25 {
        // What was done last may still be on its way into the log.
        ticks.tick().await;
        if look().unused(given).is_empty() {
            break;
        }
    }
    let seen = look();
    let lines = |rights: &mut dyn Iterator<Item = String>| {
        rights.fold(String::new(), |told, right| told + "  " + &right + "\n")
    };
    let unnamed = |right: &Right| Right { names: BTreeSet::new(), ..right.clone() }.to_string();
    let done: BTreeSet<String> = seen.done.iter().map(unnamed).collect();
    println!("given:\n{}", lines(&mut given.iter().map(ToString::to_string)));
    println!("used:\n{}", lines(&mut done.into_iter()));
    let (refused, unused) = (seen.refused.iter().cloned().collect::<Vec<_>>(), seen.unused(given));
    assert!(refused.is_empty(), "refused:\n{}", refused.join("\n"));
    assert!(unused.is_empty(), "never used:\n{}", lines(&mut unused.iter().map(ToString::to_string)));
}

/// A policy of auditing: what one user does is written down, and only what it is about.
pub fn policy(user: &str) -> String {
    format!(
        "apiVersion: audit.k8s.io/v1\nkind: Policy\nomitStages: [RequestReceived]\n\
         rules:\n- level: Metadata\n  users: ['{user}']\n- level: None\n"
    )
}
