//! A refusal that can mean two things, and the free question that tells which: where the account stands.

use std::fmt;

use super::error::AskError;
use super::gate::Gate;
use super::request::ApiRequest;
use super::response::ApiResponse;
use super::spend::Asker;

/// What is asked after a refusal that its words leave open.
pub struct Inquiry<'a> {
    /// To a place that costs nothing: it is neither counted nor paid for.
    pub request: ApiRequest,
    /// Whether this refusal needs it. Both are the provider's: the answer as it came and what was made of it.
    pub is_needed: &'a (dyn Fn(&ApiResponse, &AskError) -> bool + Sync),
    /// What the refusal means in the light of the account. An account that cannot be read leaves it as it was.
    pub explain: &'a (dyn Fn(AskError, &ApiResponse) -> AskError + Sync),
}

impl fmt::Debug for Inquiry<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inquiry").field("request", &self.request).finish_non_exhaustive()
    }
}

impl Gate {
    /// A question that is free by itself, past the rate and the breaker: it is neither counted nor paid for.
    pub async fn inquire<T>(
        &self,
        request: ApiRequest,
        asker: Asker<'_>,
        read: impl Fn(&ApiResponse) -> Result<T, AskError>,
    ) -> Result<T, AskError> {
        let response = self.send(&request, asker.until).await;
        response.and_then(|response| read(&response)).map_err(|error| error.without(&request.secrets()))
    }

    /// As [`Gate::ask`]; a refusal in doubt is cleared up within the same attempt, before the breaker hears of it.
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
