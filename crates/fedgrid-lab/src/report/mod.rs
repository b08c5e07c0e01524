//! The page of a run: one HTML file that opens offline, in light and dark, on paper and on a phone.

pub(crate) mod axis;
mod chart;
mod clusters;
mod coefficients;
mod columns;
mod data;
mod evidence;
mod federation;
mod intervals;
mod origins;
mod pivots;
mod privacy;
mod frame;
mod layout;
mod map;
mod figures;
mod matrix;
mod metrics;
mod theory;
mod view;
pub mod live;

use minijinja::{Environment, UndefinedBehavior, Value, context};

use self::map::Map;
use crate::{
    card::NodeView,
    coefficients::Coefficients,
    outcome::{Help, Outcome},
};

const TEMPLATE: &str = include_str!("page.html");
pub(crate) const STYLE: &str = include_str!("page.css");
/// The script: what all of it shares, then the table, maps, cards and charts of nodes.
const SCRIPT: &str = concat!(
    include_str!("script/page.js"),
    include_str!("script/table.js"),
    include_str!("script/map.js"),
    include_str!("script/card.js"),
    include_str!("script/chart.js"),
    include_str!("script/matrix.js")
);

/// A part of the page that stands for itself: its template, and what that shows; none leaves it out.
struct Section {
    template: &'static str,
    values: fn(&Page) -> Option<Value>,
}

/// The part after the comparison.
const METRICS: Section = Section {
    template: include_str!("metrics.html"),
    values: |page| metrics::metrics(page.outcome),
};

/// The parts between the map and how training went, in their order.
const SECTIONS: [Section; 10] = [
    Section {
        template: include_str!("federation.html"),
        values: |page| federation::federation(page.outcome),
    },
    Section {
        template: include_str!("origins.html"),
        values: |page| origins::origins(page.outcome),
    },
    Section {
        template: include_str!("helps.html"),
        values: |page| matrix::helps(page.outcome, page.helps),
    },
    Section {
        template: include_str!("evidence.html"),
        values: |page| evidence::evidence(page.outcome),
    },
    Section {
        template: include_str!("privacy.html"),
        values: |page| privacy::privacy(page.outcome),
    },
    Section {
        template: include_str!("intervals.html"),
        values: |page| intervals::intervals(page.outcome),
    },
    Section { template: include_str!("coefficients.html"), values: coefficients::coefficients },
    Section {
        template: include_str!("variances.html"),
        values: |page| coefficients::variances(page.outcome),
    },
    Section {
        template: include_str!("residuals.html"),
        values: |page| intervals::residuals(page.outcome),
    },
    Section {
        template: include_str!("columns.html"),
        values: |page| columns::columns(page.outcome),
    },
];

/// The part after how training went.
const THEORY: Section =
    Section { template: include_str!("theory.html"), values: |page| theory::theory(page.outcome) };

/// All that the page shows.
#[derive(Debug, Clone)]
pub struct Page<'a> {
    /// The title, such as the name of the experiment.
    pub title: &'a str,
    /// The table that it is made of, such as the name of a file, if it has a name.
    pub source: Option<&'a str>,
    /// When it was made, if that is known.
    pub date: Option<&'a str>,
    /// What was found.
    pub outcome: &'a Outcome,
    /// The cards of the nodes.
    pub cards: &'a [NodeView],
    /// Whether these say nothing of the importance of columns because it would take long.
    pub importance_left_out: bool,
    /// The edges: ends (positions in `outcome.nodes`) and weight.
    pub edges: &'a [(usize, usize, f64)],
    /// Where each node is drawn, x to the right and y upwards; none lays the network out.
    pub positions: Option<&'a [(f64, f64)]>,
    /// The complete experiment file.
    pub experiment: &'a str,
    /// Who helps whom, where nodes have probed each other.
    pub helps: &'a [Help],
    /// The coefficients of the nodes, where models have them.
    pub coefficients: &'a Coefficients,
}

impl Page<'_> {
    /// The page as HTML.
    ///
    /// # Panics
    ///
    /// If the template asks for what [`Page`] does not give it; the tests render every part.
    #[must_use]
    pub fn render(&self) -> String {
        self.render_with(&self.data())
    }

    /// What the script of the page knows of the nodes, their cards among it: for whoever keeps it, as a pickled run does.
    #[must_use]
    pub fn data(&self) -> String {
        data::data(self, &self.map())
    }

    fn map(&self) -> Map<'_> {
        Map::new(&self.outcome.nodes, self.edges, self.positions)
    }

    /// The page as HTML with what `data` has given, in the place of what its cards say.
    ///
    /// # Panics
    ///
    /// As `render`.
    #[must_use]
    pub fn render_with(&self, data: &str) -> String {
        let mut environment = Environment::new();
        let syntax =
            environment.syntax().to_builder().trim_blocks(true).lstrip_blocks(true).build();
        environment.set_syntax(syntax.expect("the usual syntax"));
        // A key that the template misspells fails the tests instead of leaving a gap on the page.
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        // The name's ending turns escaping on.
        let render = |template: &str, values: Value| {
            environment
                .render_named_str("page.html", template, values)
                .expect("a template asks only for what it is given")
        };
        let part = |section: &Section| Some(render(section.template, (section.values)(self)?));
        let [metrics, theory] =
            [&METRICS, &THEORY].map(|section| part(section).unwrap_or_default());
        let sections = SECTIONS.iter().filter_map(part).collect();
        render(TEMPLATE, self.values(data, (metrics, theory), sections))
    }

    fn values(
        &self,
        data: &str,
        (metrics, theory): (String, String),
        sections: Vec<String>,
    ) -> Value {
        let outcome = self.outcome;
        let map = self.map();
        let (metric, measured) = (view::metric(outcome), view::rows_measured(outcome));
        context! {
            title => self.title,
            made => self.made(),
            data,
            style => STYLE,
            script => SCRIPT,
            verdict => &outcome.verdict,
            warnings => &outcome.warnings,
            judged => outcome.gain.is_some(),
            label => view::label(outcome),
            figures => view::key_figures(outcome),
            comparison => view::comparison(outcome),
            comparison_chart => figures::comparison(outcome, &format!("{measured} {metric}")),
            metric, measured, metrics, theory,
            who => view::who(outcome),
            strength => view::strength(outcome),
            gains => view::gains(outcome),
            gain_chart => figures::gains(outcome),
            maps => view::maps(outcome, self.edges, &map),
            clusters => clusters::clusters(outcome),
            candidates => view::candidates(outcome),
            sections,
            training => view::training(outcome),
            convergence_charts => [figures::residuals(outcome), figures::objective(outcome)]
                .into_iter().flatten().collect::<Vec<_>>(),
            path_chart => figures::path(outcome, metric),
            notes => outcome.notes.clone(),
            nodes => view::nodes(outcome),
            experiment => self.experiment,
            seed => outcome.seed,
            version => &outcome.version,
        }
    }

    /// Of what and when it was made.
    fn made(&self) -> Option<String> {
        let source = self.source.map(|source| format!("data: {source}"));
        let parts: Vec<String> =
            source.into_iter().chain(self.date.map(ToString::to_string)).collect();
        (!parts.is_empty()).then(|| parts.join(" · "))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use fedgrid::{
        compare::{
            Bought, Certificate, Contestant, Difference, JointVerdict, Kind, NetworkEvidence,
            PathPoint, RoleMeasures,
        },
        metric::{ClassMeasures, Measures, NumberMeasures, Reliability, ReliabilityBin},
        observe::Round,
        privacy::{Clipped, PrivateKind},
        uncertainty::{CalibrationRows, CovarianceChoice, VarianceSource},
    };

    use super::*;
    use crate::{
        card::{CardParts, neighbours_of},
        coefficients::{CoefficientName, NodeCoefficients},
        outcome::{
            CandidateOutcome, CoefficientOutcome, ColumnOutcome, Comparison, Correlation, Coverage,
            Entry, EvidenceOutcome, FederationOutcome, Gain, JudgedNode, LearnedSummary,
            MethodCandidate, MethodUsed, NetworkSummary, NodeInterval, NodeOutcome, OriginOutcome,
            PrivacyOutcome, ResidualCheck, Shape, Spread, Uncertainty, Variances,
        },
    };

    const EDGES: [(usize, usize, f64); 2] = [(0, 1, 1.0), (1, 2, 0.5)];

    fn entry(validation: f64, test: Option<f64>) -> Entry {
        let alpha = Some(0.1);
        let own = |mse: f64| {
            let (rmse, mae, r2) = (mse.sqrt(), 0.8 * mse.sqrt(), Some(0.75));
            Measures::Numbers(NumberMeasures { rows: 15, mse, rmse, mae, r2, deviance: None })
        };
        let metrics = RoleMeasures { test: test.map(own), validation: Some(own(validation)) };
        Entry { validation, test, accuracy: None, metrics, alpha, ridge: None, spread: None }
    }

    fn node(name: &str, local: f64, network: f64) -> NodeOutcome {
        NodeOutcome {
            name: name.into(),
            label: None,
            model: "linear".into(),
            rows: 12,
            scored_rows: 5,
            neighbours: 2,
            local: Some(local),
            network: Some(network),
            gain: Some(local - network),
            cluster: 0,
            note: None,
            interval: Some(NodeInterval {
                basis: "6 own rows and 12 of its neighbours".into(),
                width: Some(3.0),
                covered: Some(0.8),
                residual: Some(network - 2.0),
                residual_error: Some(0.3),
            }),
        }
    }

    fn coefficient() -> CoefficientName {
        CoefficientName { class: None, coefficient: "slope <x>".into() }
    }

    /// One coefficient of each of three nodes.
    pub(super) fn coefficients() -> Coefficients {
        let own = |node: usize| NodeCoefficients {
            node,
            values: vec![1.5 * node as f64],
            errors: vec![(node > 0).then_some(0.2)],
        };
        Coefficients { names: vec![coefficient()], nodes: (0..3).map(own).collect() }
    }

    fn uncertainty() -> Uncertainty {
        Uncertainty {
            level: 0.9,
            calibration: CalibrationRows::Validation,
            has_posterior: true,
            coverage: Some(Coverage {
                rows: 15,
                nodes: 3,
                covered: 0.8666,
                worst_tenth: 0.8,
                nodes_below: 1,
                below: 0.8,
                mean_width: Some(3.0),
            }),
            residuals: Some(ResidualCheck {
                rows: 18,
                mean: 0.1,
                deviation: 1.2,
                quantiles: (0..18).map(|k| 0.2 * f64::from(k) - 1.7).collect(),
            }),
        }
    }

    fn variances() -> Variances {
        let one = CoefficientOutcome {
            name: coefficient(),
            mean: 1.5,
            standard_error: Some(0.4),
            variance: Some(0.25),
            source: VarianceSource::Given,
            deviation: 0.515,
            effect: 0.77,
        };
        let between = ["slope <x>", "intercept"].map(String::from);
        Variances {
            coefficients: vec![one],
            correlations: vec![Correlation { between, value: -0.31 }],
            noise: Some(4.0),
            rho: 0.5,
            deviance: 123.0,
            covariances: Some(covariances()),
        }
    }

    fn covariances() -> CovarianceChoice {
        CovarianceChoice { without: 130.0, with: 121.0, covariances: 1, price: 2.0, taken: true }
    }

    fn evidence() -> EvidenceOutcome {
        let numbers = NetworkEvidence {
            without: 130.0,
            with: 118.0,
            rho: 0.5,
            ratio: 12.0,
            shuffled: vec![0.0, 1.5],
            shuffles_asked: 2,
            is_first_look: false,
            p_value: Some(0.333),
            covariances: Some(covariances()),
        };
        EvidenceOutcome { sentence: "Likelier with the network.".into(), numbers }
    }

    fn privacy() -> PrivacyOutcome {
        PrivacyOutcome {
            sentence: "Labels are <private>.".into(),
            kind: PrivateKind::Labels,
            epsilon: 4.4,
            delta: 1e-5,
            mu: 1.04,
            right_share: 0.698,
            auc: 0.769,
            noise: 57.5,
            bought: Bought {
                rows: 24,
                clipped: Clipped { labels: 2, features: 0 },
                deviation: 1.9,
                alone: Some(30.0),
                with_twins: Some(15.0),
                without_noise: Some(6.25),
            },
        }
    }

    fn method() -> MethodUsed {
        MethodUsed {
            kind: "fedrelax".into(),
            candidates: [("fedrelax", 2.0, true), ("gtv", 2.2, false)]
                .map(|(kind, validation, chosen)| MethodCandidate {
                    kind: kind.into(),
                    validation: Some(validation),
                    chosen,
                })
                .to_vec(),
            penalty: None,
            alpha: 0.1,
            ridge: None,
            coupling: Some("one-sided".into()),
            couple_intercept: true,
            hub: 0.0,
            weighting: "nodes".into(),
            solver: "rounds".into(),
            engine: "rounds of messages".into(),
            public: "50 normal draws".into(),
        }
    }

    fn certificate() -> Certificate {
        Certificate { kind: "residual".into(), value: 1e-7, converged: true, reason: None }
    }

    fn help(learner: usize, helper: usize, reward: f64) -> Help {
        Help { learner, helper, reward, confidence: 0.95, kept: reward > 0.0 }
    }

    fn network() -> NetworkSummary {
        NetworkSummary {
            nodes: 3,
            edges: 2,
            components: 1,
            isolated: 0,
            mean_neighbours: 4.0 / 3.0,
            kind: Some("learned".into()),
            learned: Some(LearnedSummary { pairs_probed: 3, share: 1.0, probes: 120, edges: 2 }),
            candidates: [("coordinates", 3.5, false), ("learned", 2.0, true)]
                .map(|(name, validation, chosen)| CandidateOutcome {
                    name: name.into(),
                    edges: 2,
                    validation,
                    chosen,
                })
                .to_vec(),
        }
    }

    fn gain() -> Gain {
        Gain {
            better: 2,
            worse: 1,
            rival: Contestant::Shrunk,
            difference: 1.0,
            standard_error: Some(0.1),
            shape: Some(Shape { difference: 0.8, standard_error: Some(0.2) }),
        }
    }

    fn origin((error, from): (f64, &str)) -> OriginOutcome {
        OriginOutcome {
            validation_from: "2024-04-24".into(),
            test_from: from.into(),
            until: "2024-05-14".into(),
            train_rows: 1_200,
            validation_rows: 300,
            test_rows: 300,
            comparison: Comparison {
                network: Some(entry(2.0, Some(error))),
                ..Comparison::default()
            },
        }
    }

    fn column() -> ColumnOutcome {
        ColumnOutcome {
            name: "promo".into(),
            treatment: "category: none, tv".into(),
            features: vec!["promo=none".into(), "promo=tv".into()],
        }
    }

    /// What sites have found together, with a name that must not become markup.
    fn judged() -> FederationOutcome {
        let gain = Difference { gain: 1.25, standard_error: 0.35, degrees: 9.0, error: 4.5 };
        let all = [Contestant::Local, Contestant::Pooled, Contestant::Shrunk, Contestant::Network];
        let errors = all.into_iter().chain([Contestant::Shuffled(0)]);
        FederationOutcome {
            unjudged: vec!["A <mixed> model was not tried.".into()],
            verdict: "On 30 test rows of all sites: your network helps.".into(),
            joint: JointVerdict {
                verdict: None,
                errors: errors.zip([4.5, 5.5, 3.75, 3.25, 3.5]).collect(),
                gains: all[..3].iter().map(|other| (*other, gain)).collect(),
                rows: 30.0,
                judged: 3,
                without_rows: 0,
                few_rows: 0,
                not_finite: 0,
            },
            shrunk_pull: Some(1.0),
            nodes: vec![JudgedNode {
                name: "<own>".into(),
                rows: 12,
                local: Some(4.125),
                mean: Some(5.0),
                shrunk: Some(3.5),
                network: Some(3.0),
                shuffled: Some(3.25),
            }],
        }
    }

    /// Three nodes with all that a run can find.
    #[expect(clippy::too_many_lines, reason = "it has a line for each thing that a run can find")]
    pub(super) fn complete() -> Outcome {
        let spread = Some(Spread { repeats: 5, min: 2.6, max: 3.4, deviation: 0.2 });
        let tried = |alpha, validation| PathPoint { alpha, ridge: None, validation };
        let round = |round: usize| Round {
            round,
            objective: 5.0 / round as f64,
            loss: 1.0,
            gtv: 1.0,
            residual: 0.1 / round as f64,
            gap: None,
            bytes: 10,
            validation: None,
        };
        Outcome {
            verdict: "The network helps.".into(),
            verdict_kind: Some(Kind::Network),
            helps: true,
            metric: "mse".into(),
            classes: Vec::new(),
            advised: None,
            at_site: None,
            federation: Some(judged()),
            comparison: Comparison {
                local: Some(entry(4.0, Some(4.2))),
                pooled: Some(entry(5.0, Some(5.5))),
                shrunk: Some(entry(3.0, Some(3.1))),
                mixed: Some(entry(3.0, Some(3.2))),
                network: Some(entry(2.0, Some(2.1))),
                members: BTreeMap::from([("gtv".into(), entry(2.2, Some(2.0)))]),
                shuffled: Some(Entry { spread, ..entry(3.0, Some(2.9)) }),
                baselines: BTreeMap::from([("ditto".into(), entry(6.2, Some(6.4)))]),
            },
            nodes: vec![node("a", 4.0, 2.0), node("b", 4.0, 3.0), node("c", 1.0, 1.5)],
            gain: Some(gain()),
            warnings: vec!["The run did not converge: residual 0.1.".into()],
            method: method(),
            certificate: certificate(),
            rounds: 3,
            bytes: 3_000,
            bytes_per_round: 1_000,
            notes: vec!["Means are shared.".into()],
            network: network(),
            path: BTreeMap::from([
                ("network".into(), vec![tried(0.1, 2.0), tried(1.0, 2.5)]),
                ("shuffled 1".into(), vec![tried(0.1, 3.0), tried(1.0, 3.5)]),
            ]),
            clusters: None,
            theory: None,
            uncertainty: Some(uncertainty()),
            variances: Some(variances()),
            evidence: Some(evidence()),
            privacy: Some(privacy()),
            origins: [(2.0, "2024-05-01"), (3.0, "2024-05-08")].map(origin).to_vec(),
            columns: vec![column()],
            residuals: vec![0.1, 0.05, 0.03],
            steps: Vec::new(),
            history: (1..=3).map(round).collect(),
            seconds: 0.5,
            seed: 7,
            updates: Vec::new(),
            version: "0.1.0".into(),
        }
    }

    pub(super) fn page(outcome: &Outcome) -> String {
        let title = "three nodes";
        let helps = [help(0, 1, 0.4), help(1, 0, 0.3), help(2, 0, -2.0)];
        let (edges, positions, experiment) = (&EDGES, None, "seed = 7");
        let (helps, coefficients) = (&helps, &coefficients());
        let cards = &cards(outcome, coefficients);
        let (source, date) = (Some("rows.csv"), Some("2026-01-31"));
        Page {
            title,
            source,
            date,
            outcome,
            cards,
            importance_left_out: false,
            edges,
            positions,
            experiment,
            helps,
            coefficients,
        }
        .render()
    }

    fn cards(outcome: &Outcome, coefficients: &Coefficients) -> Vec<NodeView> {
        let neighbours = neighbours_of(3, &EDGES);
        let neighbours = if outcome.nodes.len() == 3 { neighbours } else { Vec::new() };
        let parts = CardParts {
            outcome,
            cards: &[],
            coefficients,
            pooled: vec![Some(vec![0.75]); 3],
            models: Vec::new(),
            about: None,
            neighbours,
            rows: None,
        };
        parts.all()
    }

    #[test]
    fn a_complete_run_has_every_part() {
        let html = page(&complete());
        for part in [
            "The network helps",
            "mean squared error",
            "<th scope=\"col\" class=\"num\">RMSE</th>",
            "1.45",
            "2.60 to 3.40",
            "Error below shrunk",
            "gain of each node",
            "By cluster",
            "computed layout",
            "Who helps whom",
            "Helps most others: ",
            "nearest by coordinates",
            "86.7 %",
            "1 of 3 nodes",
            "slope &lt;x&gt; differs most from node to node",
            "3.00 ± 0.200",
            "slope &lt;x&gt; and intercept −0.310",
            "0.250 (given)",
            "121.0 with 1 covariance as well; these are taken",
            "Likelier with the network.",
            "Labels are &lt;private&gt;.",
            "without noise",
            "Did the network help all sites?",
            "A &lt;mixed&gt; model was not tried.",
            "one model, the mean of all sites",
            "1.25 ± 0.350",
            "&lt;own&gt;",
            "Origin by origin",
            "2024-05-08",
            "2.50</td>",
            "promo=none, promo=tv",
            "along the network, ρ = 0.500",
            "0 to 1.50",
            "standard deviation 2.00",
            "the model expects 0 and 1",
            "mean residual of each node",
            "residual (log scale)",
            "Strength of the pull",
            "Means are shared.",
            "by fedrelax, chosen: pulled to its neighbours",
            "not chosen: weights like its neighbours",
            "fedrelax, chosen of fedrelax, gtv",
            "seed = 7",
            "fedgrid 0.1.0 · seed 7",
            "data: rows.csv · 2026-01-31",
            r#""coefficients":["slope \u003cx>"]"#,
        ] {
            assert!(html.contains(part), "{part}");
        }
    }

    #[test]
    fn classes_have_a_table_of_which_is_taken_for_which_and_a_chart_of_probabilities() {
        let bin = |from: f64, predicted, observed| ReliabilityBin {
            from,
            to: from + 0.1,
            weight: 12.0,
            predicted,
            observed,
        };
        let bins = vec![bin(0.2, 0.25, 0.3), bin(0.7, 0.75, 0.8)];
        let own = ClassMeasures {
            rows: 24,
            log_loss: 0.412,
            accuracy: 0.875,
            balanced_accuracy: 0.861,
            auc: Some(0.934),
            confusion: vec![vec![1_011.0, 2.0], vec![1.0, 10.5]],
            calibration: Some(Reliability { expected_error: 0.05, bins }),
        };
        let mut outcome = complete();
        outcome.classes = vec!["<no>".into(), "yes".into()];
        let network = outcome.comparison.network.as_mut().unwrap();
        network.metrics.test = Some(Measures::Classes(own.clone()));
        for entry in [&mut outcome.comparison.local, &mut outcome.comparison.pooled] {
            entry.as_mut().unwrap().metrics.test = Some(Measures::Classes(own.clone()));
        }
        let html = page(&outcome);
        for part in [
            "Balanced accuracy</th>",
            "87.5 %",
            "0.934",
            "given &lt;no&gt;",
            ">1,011<",
            ">10.5<",
            "99.8 %",
            "the mean distance\n    from it is 0.0500",
            "0.2 to 0.3",
            "share of rows that are &#x27;yes&#x27;",
        ] {
            assert!(html.contains(part), "{part}");
        }
        // Without the names of the classes nothing can be said of them.
        outcome.classes.clear();
        assert!(!page(&outcome).contains("<h3>Which classes are taken for which"));
        assert!(!html.contains("<no>"));
    }

    #[test]
    fn no_name_becomes_markup() {
        let mut outcome = complete();
        outcome.nodes[1].name = "<script>alert(1)</script>\" onload=\"x".into();
        outcome.verdict = "<b>helps</b>".into();
        outcome.notes = vec!["</script><img src=x>".into()];
        let html = page(&outcome);
        assert!(html.contains("&lt;script&gt;alert(1)"));
        assert!(!html.contains("<script>alert") && !html.contains("<img") && !html.contains("<b>"));
        assert!(!html.contains("\" onload=\""));
        // The script, and the data that it reads.
        assert_eq!(html.matches("<script").count(), 2);
        assert!(html.contains(r"\u003cscript>alert(1)\u003c/script>"));
    }

    #[test]
    fn the_page_asks_nothing_of_any_network() {
        let html = page(&complete());
        for address in ["http://", "https://", "src=", "@import", "url("] {
            assert!(!html.contains(address), "{address}");
        }
    }

    #[test]
    fn a_run_without_comparison_reads_well() {
        let mut outcome = complete();
        outcome.verdict_kind = None;
        outcome.comparison =
            Comparison { network: Some(entry(2.0, None)), ..Comparison::default() };
        outcome.gain = None;
        outcome.nodes.iter_mut().for_each(|node| (node.local, node.gain) = (None, None));
        (outcome.path, outcome.residuals, outcome.history, outcome.notes) = Default::default();
        let html = page(&outcome);
        assert!(html.contains("No comparison") && html.contains("Nothing was compared"));
        for absent in ["By gain", "Alone", "Strength of the pull", "The rule", ">Notes<"] {
            assert!(!html.contains(absent), "{absent}");
        }
    }

    #[test]
    fn a_run_without_anything_measured_is_still_a_page() {
        let mut outcome = complete();
        outcome.comparison = Comparison::default();
        outcome.nodes.iter_mut().for_each(|node| {
            (node.local, node.network, node.gain) = (None, None, None);
        });
        assert!(page(&outcome).ends_with("</html>"));
        outcome.nodes.clear();
        assert!(page(&outcome).ends_with("</html>"));
    }

    #[test]
    fn a_node_without_an_interval_is_told_so() {
        let mut outcome = complete();
        let interval = outcome.nodes[1].interval.as_mut().unwrap();
        interval.basis = "too few rows for a 90 % interval: 2 rows allow at most 66 %".into();
        let said =
            "Node &#x27;b&#x27; has no interval: too few rows for a 90 % interval: 2 rows allow";
        assert!(page(&outcome).contains(said));
        (outcome.uncertainty, outcome.variances) = (None, None);
        let html = page(&outcome);
        for absent in ["How sure predictions are", "How much nodes differ", "id=\"residuals\""] {
            assert!(!html.contains(absent), "{absent}");
        }
    }

    #[test]
    fn without_test_rows_validation_errors_are_compared() {
        let mut outcome = complete();
        let comparison = &mut outcome.comparison;
        for entry in [&mut comparison.local, &mut comparison.pooled, &mut comparison.shrunk]
            .into_iter()
            .chain([&mut comparison.mixed, &mut comparison.network, &mut comparison.shuffled])
        {
            entry.as_mut().unwrap().test = None;
        }
        let (members, baselines) = (&mut comparison.members, &mut comparison.baselines);
        members.values_mut().chain(baselines.values_mut()).for_each(|entry| entry.test = None);
        outcome.metric = "log_loss".into();
        let html = page(&outcome);
        assert!(html.contains("validation log-loss, lower is better"));
        assert!(!html.contains(">Test<"));
    }

    #[test]
    fn errors_that_are_not_finite_are_not_drawn() {
        let mut outcome = complete();
        outcome.nodes[0].gain = Some(f64::NAN);
        outcome.nodes[1].network = Some(f64::INFINITY);
        outcome.comparison.pooled = Some(entry(f64::INFINITY, Some(f64::INFINITY)));
        outcome.residuals = vec![f64::NAN, 0.0];
        let html = page(&outcome);
        assert!(!html.contains(">NaN") && !html.contains("\"NaN") && !html.contains("inf%"));
    }

    #[test]
    fn coordinates_are_used_where_they_are_given() {
        let outcome = complete();
        let positions = [(0.0, 0.0), (1.0, 0.0), (1.0, 1.0)];
        let page = |positions| {
            let title = "t";
            let (edges, experiment, helps) = (&EDGES, "", &[][..]);
            let (outcome, coefficients) = (&outcome, &Coefficients::default());
            let (source, date, cards) = (None, None, &[][..]);
            Page {
                title,
                source,
                date,
                outcome,
                cards,
                importance_left_out: false,
                edges,
                positions,
                experiment,
                helps,
                coefficients,
            }
            .render()
        };
        assert!(page(Some(&positions[..])).contains("Positions are the nodes’ coordinates."));
        assert!(page(Some(&positions[..2])).contains("computed layout"));
    }
}
