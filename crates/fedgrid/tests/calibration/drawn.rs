//! One world with its models, and the verdicts on test rows that are drawn for them.

use std::sync::Arc;

use fedgrid::{
    compare::{
        Card, Contestant, Kind, MethodKind, NodeScore, RoleMeasures, Strength, Study, Unwatched,
        Verdict,
    },
    data::{Dataset, Labels},
    model::Hypothesis,
    random::{Purpose, Stream},
};

use crate::{
    truth::Truth,
    world::{Place, TRUTH_ROWS, Test, World},
};

/// Those that go without the network.
const RIVALS: [Contestant; 4] =
    [Contestant::Local, Contestant::Pooled, Contestant::Shrunk, Contestant::Mixed];

/// What was said of one world.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Found {
    pub(crate) helps: bool,
    /// Whether the network's use was denied; none where nobody asked.
    pub(crate) denies: Option<bool>,
    /// The network's gain on its rival in test rows, as a share of the rival's error.
    pub(crate) gain: f64,
}

/// One world: a study whose models are trained.
pub(crate) struct Drawn<'a> {
    world: &'a World,
    seed: u64,
    points: Vec<[f64; 2]>,
    parameters: Vec<Vec<f64>>,
    study: Study,
    /// The network, and then its rivals and shuffles.
    trained: Vec<Trained>,
}

/// A contestant with its models.
struct Trained {
    contestant: Contestant,
    strength: Strength,
    /// For rows of the table.
    hypotheses: Vec<Arc<dyn Hypothesis>>,
}

impl<'a> Drawn<'a> {
    /// A world with the models of the chosen method and of all that go without the network.
    pub(crate) fn new(world: &'a World, seed: u64) -> Self {
        let mut stream = Stream::new(seed, 0, 0, Purpose::Network);
        let draw = |_| [stream.uniform(), stream.uniform()];
        let points: Vec<[f64; 2]> = (0..world.nodes).map(draw).collect();
        let parameters = world.parameters(&points, &mut Stream::new(seed, 0, 1, Purpose::Data));
        let study = world.study(&Place { seed, points: &points, parameters: &parameters });
        let mut drawn = Self { world, seed, points, parameters, study, trained: Vec::new() };
        let members = drawn.study.members().into_iter();
        let tuned: Vec<Card> =
            members.map(|member| drawn.study.tune(member, &Unwatched).unwrap()).collect();
        drawn.study.choose(&tuned);
        let chosen = Contestant::Member(drawn.study.settings.method.kind());
        let chosen = tuned.iter().find(|card| card.contestant == chosen).unwrap();
        drawn.train(Contestant::Network, Some(chosen.strength));
        for rival in RIVALS {
            drawn.train(rival, None);
        }
        drawn
    }

    /// Trains a contestant as its comparison does: tuned, if its strength is not known, and then fitted to all
    /// training rows.
    fn train(&mut self, contestant: Contestant, strength: Option<Strength>) {
        let is_shuffle = matches!(contestant, Contestant::Shuffled(_));
        let is_mixed = contestant == Contestant::Mixed
            || is_shuffle && self.study.settings.method.kind() == MethodKind::Mixed;
        // What training rows estimate needs no validation rows, except to show their error.
        let estimated = is_mixed.then_some(Strength { alpha: 0.0, ridge: None });
        let strength = strength.or(estimated).unwrap_or_else(|| {
            // From the shuffle before, or else from the network, which is the first.
            let is_shuffled = |one: &&Trained| matches!(one.contestant, Contestant::Shuffled(_));
            let near = self.trained.iter().rfind(is_shuffled).or(self.trained.first());
            let near = near.filter(|_| is_shuffle).map(|own| own.strength);
            self.study.tune_near(contestant, near, &Unwatched).unwrap().strength
        });
        let fitted = self.study.fit_contestant(contestant, strength, &Unwatched).unwrap();
        let hypotheses = self.study.for_table(&fitted.hypotheses);
        self.trained.push(Trained { contestant, strength, hypotheses });
    }

    /// The rows of the table with the given test rows.
    fn rows(&self, test: &Test) -> Vec<Dataset> {
        let Self { seed, points, parameters, .. } = self;
        self.world.rows(&Place { seed: *seed, points, parameters }, test)
    }

    /// What is true of the models.
    pub(crate) fn truth(&self) -> Truth {
        let rows = self.world.part(self.world.training + self.world.test, TRUTH_ROWS);
        let drawn = self.rows(&Test::default());
        let truth: Vec<Dataset> = drawn.iter().zip(&rows).map(|(d, rows)| d.select(rows)).collect();
        let labels = truth.iter().flat_map(|data| data.labels().as_slice().to_vec()).collect();
        let predictions = |one: &Trained| {
            let of_node = |(data, model): (&Dataset, &Arc<dyn Hypothesis>)| {
                model.predict(data.features()).as_slice().to_vec()
            };
            truth.iter().zip(&one.hypotheses).flat_map(of_node).collect()
        };
        let mut all = self.trained[..=RIVALS.len()].iter().map(predictions);
        let network = all.next().expect("the network is the first");
        Truth { labels, network, rivals: all.collect(), noise: 1.0 }
    }

    /// The study of test rows, in units of the table.
    fn tested(&self, test: &Test) -> Study {
        let (drift, rival) = test.drift;
        let move_labels = |(node, data): (usize, Dataset)| {
            let predict = |one: &Trained| one.hypotheses[node].predict(data.features());
            let (network, rival) = (predict(&self.trained[0]), predict(&self.trained[1 + rival]));
            let away = rival.as_slice().iter().zip(network.as_slice()).map(|(r, n)| r - n);
            let moved = data.labels().as_slice().iter().zip(away).map(|(y, away)| y + drift * away);
            Dataset::new(data.features().clone(), Labels::values(moved.collect())).unwrap()
        };
        let rows = self.rows(test).into_iter().enumerate().map(move_labels).collect();
        Study { rows, scales: None, ..self.study.clone() }
    }

    /// The verdict on test rows. Shuffles are trained where they can change it: always, if
    /// it is asked whether the network's use is denied, and otherwise as long as it seems to help.
    pub(crate) fn judge(&mut self, test: &Test, asks_denial: bool) -> Found {
        let tested = self.tested(test);
        let plain = self.trained[..=RIVALS.len()].iter();
        let mut cards: Vec<Card> = plain.map(|one| one.card(&tested)).collect();
        let verdict = |cards: &[Card]| {
            Verdict::of(cards, Contestant::Network, &tested.network).expect("all are there")
        };
        let mut found = verdict(&cards);
        for number in 0..self.study.settings.shuffles {
            if !asks_denial && !found.helps() {
                break;
            }
            let place = RIVALS.len() + 1 + number;
            if self.trained.len() == place {
                self.train(Contestant::Shuffled(number), None);
            }
            cards.push(self.trained[place].card(&tested));
            // Before the last, only a shuffle that does better than the network decides.
            if number + 1 == self.study.settings.shuffles
                || cards[0].error() >= cards[place].error()
            {
                found = verdict(&cards);
            }
        }
        // The sentence of an undecided verdict may say that the network adds less than 1 %.
        let denies = matches!(found.kind, Kind::CouplingOnly | Kind::Pooled | Kind::Local)
            || found.gain.is_excluded();
        Found {
            helps: found.helps(),
            denies: asks_denial.then_some(denies),
            gain: found.gain.gain / found.gain.error,
        }
    }
}

impl Trained {
    /// How it did in test rows.
    fn card(&self, tested: &Study) -> Card {
        let nodes = tested.score(&self.hypotheses, &tested.plan.test);
        Card {
            contestant: self.contestant,
            strength: self.strength,
            validation: f64::NAN,
            test: NodeScore::total(&nodes).mean(),
            accuracy: None,
            measures: RoleMeasures::default(),
            path: Vec::new(),
            nodes,
            evidence: tested.evidence(&self.hypotheses, &tested.plan.test),
            converged: true,
        }
    }
}
