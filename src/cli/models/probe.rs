//! Loads a model and asks it something.

use crate::inference::ModelFolder;

/// What a model that was loaded answered, in a few words; an error says what to do.
pub(super) async fn run(folder: &ModelFolder) -> Result<String, String> {
    std::future::ready(Err(format!(
        "{} cannot be run by this build; build with the feature `models`",
        folder.location()
    )))
    .await
}
