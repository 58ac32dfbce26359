//! Headless Services, one for each replica of a set, so that its pods find each other by name.

use crate::{child_metadata, count, name, pods};
use k8s_openapi::api::core::v1::{Service, ServiceSpec};
use trellis_api::kinds::PodCliqueSet;
use trellis_api::names::{self, component, label};

/// The headless Services of a set.
pub fn services(set: &PodCliqueSet) -> Vec<Service> {
    let config = set.spec.template.headless_service_config.clone().unwrap_or_default();
    (0..count(set.spec.replicas))
        .map(|i| {
            let mut metadata = child_metadata(set, &names::set_replica(name(set), i), component::HEADLESS_SERVICE);
            metadata.labels.get_or_insert_default().insert(label::SET_REPLICA_INDEX.to_owned(), i.to_string());
            Service {
                metadata,
                spec: Some(ServiceSpec {
                    cluster_ip: Some("None".to_owned()),
                    selector: Some(pods::replica_selector(set, i)),
                    publish_not_ready_addresses: Some(config.publish_not_ready_addresses),
                    ..ServiceSpec::default()
                }),
                status: None,
            }
        })
        .collect()
}
