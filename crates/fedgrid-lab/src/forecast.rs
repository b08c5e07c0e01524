//! Whether a private network pays, before anything is published: what each node can expect of its own rows and of public
//! facts at several budgets, and, where rows may be pooled, what a rehearsal measures.

use fedgrid::{
    compare::{Bought, Settings, Study, Watch},
    privacy::{Forecast, Privacy, mu_of},
};
use serde::Serialize;

use crate::{
    assembly::Assembly,
    error::{Error, Result},
    experiment::Experiment,
    number::{counted, significant},
};

/// The budgets that are looked at.
pub const EPSILONS: [f64; 5] = [1.0, 2.0, 4.0, 10.0, 24.0];

/// What can be expected at several budgets.
#[derive(Debug, Clone, Serialize)]
pub struct PrivacyForecast {
    /// How many nodes there are.
    pub nodes: usize,
    /// How many rows a node trains on, on average.
    pub mean_rows: f64,
    /// The mean expected squared error of own rows and declared bounds, in the units of the table.
    pub alone: f64,
    /// Budget by budget; the last one is without noise.
    pub budgets: Vec<BudgetForecast>,
    /// What follows, in a sentence.
    pub advice: String,
}

/// What can be expected at one budget.
#[derive(Debug, Clone, Serialize)]
pub struct BudgetForecast {
    /// ε; none without noise.
    pub epsilon: Option<f64>,
    /// The mean expected squared error beside twins, if nodes differ as they usually do.
    pub twins: f64,
    /// The same if all nodes are alike: nothing better can be had.
    pub best: f64,
    /// How many nodes gain too little to tell anything.
    pub stay_out: usize,
    /// What a rehearsal has measured on test rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub measured: Option<Bought>,
}

impl BudgetForecast {
    /// Its budget in words.
    #[must_use]
    pub fn name(&self) -> String {
        self.epsilon
            .map_or_else(|| "no noise".into(), |epsilon| format!("ε = {}", significant(epsilon)))
    }
}

impl PrivacyForecast {
    /// Of an assembled experiment with a section of privacy; with a rehearsal, if it is asked for.
    pub fn new(
        experiment: &Experiment,
        assembly: &Assembly,
        (is_rehearsed, watch): (bool, &dyn Watch),
    ) -> Result<Self> {
        let study = &assembly.study;
        let (Some(keys), Some(privacy)) = (&experiment.privacy, study.settings.privacy) else {
            return Err(Error::input(
                "there is no section [privacy], expected one that says what is private and between what labels lie",
            ));
        };
        let unit = keys.labels.half().powi(2);
        let nodes = study.network.len();
        let mean = |of: &[Forecast], value: fn(&Forecast) -> f64| {
            unit * of.iter().map(value).sum::<f64>() / nodes.max(1) as f64
        };
        let mut alone = 0.0;
        let mut budgets = Vec::new();
        for epsilon in EPSILONS.into_iter().map(Some).chain([None]) {
            let mu = epsilon.map_or(Ok(f64::INFINITY), |epsilon| mu_of(epsilon, keys.delta))?;
            let privacy = Privacy { mu, ..privacy };
            let forecasts = study.forecasts(&privacy)?;
            alone = mean(&forecasts, |own| own.alone);
            let measured = if is_rehearsed { rehearsed(study, privacy, watch)? } else { None };
            budgets.push(BudgetForecast {
                epsilon,
                twins: mean(&forecasts, |own| own.twins),
                best: mean(&forecasts, |own| own.best),
                stay_out: forecasts.iter().filter(|own| own.stays_out()).count(),
                measured,
            });
        }
        let rows: usize = study.plan.train.iter().map(Vec::len).sum();
        let mut found = Self {
            nodes,
            mean_rows: rows as f64 / nodes.max(1) as f64,
            alone,
            budgets,
            advice: String::new(),
        };
        found.advice = found.advised();
        Ok(found)
    }

    /// Which budgets pay.
    fn advised(&self) -> String {
        let pays = |budget: &&BudgetForecast| match budget.measured {
            Some(Bought { alone: Some(alone), with_twins: Some(with), .. }) => with < 0.9 * alone,
            _ => 2 * budget.stay_out < self.nodes,
        };
        let rows = format!("With {} training rows a node", significant(self.mean_rows));
        let by = if self.budgets.iter().any(|budget| budget.measured.is_some()) {
            "on test rows"
        } else {
            "by what own rows and public facts say"
        };
        match self.budgets.iter().find(pays) {
            None => format!(
                "{rows} stay alone at any budget: the network gains less than a tenth {by}."
            ),
            Some(first) if first.epsilon == Some(EPSILONS[0]) => {
                format!("{rows} the network gains a tenth or more {by} from {} on.", first.name())
            }
            Some(first) => {
                let stay: Vec<String> = self
                    .budgets
                    .iter()
                    .take_while(|budget| !pays(budget))
                    .map(BudgetForecast::name)
                    .collect();
                format!(
                    "{rows} stay alone at {}; the network gains a tenth or more {by} from {} on.",
                    stay.join(" and "),
                    first.name()
                )
            }
        }
    }

    /// The same as lines of a table.
    #[must_use]
    pub fn printed(&self) -> String {
        let has_measured = self.budgets.iter().any(|budget| budget.measured.is_some());
        let measured = if has_measured { format!("{:>12}", "measured") } else { String::new() };
        let mut lines = vec![
            format!(
                "{}, {} training rows each on average; squared errors",
                counted(self.nodes, "node"),
                significant(self.mean_rows)
            ),
            String::new(),
            format!("{:<12}{:>12}{:>12}{:>16}{measured}", "", "expected", "at best", "stay out"),
        ];
        let of_alone = self.budgets.iter().find_map(|budget| budget.measured?.alone);
        let of_alone =
            of_alone.map_or_else(String::new, |error| format!("{:>12}", significant(error)));
        lines.push(format!(
            "{:<12}{:>12}{:>12}{:>16}{of_alone}",
            "alone",
            significant(self.alone),
            "",
            ""
        ));
        for budget in &self.budgets {
            let measured = budget.measured.and_then(|bought| bought.with_twins);
            let measured =
                measured.map_or_else(String::new, |error| format!("{:>12}", significant(error)));
            lines.push(format!(
                "{:<12}{:>12}{:>12}{:>16}{measured}",
                budget.name(),
                significant(budget.twins),
                significant(budget.best),
                format!("{} of {}", budget.stay_out, self.nodes),
            ));
        }
        lines.join("\n")
    }
}

/// What the test rows say of a budget, once everything is tuned and trained at it.
fn rehearsed(study: &Study, privacy: Privacy, watch: &dyn Watch) -> Result<Option<Bought>> {
    let settings = Settings { privacy: Some(privacy), ..study.settings.clone() };
    let study = Study { settings, ..study.clone() };
    let card = study.tune(study.main(), watch)?;
    let fitted = study.fit(card.strength, watch)?;
    Ok(study.bought(&fitted, watch)?)
}
