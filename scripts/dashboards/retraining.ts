// The retraining dashboard: stale models, trainings, decisions and failures.

import type { DashboardFacts } from "./frame.ts";
import { figure, graph, here, quantiles } from "./panel.ts";

const decided = (kinds: string, over: string) =>
  `sum(increase(forecastnet_model_decisions_total{${here},kind=~"${kinds}"}[${over}]))`;

export const retraining: DashboardFacts = {
  name: "retraining",
  title: "retraining",
  description: "Stale models, trainings, decisions of the gate, and failures.",
  rows: {
    "At a glance": [
      figure({
        title: "Models serving",
        description: "Models that serve series, their own or that of their cohort.",
        unit: "short",
        queries: { models: `sum(forecastnet_models{${here}})` },
      }),
      figure({
        title: "Promoted in 24 hours",
        description: "Models promoted within 24 hours. Normal: many after a first start, a few later.",
        unit: "short",
        queries: { promoted: decided("promoted", "1d") },
        base: "blue",
      }),
      figure({
        title: "Challengers that won",
        description:
          "Share of the challengers of 24 hours that the gate promoted. It is low when models are already good.",
        unit: "percentunit",
        queries: { share: `${decided("promoted", "1d")} / ${decided("promoted|refused|retired", "1d")}` },
        base: "blue",
      }),
      figure({
        title: "Rolled back in 24 hours",
        description:
          "Promoted models that did worse than their predecessors. Normal: none, or a few among many promotions.",
        unit: "short",
        queries: { "rolled back": decided("rolled-back", "1d") },
        colours: [[1, "orange"]],
      }),
      figure({
        title: "Trainings failed in 24 hours",
        description: "Trainings that ended without a model. Normal: none.",
        unit: "short",
        queries: { failed: `sum(increase(forecastnet_trainings_total{${here},outcome="failed"}[1d]))` },
        colours: [[1, "orange"]],
      }),
      figure({
        title: "Retraining itself failed",
        description: "Failures of retraining itself within 24 hours. Normal: none. The log has the reason.",
        unit: "short",
        queries: { failures: `sum(increase(forecastnet_retraining_failures_total{${here}}[1d]))` },
        colours: [[1, "red"]],
      }),
    ],
    Models: [
      graph({
        title: "Series by phase",
        description:
          "Series by phase: cold without a model, training, champion with a model, drifting with a stale model.",
        unit: "short",
        isStacked: true,
        queries: { "{{phase}}": `sum by (phase) (forecastnet_series_by_phase{${here}})` },
      }),
      graph({
        title: "Stale models",
        description:
          "Share of the models that are stale. Above a quarter, the data of many series has changed or trainings do not keep up.",
        unit: "percentunit",
        warnAt: 0.25,
        queries: {
          "{{job}}": `sum by (job) (forecastnet_series_by_phase{${here},phase="drifting"}) / sum by (job) (forecastnet_series_by_phase{${here},phase=~"drifting|champion"})`,
        },
      }),
      graph({
        title: "Decisions per hour",
        description:
          "Decisions about models by kind. Many refused: the gate finds nothing better than the serving models.",
        unit: "short",
        isStacked: true,
        queries: {
          "{{kind}}": `sum by (kind) (increase(forecastnet_model_decisions_total{${here}}[1h]))`,
        },
      }),
    ],
    Trainings: [
      graph({
        title: "Trainings per hour",
        description: "Finished trainings by outcome. Cancelled ones come from a stop or a rebalance.",
        unit: "short",
        isStacked: true,
        queries: { "{{outcome}}": `sum by (outcome) (increase(forecastnet_trainings_total{${here}}[1h]))` },
      }),
      graph({
        title: "Duration of trainings",
        description:
          "Time from the start of a training to its end. Normal: seconds to minutes, depending on history and effort.",
        unit: "s",
        queries: quantiles("forecastnet_training_duration_seconds", [0.5, 0.9]),
      }),
      graph({
        title: "Training queue",
        description:
          "Running and waiting trainings of workers and trainers. Normal: waiting returns to zero between two scheduled evaluations.",
        unit: "short",
        queries: {
          "{{job}} running": `sum by (job) (forecastnet_trainings_in_flight{${here}})`,
          "{{job}} waiting": `sum by (job) (forecastnet_trainings_waiting{${here}})`,
        },
      }),
      graph({
        title: "Processor time of trainings",
        description:
          "CPU seconds of trainings per hour, and what the workers may still spend now (retrain.cpuSecondsPerHour). Below zero, trainings wait for the budget.",
        unit: "s",
        queries: {
          "spent per hour": `sum(increase(forecastnet_training_cpu_seconds_total{${here}}[1h]))`,
          "left, {{pod}} {{instance}}": `min by (pod, instance) (forecastnet_training_budget_seconds{${here}}) < 1e12`,
        },
      }),
      graph({
        title: "Evaluated and needed",
        description:
          "Series evaluated on schedule per hour, and trainings found necessary. If these are far above the trainings, the training budget is too small.",
        unit: "short",
        queries: {
          "series evaluated": `sum(increase(forecastnet_series_evaluated_total{${here}}[1h]))`,
          "trainings needed": `sum(increase(forecastnet_training_wishes_total{${here}}[1h]))`,
        },
      }),
      graph({
        title: "Models that cannot serve",
        description:
          "Refused model records and windows whose model failed, per hour. Normal: none. The cold tier forecasts these series.",
        unit: "short",
        queries: {
          "refused: {{reason}}": `sum by (reason) (increase(forecastnet_models_refused_total{${here}}[1h])) > 0`,
          "failed: {{reason}}": `sum by (reason) (increase(forecastnet_model_fallbacks_total{${here}}[1h])) > 0`,
          "message: {{reason}}": `sum by (reason) (increase(forecastnet_model_messages_refused_total{${here}}[1h])) > 0`,
        },
      }),
      graph({
        title: "Failures of retraining",
        description: "Failures of retraining itself per hour, by worker. Normal: none.",
        unit: "short",
        warnAt: 3,
        queries: {
          "{{pod}} {{instance}}": `sum by (pod, instance) (increase(forecastnet_retraining_failures_total{${here}}[1h]))`,
        },
      }),
    ],
  },
};
