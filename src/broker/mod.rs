//! The only AMQP.
