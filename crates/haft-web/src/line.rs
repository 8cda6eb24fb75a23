//! A line to one server: connections are kept for the next request, because making one takes several
//! round trips.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::client::{Client, Reach, Request, Response, Sent};
use crate::connection::Connection;
use crate::error::WebError;

/// How long a connection is kept: most servers keep theirs for longer.
const AGE: Duration = Duration::from_secs(30);
/// How many are kept: more requests than that at once are rare.
const MOST: usize = 8;

/// A way to one server that the config names.
pub struct Line {
    client: Arc<Client>,
    idle: Arc<Idle>,
}

/// Connections that wait for the next request, the one used last at the end.
#[derive(Default)]
pub(crate) struct Idle(Mutex<Vec<(Instant, Connection)>>);

impl Line {
    /// A line on which nothing has been said.
    #[must_use]
    pub fn new(client: Arc<Client>) -> Self {
        Self { client, idle: Arc::default() }
    }

    /// As [`Client::send`] with [`Reach::Configured`]; all requests must have the same server.
    ///
    /// # Errors
    /// As [`Client::send`].
    pub async fn send(&self, request: &Request) -> Result<Response, WebError> {
        while let Some(mut connection) = self.idle.take() {
            // The server may have closed it meanwhile; what was not sent can be sent anew.
            if connection.sender.ready().await.is_ok()
                && let Sent::Answered(response) = self.client.send_over(connection, request).await?
            {
                return Ok(response.kept_by(Arc::clone(&self.idle)));
            }
        }
        let response = self.client.send(request, Reach::Configured).await?;
        Ok(response.kept_by(Arc::clone(&self.idle)))
    }
}

impl Idle {
    pub(crate) fn put(&self, connection: Connection) {
        let mut idle = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < MOST {
            idle.push((Instant::now(), connection));
        }
    }

    /// The one that was used last; those that are too old are closed.
    fn take(&self) -> Option<Connection> {
        let mut idle = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        idle.retain(|(since, _)| since.elapsed() < AGE);
        idle.pop().map(|(_, connection)| connection)
    }
}
