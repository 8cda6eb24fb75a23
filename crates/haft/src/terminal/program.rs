//! A program that answers in the place of a person, whenever it likes.

use haft_runtime::permission::Reply;
use haft_runtime::{Answer, CancellationToken, Question};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;

/// A program that answers asks through [`haft_runtime::Runtime::reply`], and questions as they are
/// [`Posed`]. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Program {
    gone: CancellationToken,
    poses: UnboundedSender<Posed>,
}

/// Questions that wait for their answers.
#[derive(Debug)]
pub(crate) struct Posed {
    pub(crate) questions: Vec<Question>,
    pub(crate) answers: oneshot::Sender<Vec<Answer>>,
}

impl Program {
    /// A program, and what it is asked.
    pub(crate) fn new() -> (Self, UnboundedReceiver<Posed>) {
        let (poses, posed) = unbounded_channel();
        (Self { gone: CancellationToken::new(), poses }, posed)
    }

    /// Waits for as long as it may answer; after that, there is nobody.
    pub(super) async fn approve(&self) -> Reply {
        self.gone.cancelled().await;
        Reply::Unattended
    }

    /// Waits for its answers; none if none will come.
    pub(super) async fn question(&self, questions: Vec<Question>) -> Option<Vec<Answer>> {
        let (answers, answered) = oneshot::channel();
        self.poses.send(Posed { questions, answers }).ok()?;
        tokio::select! {
            answers = answered => answers.ok(),
            () = self.gone.cancelled() => None,
        }
    }

    /// No more answers come.
    pub(crate) fn leave(&self) {
        self.gone.cancel();
    }
}
