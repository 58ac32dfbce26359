//! What a DynamoGraphDeployment becomes. Tables by section of document 003 (`s003`) and of the Dynamo reference (`dynamo`), and what holds
//! for every deployment at all.

mod cases;
mod follow;
mod golden;
mod mapping;
mod multinode;
mod pods;
mod properties;
mod spoilt;
mod support;
