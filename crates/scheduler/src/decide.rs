//! What is to be done now, in the order of business.

use crate::plan::Plan;
use crate::seen::Seen;
use crate::settings::Around;

/// What is to be done now. Pure, and level-driven: nothing is remembered from call to call but what stands in the objects.
pub fn decide(_seen: &Seen, _around: &Around<'_>) -> Plan {
    Plan::default()
}
