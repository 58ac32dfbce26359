//! The seven topology domains, widest first.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// A level of the topology, by its cluster-independent name. Ordered widest first: `Region < Numa`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Domain {
    /// A cloud provider's region.
    Region,
    /// An availability zone within a region.
    Zone,
    /// A data center within a zone.
    Datacenter,
    /// A switching block or network segment.
    Block,
    /// A rack, or an NVLink domain as a logical rack.
    Rack,
    /// One host.
    Host,
    /// A NUMA node within a host.
    Numa,
}

impl Domain {
    /// All domains, widest first.
    pub const ALL: [Self; 7] =
        [Self::Region, Self::Zone, Self::Datacenter, Self::Block, Self::Rack, Self::Host, Self::Numa];

    /// The name users write.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Region => "region",
            Self::Zone => "zone",
            Self::Datacenter => "datacenter",
            Self::Block => "block",
            Self::Rack => "rack",
            Self::Host => "host",
            Self::Numa => "numa",
        }
    }

    /// The domain of that name, if there is one.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|domain| domain.as_str() == name)
    }

    /// Whether `self` is a smaller piece of the cluster than `other`.
    pub fn narrower_than(self, other: Self) -> bool {
        self > other
    }
}

impl std::fmt::Display for Domain {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Written by hand so that the description is that of the field, also where the field is optional.
impl JsonSchema for Domain {
    fn schema_name() -> Cow<'static, str> {
        "Domain".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "enum": Self::ALL.map(Self::as_str)})
    }
}
