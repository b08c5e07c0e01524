//! The node that leads: from sums over all nodes to the next order.

use std::sync::Arc;

use super::order::{Failure, Order, Sizes};
use crate::{
    bytes::{Reader, Writer},
    error::{Error, Result},
    mixed::{
        Answer, Chebyshev, Leader, Likelihood, Means, Next, Precision, Question, Setting,
        may_deviate, means,
    },
};

/// What the leader knows beside what all nodes do.
#[derive(Debug)]
pub(super) struct Lead {
    leader: Option<Leader>,
    likelihood: Likelihood,
    /// Rows that count, and nodes that have any.
    counts: [f64; 2],
    weight: f64,
    setting: Setting,
    answers: Vec<Option<Answer>>,
    question: Option<Question>,
    /// Logarithms of the determinants of M and S at the question.
    logarithms: (f64, f64),
    /// σ² of the answer that is the last, once it is found.
    noise: Option<f64>,
}

impl Lead {
    pub(super) fn new(
        precision: &Arc<Precision>,
        likelihood: Likelihood,
        rho: Option<f64>,
    ) -> Self {
        Self {
            leader: Leader::new(precision, likelihood, rho).ok(),
            likelihood,
            counts: [0.0; 2],
            weight: 0.0,
            setting: Setting::default(),
            answers: Vec::new(),
            question: None,
            logarithms: (0.0, 0.0),
            noise: None,
        }
    }

    /// What comes after an order that was answered by these sums.
    pub(super) fn next(
        &mut self,
        order: &Order,
        sums: &[f64],
        (sizes, is_noisy): (Sizes, bool),
    ) -> Order {
        match order {
            Order::Levels => self.spreads(sums),
            Order::Spreads { means, .. } => {
                let (label_squares, mut products) = (sums[0], sums[1..].to_vec());
                let ranges = products.split_off(means.len() * means.len());
                let [rows, with_rows] = self.counts;
                let deviating = may_deviate(&ranges, rows > with_rows);
                Order::Scales { weight: self.weight, products, label_squares, deviating }
            }
            Order::Scales { .. } => {
                let [rows, with_rows] = self.counts;
                let unit = |total: &f64| {
                    if *total > 0.0 { (with_rows / total).sqrt() } else { 1.0 }
                };
                let freedom = match self.likelihood {
                    Likelihood::Restricted => rows - sizes.fixed as f64,
                    Likelihood::Full => rows,
                };
                let units = sums.iter().map(unit).collect();
                self.setting = Setting { units, freedom, is_noisy };
                if freedom < 1.0 { Order::Fail(Failure::FewRows) } else { self.ask() }
            }
            Order::Reach(question) => series(question.clone(), sums[0]),
            Order::Series { question, .. } => match means(sums, sizes.fixed) {
                Some((means, log_m, log_s)) => self.slopes(means, (log_m, log_s)),
                None if self.noise.is_some() => Order::Fail(Failure::Singular),
                None => {
                    self.question = Some(question.clone());
                    self.answers.push(None);
                    self.ask()
                }
            },
            Order::Slopes(_) => {
                let known = self.leader.as_ref().zip(self.question.as_ref());
                let answer = known.and_then(|(leader, question)| {
                    leader.answer(question, &self.setting, (self.logarithms, sums))
                });
                self.answers.push(answer);
                self.ask()
            }
            Order::Finish { .. } | Order::Fail(_) => order.clone(),
        }
    }

    fn spreads(&mut self, sums: &[f64]) -> Order {
        let [weight, rows, with_rows, labels] = [sums[0], sums[1], sums[2], sums[3]];
        (self.weight, self.counts) = (weight, [rows, with_rows]);
        if weight <= 0.0 {
            return Order::Fail(Failure::FewRows);
        }
        let means = sums[4..].iter().map(|sum| sum / weight).collect();
        Order::Spreads { means, label_mean: labels / weight }
    }

    /// The gradient at the mean coefficients; at the end they are all that is told.
    fn slopes(&mut self, means: Means, logarithms: (f64, f64)) -> Order {
        if let Some(noise) = self.noise {
            return Order::Finish { noise, mean: means.values };
        }
        self.logarithms = logarithms;
        Order::Slopes(means)
    }

    /// The next question, or the one with the largest likelihood once more: then all know its solution.
    fn ask(&mut self) -> Order {
        let Some(leader) = &self.leader else { return Order::Fail(Failure::Dense) };
        let question = match leader.next(&self.setting, &self.answers) {
            Ok(Next::Ask(question)) => question,
            Ok(Next::Found { question, answer }) => {
                self.noise = self.answers[answer].as_ref().map(|answer| answer.noise);
                question
            }
            Err(_) => return Order::Fail(Failure::Singular),
        };
        self.question = Some(question.clone());
        // Without edges there is nothing to bound.
        if question.rho == 0.0 { series(question, 0.0) } else { Order::Reach(question) }
    }

    pub(super) fn write(&self, to: &mut Writer) {
        to.numbers(&self.counts);
        to.numbers(&[self.weight, self.setting.freedom, self.logarithms.0, self.logarithms.1]);
        to.flag(self.setting.is_noisy);
        to.list(&self.setting.units);
        to.list(
            &self
                .question
                .as_ref()
                .map_or_else(Vec::new, |question| [&[question.rho], &question.factor[..]].concat()),
        );
        to.list(self.noise.as_slice());
        to.count(self.answers.len());
        for answer in &self.answers {
            to.list(&answer.as_ref().map_or_else(Vec::new, |answer| {
                [&[answer.deviance, answer.by_rho, answer.noise], &answer.by_factor[..]].concat()
            }));
        }
    }

    pub(super) fn read(&mut self, from: &mut Reader<'_>) -> Result<()> {
        self.counts = [from.number()?, from.number()?];
        (self.weight, self.setting.freedom) = (from.number()?, from.number()?);
        self.logarithms = (from.number()?, from.number()?);
        self.setting.is_noisy = from.flag()?;
        self.setting.units = from.list()?;
        let question = from.list()?;
        self.question = question
            .split_first()
            .map(|(rho, factor)| Question { rho: *rho, factor: factor.to_vec() });
        self.noise = from.list()?.first().copied();
        self.answers.clear();
        for _ in 0..from.count()? {
            let numbers = from.list()?;
            self.answers.push(match &numbers[..] {
                [] => None,
                [deviance, by_rho, noise, by_factor @ ..] => Some(Answer {
                    deviance: *deviance,
                    by_factor: by_factor.to_vec(),
                    by_rho: *by_rho,
                    noise: *noise,
                }),
                _ => return Err(damaged()),
            });
        }
        Ok(())
    }
}

/// The series of a question whose edges add so much.
fn series(question: Question, radius: f64) -> Order {
    let terms = Chebyshev::new(radius).terms();
    Order::Series { question, radius, terms }
}

fn damaged() -> Error {
    Error::Malformed { what: "the kept state", reason: "holds an answer of another size" }
}
