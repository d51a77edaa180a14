//! Of `router/src/management_plane/http.rs`.

use super::*;

#[test]
fn parameters_are_read_as_they_were_meant() {
    let text =
        b"GET /console/explain?to=2001%3adb8%3A%3a1&token=a%zz% HTTP/1.1\r\nHOST: [::1]:9470\r\n\
                 x-corelane: 1\r\n\r\n";
    let request = Request::read(&mut &text[..]).unwrap();
    assert_eq!(request.parameter("to"), "2001:db8::1");
    assert_eq!(request.parameter("token"), "a%zz%");
    assert_eq!(request.parameter("tok"), "");
    assert_eq!(
        (request.host.as_str(), request.is_own),
        ("[::1]:9470", true)
    );
}
