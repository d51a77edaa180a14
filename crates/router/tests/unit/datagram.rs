//! Of `router/src/samples/datagram.rs`. What other decoders make of datagrams is looked at with the
//! whole router (crates/corelane/tests/router/sampled.rs).

use super::*;

fn agent() -> Agent {
    Agent::new([192, 0, 2, 1].into())
}

fn seen(header: &[u8]) -> Seen<'_> {
    Seen {
        input: 3,
        output: Output::Interface(4),
        length: 60,
        header,
        tags: [None; 2],
        routed: None,
    }
}

const DRAWN: Drawn = Drawn {
    every: 100,
    pool: 7,
    lost: 0,
};

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap())
}

/// The samples of a datagram: format and bytes of each.
fn samples(datagram: &[u8]) -> Vec<(u32, &[u8])> {
    let mut at = 28;
    let mut all = Vec::new();
    while at < datagram.len() {
        let (format, length) = (word(datagram, at), word(datagram, at + 4) as usize);
        all.push((format, &datagram[at + 8..at + 8 + length]));
        at += 8 + length;
    }
    assert_eq!(all.len(), word(datagram, 24) as usize);
    all
}

#[test]
fn a_datagram_is_sent_when_it_is_full_and_no_sample_is_lost() {
    let (mut agent, header) = (agent(), [0x55; 128]);
    let mut sent = Vec::new();
    for _ in 0..100 {
        sent.extend(agent.flow(&seen(&header), DRAWN, 1000));
    }
    sent.extend(agent.flush(1500));
    assert_eq!(agent.flush(1500), None, "nothing waits");
    let mut sequences = Vec::new();
    for (number, datagram) in sent.iter().enumerate() {
        assert!(datagram.len() <= LONGEST + 28, "{}", datagram.len());
        assert_eq!(word(datagram, 16), number as u32 + 1);
        let samples = samples(datagram);
        sequences.extend(samples.iter().map(|(_, sample)| word(sample, 0)));
    }
    assert_eq!(sequences, (1..=100).collect::<Vec<u32>>());
}

#[test]
fn a_frame_says_where_it_goes() {
    let outputs = [
        (Output::Interface(4), [0, 4]),
        (Output::Discarded(257), [1, 257]),
        (Output::Internal, [0, 0x3fff_ffff]),
        (Output::Unknown, [0, 0]),
    ];
    for (output, wanted) in outputs {
        let mut agent = agent();
        let seen = Seen {
            output,
            ..seen(&[1; 20])
        };
        assert_eq!(agent.flow(&seen, DRAWN, 0), None);
        let datagram = agent.flush(0).unwrap();
        let (format, sample) = samples(&datagram)[0];
        assert_eq!(format, 3);
        assert_eq!([word(sample, 32), word(sample, 36)], wanted, "{output:?}");
        // One record: the header, as long as it was, with the check sequence that was taken off.
        assert_eq!(word(sample, 40), 1);
        let record: Vec<u32> = (44..68).step_by(4).map(|at| word(sample, at)).collect();
        assert_eq!(record, [1, 36, 1, 64, 4, 20]);
    }
}

#[test]
fn what_is_known_of_a_frame_is_said_and_nothing_else() {
    let (mut agent, header) = (agent(), [0; 14]);
    let seen = Seen {
        tags: [Some(0x2064), None],
        routed: Some(Routed {
            next_hop: Some([10, 1, 0, 2].into()),
            source_mask: 24,
            destination_mask: 16,
        }),
        ..seen(&header)
    };
    agent.discarded(&seen, (269, "blackhole"), 5, 0);
    let datagram = agent.flush(0).unwrap();
    let (format, sample) = samples(&datagram)[0];
    assert_eq!(format, 5);
    // Source, missing, input, output, reason, records.
    let head: Vec<u32> = (4..32).step_by(4).map(|at| word(sample, at)).collect();
    assert_eq!(head, [0, 3, 5, 3, 0, 269, 4]);
    let switched = [0x64, 1, 0, 0].map(u32::to_be_bytes).concat();
    let routed = [1, 0x0a01_0002, 24, 16].map(u32::to_be_bytes).concat();
    let has = |part: &[u8]| sample.windows(part.len()).any(|some| some == part);
    assert!(has(&switched) && has(&routed) && has(b"blackhole"));
}
