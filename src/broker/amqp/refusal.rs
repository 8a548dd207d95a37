//! Converts the broker's errors to a [`QueueError`] with a cause and a fix for the operator.
//!
//! To explain another error, add its stage and reply code to `explain`.

use lapin::uri::AMQPUri;
use lapin::{Error, ErrorKind};

use super::topology::Step;
use crate::broker::QueueError;

#[derive(Debug, Clone, Copy)]
pub(super) enum Stage<'a> {
    Connecting,
    Declaring(&'a Step),
    Consuming(&'a str),
}

/// AMQP reply codes.
const ACCESS_REFUSED: u16 = 403;
const NOT_FOUND: u16 = 404;
const PRECONDITION_FAILED: u16 = 406;
const NOT_ALLOWED: u16 = 530;

/// Returns `Refused` if an operator must change something, else `Unreachable`.
pub(super) fn explain(error: &Error, address: &str, uri: &AMQPUri, stage: Stage<'_>) -> QueueError {
    let code = match error.kind() {
        ErrorKind::ProtocolError(error) => error.get_id(),
        ErrorKind::InvalidProtocolVersion(_) => {
            return refused(
                address,
                "the protocol",
                error,
                "AMQP_URL must lead to a server that speaks AMQP 0-9-1".into(),
            );
        }
        ErrorKind::IOError(_) | ErrorKind::MissingHeartbeatError => {
            return QueueError::Unreachable { address: address.to_owned(), detail: error.to_string() };
        }
        _ => 0,
    };
    let user = &uri.authority.userinfo.username;
    let vhost = &uri.vhost;
    match (stage, code) {
        (Stage::Connecting, ACCESS_REFUSED) => refused(
            address,
            &format!("the user {user:?}"),
            error,
            "correct the user or the password in AMQP_URL".into(),
        ),
        (Stage::Connecting, NOT_ALLOWED | NOT_FOUND) => {
            let fix = format!(
                "create the vhost (rabbitmqctl add_vhost {vhost}) and let the user in (rabbitmqctl set_permissions -p {vhost} \
                 {user} '.*' '.*' '.*'), or correct AMQP_URL; the default vhost is written /%2f"
            );
            refused(address, &format!("the vhost {vhost:?}"), error, fix)
        }
        (Stage::Declaring(step), ACCESS_REFUSED) => refused(address, &step.describe(), error, grant(vhost, user)),
        (Stage::Declaring(step), PRECONDITION_FAILED) => {
            let fix = "it exists with other properties: empty and delete the old one, or configure another name".into();
            refused(address, &step.describe(), error, fix)
        }
        (Stage::Declaring(step), NOT_ALLOWED | NOT_FOUND | 503 | 540) => {
            refused(address, &step.describe(), error, "the broker must be RabbitMQ 3.10 or later".into())
        }
        (Stage::Consuming(queue), ACCESS_REFUSED) => {
            refused(address, &format!("reading the queue {queue}"), error, grant(vhost, user))
        }
        _ => QueueError::Unreachable { address: address.to_owned(), detail: error.to_string() },
    }
}

fn grant(vhost: &str, user: &str) -> String {
    format!("grant it: rabbitmqctl set_permissions -p {vhost} {user} '.*' '.*' '.*'")
}

fn refused(address: &str, what: &str, error: &Error, fix: String) -> QueueError {
    QueueError::Refused { address: address.to_owned(), what: what.to_owned(), detail: error.to_string(), fix }
}
