use std::sync::Arc;

use dut::routes::Routes;
use host::CoreId;

use super::*;
use crate::testing::study;

fn exactly(value: f64) -> Estimate {
    Estimate {
        value,
        interval: Interval::new(value, value),
    }
}

/// Two cores whose readers slow each other by a quarter, and make a load twice as long.
pub(super) fn machine() -> Machine {
    Machine {
        cores: 2,
        second_level: 2 << 20,
        last_level: 32 << 20,
        buffer: 128 << 20,
        table: 6 << 20,
        read_one: exactly(10e9),
        read_others: exactly(10e9),
        read_all: exactly(15e9),
        reader_keeps: exactly(0.75),
        computing: exactly(1.0),
        load_one: exactly(90.0),
        load_all: exactly(99.0),
        table_load: exactly(20.0),
        table_loaded: exactly(2.0),
        line_move: exactly(50.0),
    }
}

pub(super) fn beside() -> Beside {
    Beside {
        rounds: 5,
        slowed: exactly(1.05),
        reader: exactly(0.95),
    }
}

pub(super) fn forecast(study: &Study, machine: &Machine, beside: &Beside) -> Forecast {
    let key = wanted(study, Duration::from_secs(1)).remove(0);
    Forecast::of(study, key, machine, beside).unwrap()
}

/// The model of `study`, both engines alike.
pub(super) fn model() -> Model {
    let machine = machine();
    let study = study();
    let forecasts = wanted(&study, Duration::from_secs(9)).into_iter();
    Model {
        forecasts: forecasts
            .filter_map(|key| Forecast::of(&study, key, &machine, &beside()))
            .collect(),
        machine,
    }
}

#[test]
fn a_forecast_has_the_parts_of_a_frame_and_what_was_measured() {
    let study = study();
    let forecast = forecast(&study, &machine(), &beside());
    assert_eq!(forecast.key.engine, "memory");
    assert_eq!(forecast.key.workers, 2);
    assert!((forecast.one_core - 30e6).abs() < 1.0);
    // Readers double a load and add a twentieth to a frame.
    assert!((forecast.shared_part.unwrap() - 0.05).abs() < 1e-9);
    // 1.05 · 0.75 · (1/0.95 − 1) / (1/0.75 − 1) of 10 GB/s, for 30 M frames/s.
    let bytes = forecast.bytes_per_frame.unwrap();
    let traffic = 1.05 * 0.75 * (1.0 / 0.95 - 1.0) / (1.0 / 0.75 - 1.0);
    assert!((bytes.low - traffic * 10e9 / 30e6).abs() < 1e-6, "{bytes}");
    assert!((forecast.measured.unwrap() - 1.98).abs() < 1e-9);
    let predicted = forecast.predicted.unwrap();
    assert!(predicted.interval.contains(predicted.value));
    assert!(
        predicted.value > 1.9 && predicted.value < 2.0,
        "{predicted:?}"
    );
    let difference = forecast.difference().unwrap();
    assert!((difference - (predicted.value / 1.98 - 1.0)).abs() < 1e-12);
}

#[test]
fn loads_that_readers_do_not_slow_tell_no_part_of_a_frame() {
    let mut machine = machine();
    machine.table_loaded = exactly(1.01);
    let forecast = forecast(&study(), &machine, &beside());
    assert_eq!(forecast.shared_part, None);
}

#[test]
fn without_time_the_first_engine_alone_is_forecast() {
    let study = study();
    let engines = |time| -> Vec<String> {
        let wanted = wanted(&study, time).into_iter();
        wanted.map(|key| key.engine).collect()
    };
    assert_eq!(engines(Duration::ZERO), ["memory"]);
    assert_eq!(engines(Duration::from_secs(9)), ["memory", "kernel"]);
}

#[test]
fn an_engine_through_which_nothing_came_has_no_forecast() {
    let mut study = study();
    let key = wanted(&study, Duration::ZERO).remove(0);
    for row in &mut study.forwarding {
        row.frames_per_second.0 = 0.0;
    }
    let found = Forecast::of(&study, key, &machine(), &beside());
    assert_eq!(found, None);
}

#[test]
fn one_core_without_evidence_has_no_forecast() {
    let mut study = study();
    let key = wanted(&study, Duration::ZERO).remove(0);
    for row in &mut study.forwarding {
        row.weak = Some(figures::Weak::Scattered);
    }
    let found = Forecast::of(&study, key, &machine(), &beside());
    assert_eq!(found, None);
}

#[test]
fn one_core_shares_nothing() {
    let routes = Routes {
        prefixes: fib::prefix_file::Prefixes {
            v4: Vec::new(),
            v6: Vec::new(),
        },
        destinations: Vec::new(),
        destinations_v6: Vec::new(),
        from: String::new(),
    };
    let setting = Setting::new(&[CoreId(0)], &Arc::new(routes), 1);
    let found = take(&mut [], &setting, &study(), Duration::ZERO, 1);
    assert!(found.is_ok_and(|found| found.is_none()));
}

#[test]
fn json_gives_the_model_back() {
    let model = model();
    let text = serde_json::to_string(&model).unwrap();
    assert_eq!(serde_json::from_str::<Model>(&text).unwrap(), model);
}
