//! Ten faults that operators meet, each seeded into a running router and found from the console alone:
//! what it says names the reason, explains it, and says what to do.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use fastpath::forward::Reason;
use host::cores::bind;

use super::asking::runs_with;
use super::console::browser::Browser;
use super::lab::{Lab, Router, is_root, text, wait_for};
use super::raw::{Raw, Wires, ipv4};

/// What the issue of a fault may take from seed to finding, on a quiet machine.
const LONGEST: Duration = Duration::from_mins(1);
const A: [u8; 4] = [10, 0, 0, 2];
/// Behind b, by the route of the first hour.
const BEHIND: [u8; 4] = [203, 0, 113, 9];
/// Nobody's: the way there leads round.
const ROUND: [u8; 4] = [198, 18, 0, 1];

/// Where the console says it.
enum Says {
    /// The reason, opened: what it means, what to do.
    Reason(Reason),
    /// The way of a typed address has all of these.
    Way(&'static str, &'static [&'static str]),
    /// The part of the page with this name has all of these.
    Part(&'static str, &'static [&'static str]),
}

struct Fault {
    name: &'static str,
    /// In the namespace of that name: a command of ip, or `!` and any other.
    seed: &'static [(char, &'static str)],
    heal: &'static [(char, &'static str)],
    /// Frames that are sent beside the good ones.
    sent: fn(&Wires) -> Vec<Vec<u8>>,
    says: &'static [Says],
}

fn none(_: &Wires) -> Vec<Vec<u8>> {
    Vec::new()
}

fn good(wires: &Wires) -> Vec<u8> {
    ipv4(wires.macs, A, BEHIND, 53, &[0; 100])
}

fn long(wires: &Wires) -> Vec<Vec<u8>> {
    vec![ipv4(wires.macs, A, BEHIND, 53, &[0; 1420])]
}

fn tagged(wires: &Wires) -> Vec<Vec<u8>> {
    let mut frame = good(wires);
    frame.splice(12..12, [0x81, 0, 0, 30]);
    vec![frame]
}

fn round(wires: &Wires) -> Vec<Vec<u8>> {
    vec![ipv4(wires.macs, A, ROUND, 53, &[0; 100])]
}

fn broken(wires: &Wires) -> Vec<Vec<u8>> {
    let mut frame = good(wires);
    frame[24] ^= 0xff;
    vec![frame]
}

/// All that commands alone can seed; the other two have a test of their own below.
const FAULTS: [Fault; 8] = [
    Fault {
        name: "wrong route",
        seed: &[('r', "route add 203.0.113.9/32 via 10.2.0.2")],
        heal: &[('r', "route del 203.0.113.9/32")],
        sent: none,
        says: &[
            Says::Part("events", &["routes IPv4 "]),
            Says::Way(
                "203.0.113.9",
                &["203.0.113.9/32", "10.2.0.2", "leaves by\nr2"],
            ),
        ],
    },
    Fault {
        name: "dead neighbour",
        seed: &[('b', "link set e1 arp off"), ('r', "neigh flush dev r1")],
        heal: &[('b', "link set e1 arp on"), ('r', "neigh flush dev r1")],
        sent: none,
        says: &[
            Says::Reason(Reason::Unresolved),
            Says::Way("203.0.113.9", &["unresolved", "the neighbour", "10.1.0.2"]),
        ],
    },
    Fault {
        name: "MTU",
        seed: &[('r', "link set r1 mtu 1400")],
        heal: &[('r', "link set r1 mtu 1500")],
        sent: long,
        says: &[
            Says::Reason(Reason::TooBig),
            Says::Way("203.0.113.9", &["MTU\n1400"]),
        ],
    },
    Fault {
        name: "nft rule left",
        seed: &[
            ('r', "!nft add table ip left"),
            (
                'r',
                "!nft add chain ip left c { type filter hook forward priority 0; }",
            ),
            ('r', "!nft add rule ip left c counter"),
        ],
        heal: &[('r', "!nft delete table ip left")],
        sent: none,
        says: &[
            Says::Reason(Reason::PortDisabled),
            Says::Part("verdict", &["left to the kernel", "nft"]),
            Says::Way("203.0.113.9", &["port-disabled", "nft"]),
        ],
    },
    Fault {
        name: "VLAN missing",
        seed: &[],
        heal: &[],
        sent: tagged,
        says: &[Says::Reason(Reason::UnknownVlan)],
    },
    Fault {
        name: "loop",
        seed: &[('r', "route add 198.18.0.0/24 via 10.1.0.2")],
        heal: &[('r', "route del 198.18.0.0/24")],
        sent: round,
        says: &[
            Says::Reason(Reason::Ipv4TimeToLive),
            Says::Reason(Reason::Hairpin),
        ],
    },
    Fault {
        name: "blackhole",
        seed: &[('r', "route add blackhole 203.0.113.9/32")],
        heal: &[('r', "route del 203.0.113.9/32")],
        sent: none,
        says: &[
            Says::Reason(Reason::Blackhole),
            Says::Way(
                "203.0.113.9",
                &["dropped: blackhole", "203.0.113.9/32, blackhole"],
            ),
        ],
    },
    Fault {
        name: "checksum",
        seed: &[],
        heal: &[],
        sent: broken,
        says: &[Says::Reason(Reason::Ipv4Checksum)],
    },
];

/// Frames that host a sends all the time, from each of these cores.
struct Traffic {
    over: AtomicBool,
    more: Mutex<Vec<Vec<u8>>>,
    /// Only the first core sends.
    is_hot: AtomicBool,
}

impl Traffic {
    fn send(&self, from: &Raw, good: &[u8], place: usize) {
        while !self.over.load(Ordering::Relaxed) {
            if place == 0 || !self.is_hot.load(Ordering::Relaxed) {
                from.send(good);
                if place == 0 {
                    self.more
                        .lock()
                        .unwrap()
                        .iter()
                        .for_each(|frame| from.send(frame));
                }
            }
            std::thread::sleep(Duration::from_millis(3));
        }
    }
}

/// A person in front of the console.
struct Person<'a> {
    lab: &'a Lab,
    browser: Browser,
}

impl Person<'_> {
    fn text(&self, id: &str) -> String {
        let script = format!("return document.getElementById('{id}')?.innerText || ''");
        self.browser.script(&script).as_str().unwrap().to_owned()
    }

    /// Looks until the page says all of it.
    fn sees(&self, id: &str, all: &[&str]) -> String {
        let mut said = String::new();
        let what = format!("{all:?} in {id}");
        let ends = Instant::now() + LONGEST * 8;
        while Instant::now() < ends {
            said = self.text(id);
            if all.iter().all(|part| said.contains(part)) {
                return said;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        panic!("{what}; it says {said:?}");
    }

    /// Opens a reason that frames have now.
    fn opens(&self, reason: Reason) -> String {
        let name = reason.name();
        let now = format!(
            "return parseFloat(document.querySelector('#reason-{name} summary span')?.innerText) > 0"
        );
        wait_for(name, 60, || self.browser.script(&now) == true);
        self.browser.script(&format!(
            "document.getElementById('reason-{name}').open = true; return true"
        ));
        let meaning = reason.meaning().split_whitespace().collect::<Vec<_>>();
        let meaning = meaning.join(" ");
        let remedy = reason.remedy().expect("something is wrong");
        let remedy = format!("What to do: {remedy}");
        let said = self.sees(&format!("reason-{name}"), &[&meaning, &remedy]);
        self.browser.script(&format!(
            "document.getElementById('reason-{name}').open = false; return true"
        ));
        said
    }

    /// Types an address until its way says all of it.
    fn types(&self, address: &str, all: &[&str]) -> String {
        let mut said = String::new();
        wait_for(&format!("{all:?} of {address}"), 60, || {
            self.browser.script(&format!(
                "document.getElementById('way').replaceChildren(); \
                 document.getElementById('address').value = '{address}'; \
                 document.querySelector('#ask button').click(); return true"
            ));
            std::thread::sleep(Duration::from_millis(300));
            said = self.text("way");
            all.iter().all(|part| said.contains(part))
        });
        said
    }

    fn finds(&self, says: &Says) -> String {
        match says {
            Says::Reason(reason) => self.opens(*reason),
            Says::Way(address, all) => self.types(address, all),
            Says::Part(id, all) => self.sees(id, all),
        }
    }

    fn does(&self, commands: &[(char, &str)]) {
        for (place, command) in commands {
            let place = match place {
                'r' => &self.lab.r,
                _ => &self.lab.b,
            };
            match command.strip_prefix('!') {
                None => drop(place.ip(command).unwrap()),
                Some(command) => {
                    let (program, words) = command.split_once(' ').unwrap();
                    let mut command = place.command(program);
                    let output = command.args(words.split(' ')).output().unwrap();
                    assert!(output.status.success(), "{}", text(&output));
                }
            }
        }
    }
}

/// What was found, how fast.
fn told(name: &str, began: Instant, said: &[String]) {
    let took = began.elapsed();
    println!("{name}: found after {:.1} s", took.as_secs_f64());
    for said in said {
        println!("    {}", said.replace('\n', " | "));
    }
    // A machine that others use, too, may take longer, and the waits above have their own end.
    assert!(took < LONGEST * 8, "{name}: {took:?}");
}

#[test]
fn ten_seeded_faults_are_found_from_the_console_alone() {
    if !is_root() || !needs::program("nft") {
        return;
    }
    let mut lab = Lab::with_queues(2);
    lab.link("c", 2);
    let mut sysctl = lab.b.command("sysctl");
    sysctl.args(["-qw", "net.ipv4.ip_forward=1"]);
    assert!(sysctl.status().unwrap().success());
    let router = runs_with(&lab, &["r0", "r1", "r2"], "stale-milliseconds = 1000\n");
    let wires = Wires::open(&lab);
    let senders = [Raw::open(&lab.a, "e0"), Raw::open(&lab.a, "e0")];
    let traffic = Traffic {
        over: AtomicBool::new(false),
        more: Mutex::new(Vec::new()),
        is_hot: AtomicBool::new(false),
    };
    let cores = host::allowed_cores().unwrap();
    let good = good(&wires);
    std::thread::scope(|threads| {
        for (place, from) in senders.iter().enumerate() {
            let (traffic, good, cores) = (&traffic, &good, &cores);
            threads.spawn(move || {
                if let Some(core) = cores.get(place) {
                    bind(0, &[*core]).unwrap();
                }
                from.past_queueing();
                traffic.send(from, good, place);
            });
        }
        let looked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            lab.r
                .enter(|| seed(&lab, &router, &wires, &traffic))
                .unwrap();
        }));
        traffic.over.store(true, Ordering::Relaxed);
        if let Err(panic) = looked {
            std::panic::resume_unwind(panic);
        }
    });
    router.verify();
}

fn seed(lab: &Lab, router: &Router, wires: &Wires, traffic: &Traffic) {
    let browser = match Browser::open() {
        Ok(browser) => browser,
        Err(why) => {
            needs::skipped!("needs a browser: {why}");
            return;
        }
    };
    browser.go("http://127.0.0.1:9470/");
    let person = Person { lab, browser };
    person.sees("verdict", &["Healthy", "forwarded,"]);
    for fault in &FAULTS {
        let began = Instant::now();
        person.does(fault.seed);
        *traffic.more.lock().unwrap() = (fault.sent)(wires);
        let said: Vec<String> = fault.says.iter().map(|says| person.finds(says)).collect();
        told(fault.name, began, &said);
        traffic.more.lock().unwrap().clear();
        person.does(fault.heal);
        person.types("203.0.113.9", &["forwarded", "203.0.113.0/24", "10.1.0.2"]);
    }
    if host::allowed_cores().unwrap().len() > 1 {
        person.sees("balance", &["Even"]);
        let began = Instant::now();
        traffic.is_hot.store(true, Ordering::Relaxed);
        let said = person.sees("balance", &["Uneven: core ", "What to do: "]);
        told("one hot core", began, &[said]);
        traffic.is_hot.store(false, Ordering::Relaxed);
    }
    let began = Instant::now();
    router.signal(libc::SIGSTOP);
    let silent = person.sees("state", &["has said nothing for", "What to do: "]);
    router.signal(libc::SIGCONT);
    let said = person.finds(&Says::Reason(Reason::Stale));
    told("stale", began, &[silent, said]);
}
