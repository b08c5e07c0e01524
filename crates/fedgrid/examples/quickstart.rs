//! Six stations on a path, three rows each: does their network help?
//!
//! ```sh
//! cargo run -p fedgrid --example quickstart
//! ```

#![expect(clippy::print_stdout, reason = "an example shows what it gives")]

use std::sync::Arc;

use fedgrid::{
    Result,
    compare::{Settings, Study, Unwatched, Verdict},
    data::{Dataset, Features, Labels, Plan, Role, RowDraws},
    model::{Linear, LocalModel},
    network,
    random::{Purpose, Stream},
};

/// Rows of a station whose slope grows along the path: three train, two validate, four test.
fn rows(station: usize) -> Result<Dataset> {
    let mut stream = Stream::new(7, station, 0, Purpose::Data);
    let slope = 1.0 + 0.2 * station as f64;
    let x: Vec<[f64; 1]> = (0..9).map(|_| [stream.normal()]).collect();
    let y = x.iter().map(|x| slope * x[0] + 0.3 * stream.normal()).collect();
    Dataset::new(Features::from_rows(&["x"], &x)?, Labels::values(y))
}

pub(crate) fn main() -> Result<()> {
    let (train, validate, test) = (Role::Train, Role::Validation, Role::Test);
    let roles = [train, train, train, validate, validate, test, test, test, test];
    let points: Vec<[f64; 1]> = (-10..=10).map(|k| [0.2 * f64::from(k)]).collect();
    let public = Arc::new(Features::from_rows(&["x"], &points)?);
    let model: Arc<dyn LocalModel> = Arc::new(Linear::default());
    let stations = 6;
    let (network, rows) =
        (network::path(stations)?, (0..stations).map(rows).collect::<Result<Vec<_>>>()?);
    let draws = RowDraws { names: network.names(), rows: &rows, seed: 1 };
    let study = Study {
        plan: Plan::new(&vec![roles.to_vec(); stations], 5, &draws),
        models: vec![model; stations],
        public: vec![public; stations],
        scales: None,
        settings: Settings::default(),
        network,
        rows,
    };
    let cards =
        study.contestants().into_iter().map(|contestant| study.card(contestant, &Unwatched));
    let cards = cards.collect::<Result<Vec<_>>>()?;
    for card in &cards {
        println!("{:<12} error {:.4}", card.contestant.to_string(), card.error());
    }
    let verdict = Verdict::of(&cards, study.main(), &study.network).expect("all were compared");
    let (kind, rival) = (verdict.kind, verdict.rival);
    println!("verdict: {kind:?}, the best without the network is {rival}");
    Ok(())
}
