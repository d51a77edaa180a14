//! Somebody captures ([`crate::management_plane::capture`]).

use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;

use serde_json::Value;

use super::Instance;
use crate::log::{Level, log};
use crate::management_plane::capture::{QUESTION, Request, Started, VERSION};
use crate::take_over::Channel;

/// Who captures.
#[derive(Debug)]
pub(super) struct Capturer {
    channel: Channel,
    /// What was said last.
    said: Option<Started>,
}

impl Capturer {
    pub(super) fn descriptor(&self) -> BorrowedFd<'_> {
        self.channel.as_fd()
    }

    /// Its number.
    pub(super) fn process(&self) -> u32 {
        self.channel.process()
    }

    /// Programs are being loaded.
    pub(super) fn waits(&self) -> bool {
        self.said.is_none()
    }
}

impl Instance {
    /// Somebody wants to capture.
    pub(super) fn capture(&mut self, stream: UnixStream, words: &[String]) {
        let Ok(channel) = Channel::new(stream) else {
            return;
        };
        let process = channel.process();
        if let Err(error) = self.begin_capture(words) {
            channel.refuse(&error);
            log!(Level::Warning, "capture", process, refused = error);
            return;
        }
        log!(Level::Info, "capture", process, what = "it begins");
        let said = None;
        self.capturer = Some(Capturer { channel, said });
    }

    fn begin_capture(&mut self, words: &[String]) -> Result<(), String> {
        let spoken = words.get(1).map_or("", String::as_str);
        if spoken != VERSION {
            return Err(format!(
                "{QUESTION} {spoken}: this router speaks version {VERSION} of it; use the corelane \
                 of its version"
            ));
        }
        if let Some(capturer) = &self.capturer {
            let process = capturer.channel.process();
            return Err(format!(
                "process {process} captures already; wait for its end"
            ));
        }
        if self.guest.is_some() {
            return Err("another process is taking the ports over; try again then".to_owned());
        }
        let request: Request =
            serde_json::from_str(words.get(2..).unwrap_or_default().concat().as_str())
                .map_err(|error| format!("{QUESTION}: {error}"))?;
        let ports = self.follower.mirror().around().ports();
        let wanted = request.wanted(&ports)?;
        // Frames that the console shows are looked for again behind this capture.
        self.end_looking();
        let name = self.follower.engine().name();
        let forwarder = self.follower.forwarder_mut();
        let forwarder = forwarder.ok_or_else(|| format!("engine {name} has no program"))?;
        forwarder.capture(wanted).map_err(|error| error.to_string())
    }

    /// Goes on with the capture, or ends it with whoever captures.
    pub(super) fn follow_capturer(&mut self) {
        let Some(mut capturer) = self.capturer.take() else {
            return;
        };
        let name = self.follower.engine().name();
        // It has nothing more to say: an answer is its end.
        let gone = !matches!(capturer.channel.heard::<Value>(), Ok(None));
        let followed = match self.follower.forwarder_mut() {
            Some(forwarder) if !gone => forwarder.tend_capture().map(|capturing| {
                let started = Started::of(name, forwarder, &capturing);
                (capturing.comes, started, forwarder.captured())
            }),
            _ => None,
        };
        let Some((comes, started, Some(captured))) = followed else {
            self.capturer = Some(capturer);
            return self.end_capture("whoever captured has ended");
        };
        if comes || capturer.said.as_ref() == Some(&started) {
            self.capturer = Some(capturer);
            return;
        }
        if !started.ports.iter().any(|port| port.shows) && capturer.waits() {
            let why = started.failed.first().map_or_else(
                || "no port is attached that could show frames: corelane show ports".to_owned(),
                |(port, why)| format!("port {port}: {why}"),
            );
            self.capturer = Some(capturer);
            return self.end_capture(&why);
        }
        let descriptors = if capturer.waits() { &captured[..] } else { &[] };
        let said = capturer.channel.say(&started, descriptors);
        capturer.said = Some(started);
        self.capturer = Some(capturer);
        if said.is_err() {
            self.end_capture("whoever captured does not listen");
        }
    }

    /// Ports run their own programs again.
    pub(super) fn end_capture(&mut self, why: &str) {
        let Some(capturer) = self.capturer.take() else {
            return;
        };
        if let Some(forwarder) = self.follower.forwarder_mut() {
            forwarder.end_capture();
        }
        capturer.channel.refuse(why);
        let process = capturer.channel.process();
        log!(Level::Info, "capture", process, over = why);
    }
}
