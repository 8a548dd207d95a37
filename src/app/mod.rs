//! app
pub mod demo_data;
