//! Golden frames, and five thousand bad ones.

use std::{collections::BTreeMap, time::Instant};

use super::*;

fn key() -> SigningKey {
    SigningKey::from_bytes(&[7; 32])
}

const RUN: RunId = *b"sixteen bytes ok";
const SHAPE: u64 = 0x0102_0304;

fn frame() -> Frame {
    let payload = [1.0, -0.5, 2.0].iter().flat_map(|value: &f64| value.to_le_bytes()).collect();
    Frame {
        kind: FrameKind::State,
        from: 3,
        to: 5,
        epoch: 2,
        nonce: 77,
        known_epoch: 4,
        durable_round: 40,
        round: 41,
        payload,
    }
}

fn verifier() -> FrameVerifier {
    let expected = ExpectedSender { key: key().verifying_key(), epochs: 2..=1000, largest: 24 };
    let senders = BTreeMap::from([(3, expected)]);
    FrameVerifier { run: RUN, own: 5, shape: SHAPE, last_round: 42, senders }
}

fn good() -> Vec<u8> {
    seal(&frame(), &RUN, SHAPE, &key()).unwrap()
}

fn open(bytes: &[u8]) -> Result<Frame, FrameRefusal> {
    verifier().verify(bytes)
}

/// A frame that was changed before it was signed.
fn refused(change: impl Fn(&mut Frame)) -> FrameRefusal {
    let mut frame = frame();
    change(&mut frame);
    open(&seal(&frame, &RUN, SHAPE, &key()).unwrap()).unwrap_err()
}

#[test]
fn a_good_frame_is_read_as_it_was_written() {
    let bytes = good();
    assert_eq!(bytes.len(), HEADER_BYTES + 24 + TRAILER_BYTES);
    assert_eq!(open(&bytes).unwrap(), frame());
}

#[test]
fn frames_of_version_one_stay_readable() {
    let digits = include_str!("golden_v1.txt").trim().as_bytes();
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    let bytes: Vec<u8> = digits.chunks(2).map(byte).collect();
    assert_eq!(bytes, good(), "the layout has changed: give it a new version");
    assert_eq!(open(&bytes).unwrap(), frame());
}

#[test]
fn each_check_has_its_own_refusal() {
    assert_eq!(refused(|frame| frame.to = 6), FrameRefusal::Receiver(6));
    assert_eq!(refused(|frame| frame.from = 4), FrameRefusal::Sender(4));
    assert_eq!(refused(|frame| frame.epoch = 1), FrameRefusal::Epoch(1));
    assert_eq!(refused(|frame| frame.epoch = 1001), FrameRefusal::Epoch(1001));
    assert_eq!(refused(|frame| frame.round = 43), FrameRefusal::Round(43));
    assert_eq!(refused(|frame| frame.payload.push(0)), FrameRefusal::Payload(25));
    let sealed = |run: &RunId, shape, key: &SigningKey| {
        open(&seal(&frame(), run, shape, key).unwrap()).unwrap_err()
    };
    assert_eq!(sealed(&[0; 16], SHAPE, &key()), FrameRefusal::Run);
    assert_eq!(sealed(&RUN, 0, &key()), FrameRefusal::SharedSizes);
    assert_eq!(sealed(&RUN, SHAPE, &SigningKey::from_bytes(&[8; 32])), FrameRefusal::Signature);
    let patched = |place: usize, byte: u8| {
        let mut bytes = good();
        bytes[place] = byte;
        open(&bytes).unwrap_err()
    };
    assert_eq!(patched(0, b'F'), FrameRefusal::Magic);
    assert_eq!(patched(4, 2), FrameRefusal::Version(2));
    assert_eq!(patched(6, 99), FrameRefusal::FrameKind(99));
    assert_eq!(patched(7, 1), FrameRefusal::Reserved);
    assert_eq!(patched(80, 23), FrameRefusal::Length(23));
    assert_eq!(patched(HEADER_BYTES, 1), FrameRefusal::Hash);
}

#[test]
fn every_flipped_bit_is_refused() {
    let bytes = good();
    for bit in 0..8 * bytes.len() {
        let mut flipped = bytes.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        assert!(open(&flipped).is_err(), "bit {bit}");
    }
}

/// A stream of numbers for mutations.
fn noise(state: &mut u64) -> usize {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    usize::try_from(*state >> 11).unwrap()
}

/// One of the ways in which bytes go wrong on a wire or are made wrong on purpose.
fn spoilt(way: usize, state: &mut u64) -> Vec<u8> {
    let mut bytes = good();
    let place = noise(state) % bytes.len();
    match way % 10 {
        0 => bytes.truncate(place),
        1 => bytes.extend(vec![0; 1 + place]),
        2 => bytes[place] = bytes[place].wrapping_add(1),
        3 => bytes[76..84].copy_from_slice(&(noise(state) as u64).to_le_bytes()),
        4 => bytes[24..32].copy_from_slice(&(noise(state) as u64).to_le_bytes()),
        5 => bytes[32..40].copy_from_slice(&(noise(state) as u64).to_le_bytes()),
        6 => {
            let other = noise(state) % bytes.len();
            bytes.swap(place, other);
            bytes[place] ^= 0x80;
        }
        7 => bytes.iter_mut().for_each(|byte| *byte = u8::try_from(noise(state) % 256).unwrap()),
        8 => bytes = [&bytes[..place], &bytes[..]].concat(),
        _ => {
            let end = bytes.len().min(place + 1 + noise(state) % 64);
            bytes[place..end].fill(0xff);
            bytes[place] ^= u8::from(place == 0) + 2;
        }
    }
    bytes
}

/// The time of a processor that this thread has used, in seconds: a loaded machine does not add to it.
fn busy() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let nanoseconds: f64 = text.split(' ').next()?.parse().ok()?;
    Some(nanoseconds * 1e-9)
}

#[test]
fn six_thousand_bad_frames_are_refused_by_name_and_at_once() {
    let mut state = 0x9e37_79b9_7f4a_7c15;
    let whole = good();
    let (mut reasons, mut slowest) = (std::collections::BTreeSet::new(), 0.0_f64);
    for way in 0..6000 {
        let bytes = spoilt(way, &mut state);
        if bytes == whole {
            continue;
        }
        let (begun, before) = (Instant::now(), busy());
        let refusal = open(&bytes).expect_err("a spoilt frame");
        let wall = begun.elapsed().as_secs_f64();
        slowest = slowest.max(before.zip(busy()).map_or(wall, |(before, after)| after - before));
        assert!(!refusal.to_string().is_empty());
        reasons.insert(refusal);
    }
    assert!(reasons.len() > 10, "{reasons:?}");
    // No loop or allocation follows a number in the bytes.
    assert!(slowest < 0.1, "{slowest} s");
}

#[test]
fn sizes_are_checked_first() {
    assert_eq!(open(&[]).unwrap_err(), FrameRefusal::TooSmall(0));
    assert_eq!(
        open(&vec![0; LARGEST_FRAME_BYTES + 1]).unwrap_err(),
        FrameRefusal::TooLarge(LARGEST_FRAME_BYTES + 1)
    );
}

#[test]
fn a_frame_of_a_hundred_predictions_costs_little_more_than_they_do() {
    let size = |payload: usize| {
        let frame = Frame { payload: vec![0; payload], ..frame() };
        seal(&frame, &RUN, SHAPE, &key()).unwrap().len() as f64 / payload as f64
    };
    assert!(size(100 * 8) <= 1.25, "{}", size(800));
    assert!(size(2 * 100 * 8) <= 1.12, "{}", size(1600));
}

#[test]
fn a_frame_above_the_cap_is_not_made() {
    let frame = Frame { payload: vec![0; LARGEST_FRAME_BYTES], ..frame() };
    assert!(seal(&frame, &RUN, SHAPE, &key()).is_none());
}
