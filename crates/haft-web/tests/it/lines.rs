//! Connections that are kept: used again, replaced when the server closed them, and nothing sent twice.

use std::sync::Arc;

use haft_web::{Client, Line, Request, Response, Target, WebError};
use hyper::Method;

use crate::site::{Names, Site, ok, send, settings};

fn line() -> Line {
    Line::new(Arc::new(Client::with_resolver(settings(), Arc::new(Names::local()))))
}

fn post(site: &Site) -> Request {
    let target = Target::parse(&site.url("/v1")).unwrap();
    Request { method: Method::POST, body: "{}".into(), ..Request::get(target) }
}

async fn whole(mut response: Response) -> String {
    let mut text = Vec::new();
    while let Some(chunk) = response.chunk().await.unwrap() {
        text.extend_from_slice(&chunk);
    }
    String::from_utf8(text).unwrap()
}

#[tokio::test]
async fn one_connection_serves_one_request_after_the_other() {
    let site = Site::keeping(|asked, stream| send(stream, &ok("text/plain", &asked.body)));
    let line = line();
    for _ in 0..3 {
        assert_eq!(whole(line.send(&post(&site)).await.unwrap()).await, "{}");
    }
    let mut ended = line.send(&post(&site)).await.unwrap();
    assert_eq!(&ended.chunk().await.unwrap().unwrap()[..], b"{}");
    ended.done();
    // What is left of it has come already; the task that looks has to have its turn.
    for _ in 0..10 {
        tokio::task::yield_now().await;
    }
    assert_eq!(whole(line.send(&post(&site)).await.unwrap()).await, "{}");
    assert_eq!((site.hits(), site.requests().len()), (1, 5));
}

#[tokio::test]
async fn two_requests_at_once_have_a_connection_each() {
    let site = Site::keeping(|asked, stream| send(stream, &ok("text/plain", &asked.body)));
    let line = line();
    let (one, two) = (post(&site), post(&site));
    let (one, two) = tokio::join!(line.send(&one), line.send(&two));
    assert_eq!((whole(one.unwrap()).await, whole(two.unwrap()).await), ("{}".into(), "{}".into()));
    assert_eq!(whole(line.send(&post(&site)).await.unwrap()).await, "{}");
    assert_eq!((site.hits(), site.requests().len()), (2, 3));
}

#[tokio::test]
async fn an_answer_that_is_dropped_takes_its_connection_with_it() {
    let site = Site::keeping(|asked, stream| send(stream, &ok("text/plain", &asked.body)));
    let line = line();
    drop(line.send(&post(&site)).await.unwrap());
    assert_eq!(whole(line.send(&post(&site)).await.unwrap()).await, "{}");
    assert_eq!(site.hits(), 2);
}

#[tokio::test]
async fn a_connection_that_the_server_closes_is_replaced() {
    let closes = "connection: close\r\n";
    let site = Site::saying(crate::site::answer("200 OK", closes, "here"));
    let line = line();
    for _ in 0..3 {
        assert_eq!(whole(line.send(&post(&site)).await.unwrap()).await, "here");
    }
    assert_eq!((site.hits(), site.requests().len()), (3, 3));
}

#[tokio::test]
async fn what_was_sent_is_not_sent_again() {
    // The second request on a connection is read, and the connection closed without an answer.
    let first = std::sync::atomic::AtomicBool::new(true);
    let site = Site::keeping(move |_, stream| {
        if first.swap(false, std::sync::atomic::Ordering::SeqCst) {
            send(stream, &ok("text/plain", "here"));
        } else {
            stream.shutdown(std::net::Shutdown::Both).unwrap();
        }
    });
    let line = line();
    assert_eq!(whole(line.send(&post(&site)).await.unwrap()).await, "here");
    let error = line.send(&post(&site)).await.err().unwrap();
    assert!(matches!(error, WebError::Broken { .. }), "{error}");
    assert_eq!((site.hits(), site.requests().len()), (1, 2));
}
