//! Of `tune/src/rules.rs`: what is proposed, by values.

use host::card::Spreading;

use super::*;
use crate::facts::Interrupt;
use crate::hints::hints;

fn machine(cores: u32) -> Machine {
    Machine {
        cores: (0..cores).map(CoreId).collect(),
        online: (0..cores).map(CoreId).collect(),
        ..Machine::default()
    }
}

fn combined(combined: u32) -> Queues {
    Queues {
        combined,
        ..Queues::default()
    }
}

fn pairs(pairs: u32) -> Queues {
    Queues {
        receive: pairs,
        send: pairs,
        combined: 0,
    }
}

/// A card with four queues at most that is as it should be on `cores` cores behind tc.
fn card(cores: u32) -> Port {
    let rings = Rings {
        receive: 1024,
        send: 1024,
    };
    let lists = |queues: u32| (0..queues).map(|queue| queue.to_string());
    let interrupts = (0..cores).map(|queue| Interrupt {
        line: 24 + queue,
        queue,
        cores: queue.to_string(),
    });
    Port {
        name: "eth0".to_owned(),
        entry: Entry::Tc,
        has_device: true,
        node: None,
        queues: Some((combined(cores), combined(4))),
        rings: Some((
            rings,
            Rings {
                receive: 4096,
                ..rings
            },
        )),
        coalescing: Some(Coalescing {
            adaptive: true,
            ..Coalescing::default()
        }),
        spreading: Some(Spreading {
            table: (0..cores).cycle().take(128).collect(),
            key: vec![0x6d; 40],
        }),
        lro: false,
        gro: true,
        threads: Some("0".to_owned()),
        interrupts: interrupts.collect(),
        send_cores: lists(cores).collect(),
        steer_cores: vec!["none".to_owned(); cores as usize],
        send_queue_length: Some(1000),
    }
}

/// The end of a cable with so many queues of four.
fn veth(queues: u32) -> Port {
    Port {
        name: "r0".to_owned(),
        entry: Entry::Xdp,
        has_device: false,
        queues: Some((pairs(queues), pairs(4))),
        rings: None,
        coalescing: None,
        spreading: None,
        interrupts: Vec::new(),
        send_cores: vec!["none".to_owned(); queues as usize],
        ..card(1)
    }
}

/// Each setting that is to be changed, and to what.
fn wanted(machine: &Machine, ports: &[Port]) -> Vec<(Setting, String)> {
    let all = changes(machine, ports).into_iter();
    all.map(|change| (change.setting, change.to)).collect()
}

fn one(cores: u32, port: Port) -> Vec<(Setting, String)> {
    wanted(&machine(cores), &[port])
}

#[test]
fn what_is_as_it_should_be_is_left_alone() {
    assert_eq!(one(4, card(4)), []);
    assert_eq!(one(2, card(2)), []);
    let several = Port {
        interrupts: Vec::new(),
        ..card(1)
    };
    assert_eq!(one(1, several), [], "one queue, one core");
    assert_eq!(one(4, veth(4)), []);
    assert_eq!(one(1, veth(4)), [], "queues of software cost nothing");
}

#[test]
fn each_core_gets_a_queue_as_far_as_there_are_any() {
    let queues = |text: &str| vec![(Setting::Queues, text.to_owned())];
    assert_eq!(one(2, veth(1)), queues("rx 2 tx 2 combined 0"));
    assert_eq!(one(8, veth(2)), queues("rx 4 tx 4 combined 0"));
    let change = &one(2, card(4))[0];
    assert_eq!(
        *change,
        (Setting::Queues, "rx 0 tx 0 combined 2".to_owned())
    );
    let unknown = Port {
        queues: None,
        ..veth(1)
    };
    assert_eq!(one(2, unknown), []);
}

#[test]
fn interrupts_of_single_queues_do_not_meet_on_one_core() {
    let single = |name: &str, line| Port {
        name: name.to_owned(),
        entry: Entry::Xdp,
        queues: None,
        interrupts: vec![Interrupt {
            line,
            queue: 0,
            cores: "0-1".to_owned(),
        }],
        ..card(1)
    };
    let ports = [single("eth0", 24), single("eth1", 25)];
    let lines = [(24, "0"), (25, "1")];
    let lines = lines.map(|(line, core)| (Setting::InterruptCores(line), core.to_owned()));
    assert_eq!(wanted(&machine(2), &ports), lines);
    assert_eq!(wanted(&machine(1), &ports), []);
}

#[test]
fn joined_segments_depend_on_where_frames_enter() {
    let switch = |setting, to: &str| vec![(setting, to.to_owned())];
    let lro = Port {
        lro: true,
        ..card(2)
    };
    assert_eq!(one(2, lro), switch(Setting::Lro, "off"));
    let gro = |entry, gro| {
        let port = Port {
            entry,
            gro,
            ..card(2)
        };
        one(2, port)
    };
    assert_eq!(gro(Entry::Tc, false), switch(Setting::Gro, "on"));
    assert_eq!(gro(Entry::PacketSockets, true), switch(Setting::Gro, "off"));
    for entry in [Entry::Xdp, Entry::XdpSockets] {
        assert_eq!([gro(entry, true), gro(entry, false)], [[], []]);
    }
    let cable = Port {
        entry: Entry::Tc,
        gro: false,
        ..veth(1)
    };
    assert_eq!(one(1, cable), [], "a sender hands over whole segments");
}

#[test]
fn rings_grow_to_what_the_driver_gives_and_never_shrink() {
    let rings = |receive, send, most| {
        let now = Rings { receive, send };
        let most = Rings {
            receive: most,
            send: most,
        };
        let port = Port {
            rings: Some((now, most)),
            ..card(2)
        };
        one(2, port)
    };
    let to = |text: &str| vec![(Setting::Rings, text.to_owned())];
    assert_eq!(rings(256, 512, 4096), to("rx 1024 tx 1024"));
    assert_eq!(rings(256, 256, 512), to("rx 512 tx 512"));
    assert_eq!(rings(4096, 2048, 4096), []);
    assert_eq!(rings(256, 256, 256), []);
}

#[test]
fn an_interrupt_for_each_frame_is_held_back() {
    let coalescing = |adaptive, microseconds| {
        let now = Coalescing {
            adaptive,
            microseconds,
            frames: 1,
        };
        let port = Port {
            coalescing: Some(now),
            ..card(2)
        };
        one(2, port)
    };
    let wanted = "adaptive 0 usecs 16 frames 1".to_owned();
    assert_eq!(coalescing(false, 0), [(Setting::Coalescing, wanted)]);
    assert_eq!(coalescing(true, 0), []);
    assert_eq!(coalescing(false, 50), []);
}

#[test]
fn frames_are_spread_equally_over_the_queues() {
    let spread = |table: Vec<u32>, key: Vec<u8>| {
        let port = Port {
            spreading: Some(Spreading { table, key }),
            ..card(2)
        };
        one(2, port)
    };
    let table = vec![(Setting::RssTable, "equal 2".to_owned())];
    assert_eq!(spread(vec![0; 64], vec![1; 40]), table);
    assert_eq!(spread(vec![0, 1, 3, 3], vec![1; 40]), table);
    assert_eq!(spread(vec![1, 1, 0, 0, 1], vec![1; 40]), []);
    let found = spread(vec![0, 1], vec![0; 52]);
    let [(Setting::RssKey, key)] = found.as_slice() else {
        panic!("{found:?}");
    };
    assert!(key.starts_with("6d5a56da") && key.len() == 104, "{key}");
    assert_eq!(spread(Vec::new(), Vec::new()), []);
}

#[test]
fn cores_send_by_queues_of_their_own() {
    let port = Port {
        entry: Entry::Tc,
        ..veth(2)
    };
    let cores = |queue, list: &str| (Setting::SendCores(queue), list.to_owned());
    let queues = (Setting::Queues, "rx 4 tx 4 combined 0".to_owned());
    let found = one(5, port);
    assert_eq!(found, [queues, cores(0, "0,2,4"), cores(1, "1,3")]);
}

#[test]
fn one_queue_of_a_card_is_spread_by_the_kernel_behind_which_we_are() {
    let single = |entry, has_device| Port {
        entry,
        has_device,
        queues: Some((combined(1), combined(1))),
        interrupts: Vec::new(),
        spreading: None,
        ..card(1)
    };
    let all = vec![(Setting::SteerCores(0), "0-1".to_owned())];
    assert_eq!(one(2, single(Entry::Tc, true)), all);
    assert_eq!(one(2, single(Entry::Tc, false)), []);
    assert_eq!(one(2, single(Entry::Xdp, true)), []);
    assert_eq!(one(1, single(Entry::Tc, true)), []);
}

#[test]
fn threads_and_short_queues_are_not_waited_for() {
    let port = Port {
        threads: Some("1".to_owned()),
        send_queue_length: Some(10),
        ..card(2)
    };
    let wanted = [
        (Setting::NapiThreads, "0"),
        (Setting::SendQueueLength, "1000"),
    ];
    assert_eq!(
        one(2, port),
        wanted.map(|(setting, to)| (setting, to.to_owned()))
    );
}

#[test]
fn every_change_has_a_reason_of_one_sentence() {
    let port = Port {
        queues: Some((combined(1), combined(4))),
        rings: Some((
            Rings::default(),
            Rings {
                receive: 64,
                send: 64,
            },
        )),
        coalescing: Some(Coalescing::default()),
        lro: true,
        gro: false,
        threads: Some("1".to_owned()),
        send_queue_length: Some(1),
        ..card(2)
    };
    let all = changes(&machine(3), &[port]);
    assert!(all.len() > 6, "{all:?}");
    for Change { why, .. } in all {
        assert!(why.ends_with('.') && why.split(' ').count() <= 25, "{why}");
    }
}

#[test]
fn what_is_the_owners_is_a_hint_with_the_words_to_add() {
    let texts = |machine: &Machine, ports: &[Port]| -> Vec<String> {
        let all = hints(machine, ports).into_iter();
        all.map(|hint| hint.what).collect()
    };
    assert_eq!(texts(&machine(2), &[card(2)]), [] as [&str; 0]);
    let partly = Machine {
        cores: vec![CoreId(2), CoreId(3)],
        command_line: "quiet isolcpus=2-3".to_owned(),
        mitigated: true,
        balanced: true,
        nodes: (0..4).map(|core| (CoreId(core), core / 2)).collect(),
        ..machine(4)
    };
    let far = Port {
        node: Some(0),
        ..card(2)
    };
    let wanted = [
        "kernel command line: nohz_full=2-3",
        "kernel command line: rcu_nocbs=2-3",
        "kernel command line: mitigations=off",
        "stop irqbalance",
        "eth0: --cores 0-1",
    ];
    assert_eq!(texts(&partly, &[far]), wanted);
    let off = Machine {
        command_line: "mitigations=off".to_owned(),
        mitigated: true,
        ..machine(2)
    };
    assert_eq!(texts(&off, &[card(2)]), [] as [&str; 0]);
}
