// How models are looked after: what drifts, what is trained, what the gate decides, and what goes wrong on the way.

import type { DashboardFacts } from "./frame.ts";
import { figure, graph, here } from "./panel.ts";
import { quantiles } from "./quantiles.ts";

const decided = (kinds: string, over: string) =>
  `sum(increase(forecastnet_model_decisions_total{${here},kind=~"${kinds}"}[${over}]))`;

export const retraining: DashboardFacts = {
  name: "retraining",
  title: "retraining",
  description: "Which models are stale, what is trained, what the gate decides, and what fails.",
  rows: {
    "At a glance": [
      figure({
        title: "Models serving",
        description: "Series that are forecast by a model of their own or of their cohort.",
        unit: "short",
        queries: { models: `sum(forecastnet_models{${here}})` },
      }),
      figure({
        title: "Promoted in a day",
        description: "Models that took over within 24 hours; many after a start, a few in ordinary life.",
        unit: "short",
        queries: { promoted: decided("promoted", "1d") },
        base: "blue",
      }),
      figure({
        title: "Challengers that won",
        description:
          "Share of the trained challengers of a day that the gate let through; low when models are already good.",
        unit: "percentunit",
        queries: { share: `${decided("promoted", "1d")} / ${decided("promoted|refused|retired", "1d")}` },
        base: "blue",
      }),
      figure({
        title: "Rolled back in a day",
        description:
          "Promoted models that did worse than what they had replaced; none is normal, a few among many promotions too.",
        unit: "short",
        queries: { "rolled back": decided("rolled-back", "1d") },
        colours: [[1, "orange"]],
      }),
      figure({
        title: "Trainings failed in a day",
        description: "Trainings that ended without a model; none is normal.",
        unit: "short",
        queries: { failed: `sum(increase(forecastnet_trainings_total{${here},outcome="failed"}[1d]))` },
        colours: [[1, "orange"]],
      }),
      figure({
        title: "Retraining itself failed",
        description:
          "Times in a day that looking after models went wrong; none is normal, the log has the reason.",
        unit: "short",
        queries: { failures: `sum(increase(forecastnet_retraining_failures_total{${here}}[1d]))` },
        colours: [[1, "red"]],
      }),
    ],
    Models: [
      graph({
        title: "Series by phase",
        description:
          "Where series stand: cold without a model, training, champion with one, drifting with a stale one.",
        unit: "short",
        isStacked: true,
        queries: { "{{phase}}": `sum by (phase) (forecastnet_series_by_phase{${here}})` },
      }),
      graph({
        title: "Models that drift",
        description:
          "Share of the models that are stale; above a quarter the data has changed for many, or trainings do not keep up.",
        unit: "percentunit",
        warnAt: 0.25,
        queries: {
          "{{job}}": `sum by (job) (forecastnet_series_by_phase{${here},phase="drifting"}) / sum by (job) (forecastnet_series_by_phase{${here},phase=~"drifting|champion"})`,
        },
      }),
      graph({
        title: "Decisions in an hour",
        description:
          "What was decided about models; many refused means that the gate finds nothing better than what serves.",
        unit: "short",
        isStacked: true,
        queries: {
          "{{kind}}": `sum by (kind) (increase(forecastnet_model_decisions_total{${here}}[1h]))`,
        },
      }),
    ],
    Trainings: [
      graph({
        title: "Trainings in an hour",
        description: "Trainings that ended, by outcome; cancelled ones belong to a stop or a rebalance.",
        unit: "short",
        isStacked: true,
        queries: { "{{outcome}}": `sum by (outcome) (increase(forecastnet_trainings_total{${here}}[1h]))` },
      }),
      graph({
        title: "Duration",
        description: "From the start of a training to its end; seconds to minutes, by history and effort.",
        unit: "s",
        queries: quantiles("forecastnet_training_duration_seconds", [0.5, 0.9]),
      }),
      graph({
        title: "Queue",
        description:
          "Trainings under way and waiting, of workers and trainers; waiting should come back to zero between two turns.",
        unit: "short",
        queries: {
          "{{job}} under way": `sum by (job) (forecastnet_trainings_in_flight{${here}})`,
          "{{job}} waiting": `sum by (job) (forecastnet_trainings_waiting{${here}})`,
          "{{job}} nets waiting for a thread": `sum by (job) (forecastnet_engine_waiting_fits{${here}})`,
        },
      }),
      graph({
        title: "Looked at and wished for",
        description:
          "Series looked at on schedule in an hour, and trainings found to be needed; wishes far above trainings mean that the budget is too small.",
        unit: "short",
        queries: {
          "looked at": `sum(increase(forecastnet_series_evaluated_total{${here}}[1h]))`,
          wishes: `sum(increase(forecastnet_training_wishes_total{${here}}[1h]))`,
        },
      }),
      graph({
        title: "Models that cannot serve",
        description:
          "Model records refused, and windows whose model failed, in an hour; none is normal, those series are forecast cold.",
        unit: "short",
        queries: {
          "refused: {{reason}}": `sum by (reason) (increase(forecastnet_models_refused_total{${here}}[1h])) > 0`,
          "failed: {{reason}}": `sum by (reason) (increase(forecastnet_model_fallbacks_total{${here}}[1h])) > 0`,
          "message: {{reason}}": `sum by (reason) (increase(forecastnet_model_messages_refused_total{${here}}[1h])) > 0`,
        },
      }),
      graph({
        title: "Failures",
        description: "Times in an hour that retraining itself went wrong, by worker; none is normal.",
        unit: "short",
        warnAt: 3,
        queries: {
          "{{pod}} {{instance}}": `sum by (pod, instance) (increase(forecastnet_retraining_failures_total{${here}}[1h]))`,
        },
      }),
    ],
  },
};
