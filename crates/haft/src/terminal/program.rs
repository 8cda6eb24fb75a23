//! A program that answers in the place of a person, whenever it likes.

use haft_runtime::CancellationToken;
use haft_runtime::permission::Reply;

/// A program that answers through [`haft_runtime::Runtime::reply`]. Cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct Program {
    gone: CancellationToken,
}

impl Program {
    /// Waits for as long as it may answer; after that, there is nobody.
    pub(super) async fn approve(&self) -> Reply {
        self.gone.cancelled().await;
        Reply::Unattended
    }

    /// No more answers come.
    pub(crate) fn leave(&self) {
        self.gone.cancel();
    }
}
