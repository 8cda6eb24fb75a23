//! How long pages are good, and how many are kept.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::{Cache, Known, MOST_PAGES, Validators};
use crate::fetch::Page;
use crate::target::Target;

fn page(bytes: usize) -> Arc<Page> {
    let target = Target::parse("https://docs.test/").unwrap();
    Arc::new(Page { target, mime: "text/plain".into(), charset: None, bytes: vec![0; bytes] })
}

#[test]
fn a_page_is_fresh_then_stale_where_its_server_can_tell_then_gone() {
    let (mut cache, now, good_for) = (Cache::default(), Instant::now(), Duration::from_secs(900));
    let tagged = Validators { etag: Some("\"1\"".into()), modified: None };
    cache.put("a", page(1), tagged, now);
    cache.put("b", page(1), Validators::default(), now);
    let later = now + Duration::from_secs(899);
    assert!(matches!(cache.look_up("a", good_for, later), Known::Fresh(_)));
    let later = now + Duration::from_secs(900);
    assert!(matches!(cache.look_up("a", good_for, later), Known::Stale(_, _)));
    assert!(matches!(cache.look_up("b", good_for, later), Known::Not));
}

#[test]
fn the_oldest_pages_make_room() {
    let (mut cache, now) = (Cache::default(), Instant::now());
    for number in 0..MOST_PAGES + 5 {
        cache.put(&number.to_string(), page(1), Validators::default(), now);
    }
    assert_eq!(cache.entries.len(), MOST_PAGES);
    for number in 0..10 {
        cache.put(&format!("large {number}"), page(5_000_000), Validators::default(), now);
    }
    assert_eq!(cache.entries.len(), 3);
    cache.put("too large", page(20_000_000), Validators::default(), now);
    assert!(matches!(cache.look_up("too large", Duration::MAX, now), Known::Not));
}
