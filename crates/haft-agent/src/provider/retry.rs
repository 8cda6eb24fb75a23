//! Patience: what failed in passing is tried again, later each time.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use haft_runtime::{BoxFuture, Form};

use super::{Hear, Piece, Prompt, Provider, ProviderError};

/// Tries where nobody listens: a server that does not start within a second or two was not started.
const NOT_RUNNING: u32 = 3;

/// How often and how soon something is tried again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// How often it is tried in all.
    pub attempts: u32,
    /// The wait before the second try; it doubles with each.
    pub first: Duration,
    /// The longest wait, also of those that the provider asks for: whoever wants more is not worth waiting for.
    pub longest: Duration,
}

impl Default for Patience {
    /// About two minutes in all.
    fn default() -> Self {
        Self { attempts: 8, first: Duration::from_millis(500), longest: Duration::from_secs(60) }
    }
}

impl Patience {
    /// How often it is tried in all where this goes wrong.
    fn attempts(&self, error: &ProviderError) -> u32 {
        match error {
            ProviderError::NotRunning { .. } => self.attempts.min(NOT_RUNNING),
            _ => self.attempts,
        }
    }

    /// How long to wait after the failure of try number `attempt`; none if that was the last.
    fn wait(&self, attempt: u32, error: &ProviderError) -> Option<Duration> {
        if attempt >= self.attempts(error) || !error.is_passing() {
            return None;
        }
        if let ProviderError::Busy { retry_after: Some(asked), .. } = error {
            return (*asked <= self.longest).then_some(*asked);
        }
        let doubled = self.first.saturating_mul(1_u32 << (attempt - 1).min(16));
        Some(spread(doubled.min(self.longest)))
    }
}

/// Between half and all of it, by chance: those who failed together must not come back together.
fn spread(wait: Duration) -> Duration {
    let chance = RandomState::new().hash_one(0_u8) % 1000;
    wait.mul_f64(0.5 + chance as f64 / 2000.0)
}

/// A provider that is asked again when it fails in passing.
///
/// What was heard of a reply that failed is void, and the listener is told so by [`Piece::Again`]:
/// nothing of it has been acted on, because calls are made only of whole replies.
pub struct Patient<P> {
    provider: P,
    patience: Patience,
}

impl<P: Provider> Patient<P> {
    /// Asks `provider` with patience.
    pub fn new(provider: P, patience: Patience) -> Self {
        Self { provider, patience }
    }
}

impl<P: Provider> Provider for Patient<P> {
    fn form(&self) -> Form {
        self.provider.form()
    }

    fn reply<'a>(
        &'a self,
        prompt: Prompt<'a>,
        hear: &'a mut Hear<'a>,
    ) -> BoxFuture<'a, Result<(), ProviderError>> {
        Box::pin(async move {
            let mut attempt = 1;
            loop {
                let Err(error) = self.provider.reply(prompt, &mut *hear).await else {
                    return Ok(());
                };
                let Some(wait) = self.patience.wait(attempt, &error) else { return Err(error) };
                tracing::debug!(%error, attempt, ?wait, "the model is asked again");
                attempt += 1;
                let (most, seconds) = (self.patience.attempts(&error), wait.as_secs_f64());
                let when = format!("try {attempt} of {most} in {seconds:.1} s");
                hear(Piece::Again { why: format!("{error} ({when})") });
                tokio::time::sleep(wait).await;
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn busy(retry_after: Option<u64>) -> ProviderError {
        let retry_after = retry_after.map(Duration::from_secs);
        ProviderError::Busy { host: "h".into(), status: 529, message: String::new(), retry_after }
    }

    #[test]
    fn waits_double_up_to_the_longest_and_end() {
        let patience = Patience::default();
        let mut longest_before = Duration::ZERO;
        for attempt in 1..8 {
            let wait = patience.wait(attempt, &busy(None)).unwrap();
            assert!(wait >= longest_before.min(Duration::from_secs(30)), "{attempt}: {wait:?}");
            assert!(wait <= patience.longest);
            longest_before = wait / 2;
        }
        assert_eq!(patience.wait(8, &busy(None)), None);
    }

    #[test]
    fn a_provider_is_left_alone_as_long_as_it_asks_within_reason() {
        let patience = Patience::default();
        assert_eq!(patience.wait(1, &busy(Some(7))), Some(Duration::from_secs(7)));
        assert_eq!(patience.wait(1, &busy(Some(3600))), None);
    }

    #[test]
    fn a_server_that_was_not_started_is_not_waited_for() {
        let (patience, error) =
            (Patience::default(), ProviderError::NotRunning { host: "localhost:1".into() });
        let waits = [1, 2].map(|attempt| patience.wait(attempt, &error).unwrap());
        assert!(waits.iter().sum::<Duration>() < Duration::from_secs(2), "{waits:?}");
        assert_eq!(patience.wait(3, &error), None);
    }

    #[test]
    fn what_will_not_pass_is_not_tried_again() {
        let refused =
            ProviderError::Refused { host: "h".into(), status: 401, message: "no".into() };
        assert_eq!(Patience::default().wait(1, &refused), None);
    }
}
