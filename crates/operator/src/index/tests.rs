//! Who hears of what.

use super::*;
use serde_json::json;

/// A set that we deleted is known to be gone before the watch tells; a list that comes then does not miss it, so whoever looks at it has to
/// hear of it at once.
#[test]
fn what_is_found_to_be_gone_touches_those_who_look_at_it() {
    let index = Index::default();
    let set: PodCliqueSet = serde_json::from_value(json!({
        "apiVersion": "grove.io/v1alpha1", "kind": "PodCliqueSet",
        "metadata": { "namespace": "ns", "name": "wl", "uid": "1", "resourceVersion": "1" },
        "spec": { "template": { "cliques": [] } },
    }))
    .expect("a set");
    index.begin_list::<PodCliqueSet>();
    index.put(set);
    index.end_list::<PodCliqueSet>();
    let target = Target { kind: Kind::PodCliqueSet, namespace: "ns".to_owned(), name: "wl".to_owned() };
    let key = Key::Set("ns".to_owned(), "wl".to_owned());
    assert!(!index.absent(&target, "2").contains(&key), "it is another one");
    assert!(index.absent(&target, "1").contains(&key));
    index.begin_list::<PodCliqueSet>();
    assert_eq!(index.end_list::<PodCliqueSet>(), []);
}
