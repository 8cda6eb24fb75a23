//! A connection that speaks HTTP.

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::client::conn::http1::{Builder, SendRequest};
use hyper_util::rt::TokioIo;
use tokio::task::JoinHandle;

use crate::client::{Client, Reach, told};
use crate::connect::Connected;
use crate::error::WebError;
use crate::target::Target;

/// Most bytes of the lines before an answer's body.
const MOST_HEAD: usize = 64 * 1024;

/// Sends one request after the other, and how they are written. Dropping it closes the connection.
pub(crate) struct Connection {
    pub(crate) sender: SendRequest<Full<Bytes>>,
    /// As [`Connected::whole_url`].
    pub(crate) whole_url: bool,
    /// As [`Connected::proxy_authorization`].
    pub(crate) proxy_authorization: Option<String>,
    _driver: Driver,
}

/// Ends what drives a connection when nobody waits for it any more.
struct Driver(JoinHandle<()>);

impl Drop for Driver {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Connection {
    /// Connects to the server of `target`, if it may be reached.
    pub(crate) async fn open(
        client: &Client,
        target: &Target,
        reach: Reach,
    ) -> Result<Self, WebError> {
        let Connected { stream, whole_url, proxy_authorization } =
            client.connect(target, reach).await?;
        let mut builder = Builder::new();
        builder.max_buf_size(MOST_HEAD).max_headers(200);
        let (sender, connection) =
            builder.handshake(TokioIo::new(stream)).await.map_err(|error| WebError::Broken {
                host: target.host().to_owned(),
                why: told(&error),
            })?;
        let _driver = Driver(tokio::spawn(async move {
            // What goes wrong is told to whoever waits for the answer.
            connection.await.ok();
        }));
        Ok(Self { sender, whole_url, proxy_authorization, _driver })
    }
}
