//! A store in memory that can be told to fail, to be busy, or to panic.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use haft_runtime::{
    CallId, CallRecord, Draft, Event, EventKind, Grant, GrantId, KeptOutput, NewSession, Scope,
    Session, SessionId, Store, StoreError,
};
use jiff::Timestamp;
use serde_json::Value;

/// What happens at the next appends, one bit each: fail where it is set.
#[derive(Default)]
pub(crate) struct Memory {
    pub(crate) fails: AtomicU32,
    pub(crate) busy: AtomicU32,
    pub(crate) panics: AtomicU32,
    pub(crate) refuses_ends: AtomicBool,
    /// Nothing is taken as long as it is set.
    pub(crate) held: AtomicBool,
    inner: Mutex<Inner>,
    dir: Option<tempfile::TempDir>,
}

#[derive(Default)]
struct Inner {
    last: HashMap<SessionId, u64>,
    events: Vec<Event>,
    grants: Vec<Grant>,
    documents: HashMap<(Scope, String), Value>,
    kept: Vec<KeptOutput>,
}

impl Memory {
    pub(crate) fn new() -> Self {
        Self { dir: Some(tempfile::tempdir().unwrap()), ..Self::default() }
    }

    pub(crate) fn all_events(&self) -> Vec<Event> {
        self.inner.lock().unwrap().events.clone()
    }

    fn next(bits: &AtomicU32) -> bool {
        bits.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |bits| Some(bits >> 1)).unwrap() & 1
            == 1
    }
}

impl Store for Memory {
    fn open_session(&self, new: &NewSession) -> Result<Session, StoreError> {
        let NewSession { id, project, parent, agent } = new.clone();
        let now = Timestamp::now();
        Ok(Session { id, project, parent, agent, created: now, updated: now, calls: 0 })
    }

    fn session(&self, _: &SessionId) -> Result<Option<Session>, StoreError> {
        Ok(None)
    }

    fn sessions(&self, _: Option<&str>, _: usize) -> Result<Vec<Session>, StoreError> {
        Ok(Vec::new())
    }

    fn forget_session(&self, _: &SessionId) -> Result<bool, StoreError> {
        Ok(false)
    }

    fn append(&self, drafts: &[Draft]) -> Result<Vec<u64>, StoreError> {
        while self.held.load(Ordering::SeqCst) {
            std::thread::yield_now();
        }
        assert!(!Self::next(&self.panics), "told to");
        let refused = self.refuses_ends.load(Ordering::SeqCst)
            && drafts.iter().any(|draft| draft.kind.is_terminal());
        if Self::next(&self.fails) || refused {
            return Err(StoreError::Full { path: PathBuf::from("/full") });
        }
        let mut inner = self.inner.lock().unwrap();
        for draft in drafts {
            if let (Some(session), EventKind::CallPending { call, .. }) =
                (&draft.session, &*draft.kind)
            {
                let repeated = inner.events.iter().any(|event| {
                    matches!(&*event.kind, EventKind::CallPending { call: other, .. } if other == call)
                        && event.session.as_ref() == Some(session)
                });
                if repeated {
                    let (session, call) = (session.clone(), call.clone());
                    return Err(StoreError::RepeatedCall { session, call });
                }
            }
        }
        let mut numbers = Vec::new();
        for draft in drafts {
            let session = draft.session.clone().unwrap();
            let last = inner.last.entry(session).or_default();
            *last += 1;
            let number = *last;
            numbers.push(number);
            if draft.is_kept() {
                inner.events.push(draft.clone().numbered(number));
            }
        }
        Ok(numbers)
    }

    fn append_now(&self, drafts: &[Draft]) -> Result<Option<Vec<u64>>, StoreError> {
        if Self::next(&self.busy) {
            return Ok(None);
        }
        self.append(drafts).map(Some)
    }

    fn events(
        &self,
        session: &SessionId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<Event>, StoreError> {
        let inner = self.inner.lock().unwrap();
        let of_session =
            inner.events.iter().filter(|event| event.session.as_ref() == Some(session));
        Ok(of_session.filter(|event| event.seq > after).take(limit).cloned().collect())
    }

    fn call(&self, _: &SessionId, _: &CallId) -> Result<Option<CallRecord>, StoreError> {
        Ok(None)
    }

    fn calls(&self, _: &SessionId, _: usize) -> Result<Vec<CallRecord>, StoreError> {
        Ok(Vec::new())
    }

    fn grants(&self, project: Option<&str>) -> Result<Vec<Grant>, StoreError> {
        let inner = self.inner.lock().unwrap();
        let here = inner.grants.iter().filter(|grant| project.is_none_or(|p| p == grant.project));
        Ok(here.cloned().collect())
    }

    fn add_grant(&self, grant: &Grant) -> Result<(), StoreError> {
        self.inner.lock().unwrap().grants.push(grant.clone());
        Ok(())
    }

    fn revoke_grant(&self, id: &GrantId) -> Result<bool, StoreError> {
        let mut inner = self.inner.lock().unwrap();
        let before = inner.grants.len();
        inner.grants.retain(|grant| grant.id != *id);
        Ok(inner.grants.len() != before)
    }

    fn document(&self, scope: &Scope, name: &str) -> Result<Option<Value>, StoreError> {
        let key = (scope.clone(), name.to_owned());
        Ok(self.inner.lock().unwrap().documents.get(&key).cloned())
    }

    fn document_names(
        &self,
        scope: &Scope,
        prefix: &str,
        limit: usize,
    ) -> Result<Vec<String>, StoreError> {
        let inner = self.inner.lock().unwrap();
        let keys = inner.documents.keys().filter(|(owner, _)| owner == scope);
        let mut names: Vec<String> = keys.map(|(_, name)| name.clone()).collect();
        names.retain(|name| name.starts_with(prefix));
        names.sort();
        names.truncate(limit);
        Ok(names)
    }

    fn update_document(
        &self,
        scope: &Scope,
        name: &str,
        change: &mut dyn FnMut(Option<Value>) -> Result<Value, StoreError>,
    ) -> Result<(), StoreError> {
        let mut inner = self.inner.lock().unwrap();
        let key = (scope.clone(), name.to_owned());
        let changed = change(inner.documents.get(&key).cloned())?;
        inner.documents.insert(key, changed);
        Ok(())
    }

    fn keep(
        &self,
        session: &SessionId,
        call: &CallId,
        text: &str,
    ) -> Result<KeptOutput, StoreError> {
        let path = self.dir.as_ref().unwrap().path().join(call.as_str());
        fs_err::write(&path, text).map_err(|error| StoreError::caused("not kept", error))?;
        let (session, call, bytes) = (session.clone(), call.clone(), text.len() as u64);
        let kept = KeptOutput { path, session, call, bytes, created: Timestamp::now() };
        self.inner.lock().unwrap().kept.push(kept.clone());
        Ok(kept)
    }

    fn kept(&self, path: &Path) -> Result<Option<KeptOutput>, StoreError> {
        Ok(self.inner.lock().unwrap().kept.iter().find(|kept| kept.path == path).cloned())
    }
}
