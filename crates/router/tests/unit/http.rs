//! Of `router/src/management_plane/http.rs`.

use super::*;

#[test]
fn parameters_are_read_as_they_were_meant() {
    let text =
        b"GET /console/explain?to=2001%3adb8%3A%3a1&token=a%zz% HTTP/1.1\r\nHOST: [::1]:9470\r\n\
                 x-corelane: 1\r\n\r\n";
    let request = Request::read(&mut &text[..]).unwrap().unwrap();
    assert_eq!(request.parameter("to"), "2001:db8::1");
    assert_eq!(request.parameter("token"), "a%zz%");
    assert_eq!(request.parameter("tok"), "");
    assert_eq!(
        (request.host.as_str(), request.is_own),
        ("[::1]:9470", true)
    );
}

#[test]
fn what_is_no_request_is_said() {
    let read = |bytes: &[u8]| Request::read(&mut &bytes[..]).unwrap().err();
    for none in [
        &b""[..],
        b"\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET metrics HTTP/1.1\r\n\r\n",
        b"GET /metrics\r\n\r\n",
        b"GET /metrics SPDY/3\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\xff\r\n\r\n",
    ] {
        assert_eq!(read(none), Some(NOT_HTTP), "{none:?}");
    }
    let long = |bytes: usize| {
        let head = format!("GET / HTTP/1.1\r\nCookie: {}\r\n\r\n", "x".repeat(bytes));
        read(head.as_bytes())
    };
    assert_eq!((long(16_000), long(17_000)), (None, Some(TOO_LONG)));
    let endless = vec![b'x'; 1 << 20];
    assert_eq!(read(&endless), Some(TOO_LONG));
}
