//! What people read of predictions, as names and numbers ready to print.

use fedgrid::metric::Measures;

use crate::{
    number::{percent, perhaps, significant},
    outcome::{Measured, Outcome},
};

/// One number that people read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reading {
    /// What it is called in a line of the terminal.
    pub name: &'static str,
    /// What a table calls it.
    pub heading: &'static str,
    /// The number.
    pub value: String,
}

/// The numbers of some measures, in the order in which tables have them.
#[must_use]
pub fn readings(measures: &Measures) -> Vec<Reading> {
    let reading = |name, heading, value| Reading { name, heading, value };
    match measures {
        Measures::Numbers(own) => {
            let mut all = vec![
                reading("mse", "MSE", significant(own.mse)),
                reading("rmse", "RMSE", significant(own.rmse)),
                reading("mae", "MAE", significant(own.mae)),
                reading("r2", "R²", perhaps(own.r2)),
            ];
            let deviance = own.deviance.map(significant);
            all.extend(deviance.map(|value| reading("deviance", "Poisson deviance", value)));
            all
        }
        Measures::Classes(own) => {
            let calibration = own.calibration.as_ref().map(|one| one.expected_error);
            vec![
                reading("log-loss", "Log-loss", significant(own.log_loss)),
                reading("accuracy", "Accuracy", percent(own.accuracy)),
                reading("balanced accuracy", "Balanced accuracy", percent(own.balanced_accuracy)),
                reading("auc", "AUC", perhaps(own.auc)),
                reading("calibration error", "Calibration error", perhaps(calibration)),
            ]
        }
    }
}

/// The measures of the run's own method in one line, such as `network: rmse 2.36, mae 1.83, r2 0.943 (test rows)`;
/// none if nothing was measured.
#[must_use]
pub fn line(outcome: &Outcome) -> Option<String> {
    let (name, entry) = outcome.own()?;
    let (measures, rows) = match (&entry.metrics.test, &entry.metrics.validation) {
        (Some(test), _) => (test, Measured::Test),
        (None, validation) => (validation.as_ref()?, Measured::Validation),
    };
    // The table above has the error that methods are compared by.
    let is_new = |one: &Reading| one.name.replace('-', "_") != outcome.metric;
    let said = readings(measures).into_iter().filter(is_new);
    let said: Vec<String> = said.map(|one| format!("{} {}", one.name, one.value)).collect();
    Some(format!("{name}: {} ({rows} rows)", said.join(", ")))
}
