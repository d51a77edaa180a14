//! The load that runs beside a control loop: logging to a file, transferring over the network,
//! computing.

use std::hint::black_box;
use std::io::{Seek, Write};
use std::net::UdpSocket;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use host::cores::{CoreId, bind};
use host::loops;

/// What a thread of the load does until it is told to stop: [`log`], [`network`], [`compute`],
/// [`memory`], [`timer`].
pub type Duty = fn(&AtomicBool);

/// Running threads of load; dropping it stops them.
pub struct OtherLoad {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl OtherLoad {
    /// Starts one thread for each duty, on the core given.
    pub fn start(duties: &[(Duty, CoreId)]) -> Self {
        let duties = duties.iter().map(|&(duty, core)| (duty, vec![core]));
        Self::on(duties)
    }

    /// Starts one thread for each duty, each of which may use all of `cores`.
    pub fn anywhere(duties: &[Duty], cores: &[CoreId]) -> Self {
        Self::on(duties.iter().map(|&duty| (duty, cores.to_vec())))
    }

    fn on(duties: impl Iterator<Item = (Duty, Vec<CoreId>)>) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let threads = duties
            .map(|(duty, cores)| {
                let stop = Arc::clone(&stop);
                thread::spawn(move || {
                    // A core that may not be used loads nothing; the caller takes allowed ones.
                    let _ = bind(0, &cores);
                    duty(&stop);
                })
            })
            .collect();
        Self { stop, threads }
    }
}

impl Drop for OtherLoad {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// Writes a file over and over.
pub fn log(stop: &AtomicBool) {
    // Without a name the file goes away with this thread.
    let Ok(mut file) = tempfile::tempfile() else {
        return;
    };
    let block = [b'x'; 4096];
    while !stop.load(Ordering::Acquire) {
        for _ in 0..256 {
            let _ = file.write_all(&block);
        }
        let _ = file.rewind();
    }
}

/// Sends datagrams to itself: system calls and softirqs on its own core.
pub fn network(stop: &AtomicBool) {
    let Ok(socket) = UdpSocket::bind("127.0.0.1:0") else {
        return;
    };
    let Ok(own) = socket.local_addr() else { return };
    let _ = socket.set_read_timeout(Some(Duration::from_millis(20)));
    let mut block = [0_u8; 1024];
    while !stop.load(Ordering::Acquire) {
        for _ in 0..16 {
            let _ = socket.send_to(&block, own);
        }
        for _ in 0..16 {
            if socket.recv(&mut block).is_err() {
                break;
            }
        }
    }
}

/// Computes.
pub fn compute(stop: &AtomicBool) {
    while !stop.load(Ordering::Acquire) {
        black_box(loops::spin(20_000, 1));
    }
}

/// Writes 32 MiB over and over: whatever else was in the core's own caches goes.
pub fn memory(stop: &AtomicBool) {
    let mut words = loops::buffer(32 << 20);
    while !stop.load(Ordering::Acquire) {
        for part in words.chunks_mut(1 << 15) {
            loops::fill(part, 1);
        }
    }
}

/// Wakes up twenty thousand times a second: a timer interrupt and two switches each time.
pub fn timer(stop: &AtomicBool) {
    super::realtime::exact_timers();
    while !stop.load(Ordering::Acquire) {
        thread::sleep(Duration::from_micros(50));
    }
}
