//! Of `router/src/management_plane/server.rs`.

use super::*;

/// Gives one byte at a time for ever, and takes any.
struct Dripping;

impl Read for Dripping {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        std::thread::sleep(Duration::from_millis(10));
        buffer[..1].fill(b'G');
        Ok(1)
    }
}

impl Write for Dripping {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Timed for Dripping {
    fn limit(&self, _: Duration) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_request_that_drips_in_ends() {
    let (sender, _questions) = channel();
    let (waker, _awake) = UnixStream::pair().unwrap();
    let client = Patient {
        stream: Dripping,
        end: Instant::now() + Duration::from_millis(100),
    };
    let error = http::serve(client, &sender, &waker, None).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::TimedOut);
}

#[test]
fn a_request_in_pieces_is_read_before_it_is_answered() {
    let (sender, _questions) = channel();
    let (waker, _awake) = UnixStream::pair().unwrap();
    let (mut client, stream) = UnixStream::pair().unwrap();
    client.write_all(b"GET /other HTTP/1.1\r\n").unwrap();
    let end = Instant::now() + PATIENCE;
    let serve = move || http::serve(Patient { stream, end }, &sender, &waker, None);
    let served = std::thread::spawn(serve);
    std::thread::sleep(Duration::from_millis(50));
    client.write_all(b"Host: localhost\r\n\r\n").unwrap();
    let mut answer = String::new();
    client.read_to_string(&mut answer).unwrap();
    assert!(answer.contains("404"), "{answer}");
    served.join().unwrap().unwrap();
}

#[test]
fn a_client_that_says_nothing_holds_up_nobody() {
    let mut server = Server::new().unwrap();
    let port = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    server.listen_http(port, Allow::default(), None).unwrap();
    let silent: Vec<TcpStream> = (0..CLIENTS / 2)
        .map(|_| TcpStream::connect(port).unwrap())
        .collect();
    let mut client = TcpStream::connect(port).unwrap();
    client.write_all(b"GET /other HTTP/1.1\r\n\r\n").unwrap();
    client.set_read_timeout(Some(PATIENCE / 2)).unwrap();
    let mut answer = String::new();
    client.read_to_string(&mut answer).unwrap();
    assert!(answer.contains("404"), "{answer}");
    drop(silent);
}

#[test]
fn a_question_does_not_wait_for_the_answer_of_another() {
    let path = std::env::temp_dir().join(format!("corelane-server-{}", std::process::id()));
    let mut server = Server::new().unwrap();
    server.listen_unix(&path).unwrap();
    let clients = ["verify\n", "ports\n"].map(|question| {
        let mut client = UnixStream::connect(&path).unwrap();
        client.write_all(question.as_bytes()).unwrap();
        client
    });
    let mut asked = Vec::new();
    let end = Instant::now() + PATIENCE;
    while asked.len() < clients.len() && Instant::now() < end {
        asked.extend(server.take());
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(
        asked.len(),
        2,
        "neither was answered yet, and both are asked"
    );
    for question in asked {
        question
            .answer
            .send(format!("{:?}", question.question).into())
            .unwrap();
    }
    for (mut client, word) in clients.into_iter().zip(["verify", "ports"]) {
        let mut answer = String::new();
        client.read_to_string(&mut answer).unwrap();
        assert!(answer.contains(word), "{answer}");
    }
}

/// Whoever does not read has at most one piece made for them, and may come back for the next.
#[test]
fn a_piece_is_asked_for_when_the_one_before_is_read() {
    let path = std::env::temp_dir().join(format!("corelane-pieces-{}", std::process::id()));
    let mut server = Server::new().unwrap();
    server.listen_unix(&path).unwrap();
    let mut client = UnixStream::connect(&path).unwrap();
    client.write_all(b"routes\n").unwrap();
    let take = || {
        let end = Instant::now() + PATIENCE;
        loop {
            if let Some(asked) = server.take() {
                return asked;
            }
            assert!(Instant::now() < end, "nobody asks");
            std::thread::sleep(Duration::from_millis(5));
        }
    };
    let long = "x".repeat(4 << 20);
    let first = Piece {
        text: long.clone(),
        rest: Some(Pieces::from("the end".to_owned())),
    };
    take().answer.send(first).unwrap();
    std::thread::sleep(Duration::from_millis(100));
    assert!(server.take().is_none(), "the first piece is not read yet");
    let read = std::thread::spawn(move || {
        let mut answer = String::new();
        client.read_to_string(&mut answer).map(|_| answer)
    });
    let asked = take();
    assert!(matches!(asked.question, Question::More(_)));
    asked.answer.send("the end".to_owned().into()).unwrap();
    assert_eq!(read.join().unwrap().unwrap(), long + "the end");
}
