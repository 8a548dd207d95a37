//! Explains an ambiguous refusal by a free request for the account's state.

use std::fmt;

use super::error::AskError;
use super::gate::Gate;
use super::request::ApiRequest;
use super::response::ApiResponse;
use super::spend::Asker;

/// The request after an ambiguous refusal.
pub struct Inquiry<'a> {
    /// Free: neither counted nor paid.
    pub request: ApiRequest,
    /// Whether this refusal needs it, from the raw response and its error.
    pub is_needed: &'a (dyn Fn(&ApiResponse, &AskError) -> bool + Sync),
    /// Returns the error in view of the account. An unreadable account leaves it unchanged.
    pub explain: &'a (dyn Fn(AskError, &ApiResponse) -> AskError + Sync),
}

impl fmt::Debug for Inquiry<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inquiry").field("request", &self.request).finish_non_exhaustive()
    }
}

impl Gate {
    /// Sends a free request, outside rate limit and breaker. Neither counted nor paid.
    pub async fn inquire<T>(
        &self,
        request: ApiRequest,
        asker: Asker<'_>,
        read: impl Fn(&ApiResponse) -> Result<T, AskError>,
    ) -> Result<T, AskError> {
        let response = self.send(&request, asker.until).await;
        response.and_then(|response| read(&response)).map_err(|error| error.without(&request.secrets()))
    }

    /// Like [`Gate::ask`], but explains an ambiguous refusal within the attempt, before the breaker gets it.
    pub async fn ask_or_inquire<T>(
        &self,
        request: ApiRequest,
        asker: Asker<'_>,
        read: impl Fn(&ApiResponse) -> Result<T, AskError>,
        inquiry: &Inquiry<'_>,
    ) -> Result<T, AskError> {
        let (request, read) = (&request, &read);
        let secrets = || [request.secrets(), inquiry.request.secrets()].concat();
        self.drive(asker, secrets, |until| async move {
            let response = self.send(request, until).await?;
            let error = match read(&response) {
                Err(error) if (inquiry.is_needed)(&response, &error) => error,
                outcome => return outcome,
            };
            Err(match self.send(&inquiry.request, until).await {
                Ok(account) => (inquiry.explain)(error, &account),
                Err(_could_not_ask) => error,
            })
        })
        .await
    }
}
