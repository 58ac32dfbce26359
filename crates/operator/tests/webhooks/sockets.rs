//! The sockets by themselves: what is too large, what is under way when they close.

use std::sync::Arc;

use bytes::Bytes;
use http::Method;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, oneshot};

use crate::serve;

/// Sends bytes, and reads until the other side closes or `until` was seen.
async fn exchange(stream: &mut TcpStream, sent: &[u8], until: &str) -> String {
    let (mut reader, mut writer) = stream.split();
    let send = async { drop(writer.write_all(sent).await) };
    let receive = async {
        let mut received = Vec::new();
        while !String::from_utf8_lossy(&received).contains(until) {
            match reader.read_buf(&mut received).await {
                Ok(1..) => {}
                Ok(0) | Err(_) => break,
            }
        }
        String::from_utf8_lossy(&received).into_owned()
    };
    tokio::join!(send, receive).1
}

async fn bind() -> (TcpListener, std::net::SocketAddr) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
    let address = listener.local_addr().expect("an address");
    (listener, address)
}

fn post(length: usize) -> String {
    format!("POST /some/path?query HTTP/1.1\r\nhost: h\r\ncontent-length: {length}\r\n\r\n")
}

#[tokio::test]
async fn a_body_has_a_largest_size() {
    let (listener, address) = bind().await;
    let echo = |method: Method, path: String, body: Bytes| async move {
        serve::text(200, &format!("{method} {path} {}", body.len()))
    };
    tokio::spawn(serve::http(listener, echo, std::future::pending()));
    let check = async |length: usize, answer: &str| {
        let mut stream = TcpStream::connect(address).await.expect("a connection");
        let mut sent = post(length).into_bytes();
        sent.resize(sent.len() + length, b' ');
        let said = exchange(&mut stream, &sent, "\r\n\r\n").await;
        assert!(said.starts_with(answer), "{length}: {said}");
    };
    check(0, "HTTP/1.1 200").await;
    check(3 * 1024 * 1024, "HTTP/1.1 200").await;
    check(3 * 1024 * 1024 + 1, "HTTP/1.1 413").await;
    let mut stream = TcpStream::connect(address).await.expect("a connection");
    let said = exchange(&mut stream, format!("{}ab", post(2)).as_bytes(), "path 2").await;
    assert!(said.contains("content-type: text/plain; charset=utf-8") && said.contains("POST /some/path 2"), "{said}");
}

#[tokio::test]
async fn a_request_under_way_is_finished_when_the_socket_closes() {
    let (listener, address) = bind().await;
    let (entered, go_on) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (stop, stopped) = oneshot::channel::<()>();
    let (inside, outside) = (entered.clone(), go_on.clone());
    let handler = move |_, _, _| {
        let (inside, outside) = (inside.clone(), outside.clone());
        async move {
            inside.notify_one();
            outside.notified().await;
            serve::text(200, "at last")
        }
    };
    let server = tokio::spawn(serve::http(listener, handler, async { drop(stopped.await) }));
    let mut idle = TcpStream::connect(address).await.expect("a connection");
    let asking = tokio::spawn(async move {
        let mut stream = TcpStream::connect(address).await.expect("a connection");
        exchange(&mut stream, post(0).as_bytes(), "at last").await
    });
    entered.notified().await;
    stop.send(()).expect("a server");
    // The idle one is closed at once, which shows that the end has begun.
    assert_eq!(idle.read(&mut [0; 1]).await.unwrap_or_default(), 0);
    assert!(!server.is_finished());
    go_on.notify_one();
    let said = asking.await.expect("an answer");
    assert!(said.starts_with("HTTP/1.1 200") && said.contains("at last"), "{said}");
    server.await.expect("an end");
    assert!(TcpStream::connect(address).await.is_err(), "nobody listens any more");
}
