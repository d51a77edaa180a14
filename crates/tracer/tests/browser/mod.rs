//! A browser driven through `chromedriver` by the `WebDriver` protocol (W3C): the few commands that
//! the page's tests need.
#![allow(unreachable_pub, reason = "a module of tests")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

/// A browser window; closed when dropped.
pub struct Browser {
    driver: Child,
    port: u16,
    session: String,
}

impl Browser {
    /// Opens a window of 1200 by 900, or tells why there is none.
    pub fn open() -> Result<Self, String> {
        let mut driver = Command::new("chromedriver")
            .arg("--port=0")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| format!("no chromedriver ({error})"))?;
        let output = driver.stdout.take().ok_or("no output")?;
        let mut lines = BufReader::new(output).lines();
        let port = lines.by_ref().map_while(Result::ok).find_map(|line| {
            line.strip_suffix('.')?
                .rsplit_once("on port ")?
                .1
                .parse()
                .ok()
        });
        // Whoever writes to a pipe that nobody reads is stopped.
        std::thread::spawn(move || lines.for_each(drop));
        let mut browser = Self {
            driver,
            port: port.ok_or("chromedriver names no port")?,
            session: String::new(),
        };
        let arguments = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--window-size=1200,900",
        ];
        let wanted =
            json!({"capabilities": {"alwaysMatch": {"goog:chromeOptions": {"args": arguments}}}});
        let answer = browser.call("POST", "/session", &wanted)?;
        answer["sessionId"]
            .as_str()
            .ok_or_else(|| format!("no session: {answer}"))?
            .clone_into(&mut browser.session);
        Ok(browser)
    }

    /// Goes to a page and waits until it is loaded.
    pub fn go(&self, url: &str) {
        self.session("url", &json!({ "url": url }));
    }

    /// The value of a script that ends with `return`.
    pub fn script(&self, script: &str) -> Value {
        self.session("execute/sync", &json!({"script": script, "args": []}))
    }

    /// Runs `script` until its value is true, for half a minute at most.
    pub fn wait(&self, script: &str) {
        for _ in 0..600 {
            if self.script(script) == json!(true) {
                return;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("this did not become true: {script}");
    }

    /// Moves the mouse through these places of the window, the button pressed between the first and
    /// the last if `drag`.
    pub fn mouse(&self, places: &[(i64, i64)], drag: bool) {
        let mut steps = Vec::new();
        for (index, (x, y)) in places.iter().enumerate() {
            steps.push(json!({"type": "pointerMove", "duration": 20, "x": x, "y": y}));
            if drag && index == 0 {
                steps.push(json!({"type": "pointerDown", "button": 0}));
            }
        }
        if drag {
            steps.push(json!({"type": "pointerUp", "button": 0}));
        }
        self.session(
            "actions",
            &json!({"actions": [{"type": "pointer", "id": "mouse", "actions": steps}]}),
        );
    }

    /// Turns the wheel over a place of the window.
    pub fn wheel(&self, (x, y): (i64, i64), by: i64) {
        let step =
            json!({"type": "scroll", "x": x, "y": y, "deltaX": 0, "deltaY": by, "duration": 0});
        self.session(
            "actions",
            &json!({"actions": [{"type": "wheel", "id": "wheel", "actions": [step]}]}),
        );
    }

    /// Presses and releases a key.
    pub fn key(&self, key: &str) {
        let steps = [
            json!({"type": "keyDown", "value": key}),
            json!({"type": "keyUp", "value": key}),
        ];
        self.session(
            "actions",
            &json!({"actions": [{"type": "key", "id": "keys", "actions": steps}]}),
        );
    }

    fn session(&self, command: &str, argument: &Value) -> Value {
        self.call(
            "POST",
            &format!("/session/{}/{command}", self.session),
            argument,
        )
        .unwrap_or_else(|error| panic!("{command}: {error}"))
    }

    /// One command: an HTTP request whose answer ends with the connection.
    fn call(&self, method: &str, path: &str, argument: &Value) -> Result<Value, String> {
        let told = |error: std::io::Error| error.to_string();
        let body = argument.to_string();
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).map_err(told)?;
        stream
            .set_read_timeout(Some(Duration::from_mins(1)))
            .map_err(told)?;
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nHost: localhost:{}\r\nContent-Type: \
             application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
            self.port,
            body.len()
        )
        .map_err(told)?;
        let mut answer = BufReader::new(stream);
        let mut length = 0;
        loop {
            let mut line = String::new();
            answer.read_line(&mut line).map_err(told)?;
            if line.trim().is_empty() {
                break;
            }
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value
                    .trim()
                    .parse()
                    .map_err(|_| format!("a length of {value}"))?;
            }
        }
        let mut bytes = vec![0; length];
        answer.read_exact(&mut bytes).map_err(told)?;
        let mut answer: Value =
            serde_json::from_slice(&bytes).map_err(|error| error.to_string())?;
        let value = answer["value"].take();
        match value["error"].as_str() {
            Some(error) => Err(format!("{error}: {}", value["message"])),
            None => Ok(value),
        }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        if !self.session.is_empty() {
            // The driver is ended below in any case, and the browser with it.
            let _ = self.call("DELETE", &format!("/session/{}", self.session), &json!({}));
        }
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}
