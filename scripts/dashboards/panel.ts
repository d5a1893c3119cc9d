// The three kinds of panel of the dashboards, and queries for quantiles. A panel states its query, its unit, from which
// value on it is bad, and what is normal.

import type { Builder } from "@grafana/grafana-foundation-sdk/cog";
import * as common from "@grafana/grafana-foundation-sdk/common";
import {
  type Panel,
  ThresholdsConfigBuilder,
  ThresholdsMode,
} from "@grafana/grafana-foundation-sdk/dashboard";
import { DataqueryBuilder, PromQueryFormat } from "@grafana/grafana-foundation-sdk/prometheus";
import { PanelBuilder as StatBuilder } from "@grafana/grafana-foundation-sdk/stat";
import { PanelBuilder as TableBuilder } from "@grafana/grafana-foundation-sdk/table";
import { PanelBuilder as GraphBuilder } from "@grafana/grafana-foundation-sdk/timeseries";

export const datasource: common.DataSourceRef = { type: "prometheus", uid: "$datasource" };

/** Label matchers of every selector: the variables of the dashboard. */
export const here = 'job=~"$job",instance=~"$instance"';

/** Queries by legend. */
export type Queries = Readonly<Record<string, string>>;

export interface PanelFacts {
  readonly title: string;
  /** For an operator: what the panel shows and what is normal. */
  readonly description: string;
  /** Grafana's name of the unit. */
  readonly unit: string;
  readonly queries: Queries;
  readonly max?: number;
}

export interface GraphFacts extends PanelFacts {
  readonly isStacked?: boolean;
  /** Draws a dashed line at this value. */
  readonly warnAt?: number;
  readonly span?: number;
}

export interface FigureFacts extends PanelFacts {
  /** Values from which on a colour applies; below the first, `base` applies (green by default). */
  readonly colours?: readonly (readonly [value: number, colour: string])[];
  readonly base?: string;
}

/** A panel without its id. */
export type AnyPanel = Builder<Panel> & { id(id: number): unknown };

export function graph(facts: GraphFacts): AnyPanel {
  const { isStacked = false, warnAt, span = 8 } = facts;
  const panel = new GraphBuilder()
    .title(facts.title)
    .description(facts.description)
    .datasource(datasource)
    .unit(facts.unit)
    .min(0)
    .span(span)
    .height(8)
    .lineWidth(1)
    .fillOpacity(isStacked ? 40 : 8)
    .legend(
      new common.VizLegendOptionsBuilder()
        .displayMode(common.LegendDisplayMode.Table)
        .placement(common.LegendPlacement.Bottom)
        .showLegend(true)
        .calcs(["lastNotNull", "max"]),
    )
    .tooltip(
      new common.VizTooltipOptionsBuilder()
        .mode(common.TooltipDisplayMode.Multi)
        .sort(common.SortOrder.Descending),
    );
  if (facts.max !== undefined) panel.max(facts.max);
  if (isStacked)
    panel.stacking(new common.StackingConfigBuilder().mode(common.StackingMode.Normal).group("A"));
  if (warnAt !== undefined) {
    panel
      .thresholds(thresholds("green", [[warnAt, "orange"]]))
      .thresholdsStyle(
        new common.GraphThresholdsStyleConfigBuilder().mode(common.GraphThresholdsStyleMode.Dashed),
      );
  }
  for (const target of targets(facts.queries)) panel.withTarget(target.range());
  return panel;
}

/** One present number, with its recent course in the background. */
export function figure(facts: FigureFacts): AnyPanel {
  const { colours = [], base = "green" } = facts;
  const panel = new StatBuilder()
    .title(facts.title)
    .description(facts.description)
    .datasource(datasource)
    .unit(facts.unit)
    .span(4)
    .height(4)
    .graphMode(common.BigValueGraphMode.Area)
    .reduceOptions(new common.ReduceDataOptionsBuilder().calcs(["lastNotNull"]))
    .thresholds(thresholds(base, colours));
  if (facts.max !== undefined) panel.max(facts.max);
  for (const target of targets(facts.queries)) panel.withTarget(target.range());
  return panel;
}

/** A table of the present values, one row per label set. */
export function list(facts: PanelFacts): AnyPanel {
  const panel = new TableBuilder()
    .title(facts.title)
    .description(facts.description)
    .datasource(datasource)
    .unit(facts.unit)
    .span(8)
    .height(8)
    .withTransformation({ id: "organize", options: { excludeByName: { Time: true } } });
  for (const target of targets(facts.queries)) {
    panel.withTarget(target.instant().format(PromQueryFormat.Table));
  }
  return panel;
}

function targets(queries: Queries): DataqueryBuilder[] {
  return Object.entries(queries).map(([legend, expr], index) =>
    new DataqueryBuilder()
      .refId(String.fromCharCode("A".charCodeAt(0) + index))
      .datasource(datasource)
      .expr(expr)
      .legendFormat(legend),
  );
}

function thresholds(base: string, colours: NonNullable<FigureFacts["colours"]>): ThresholdsConfigBuilder {
  const steps = [{ value: null, color: base }, ...colours.map(([value, color]) => ({ value, color }))];
  return new ThresholdsConfigBuilder().mode(ThresholdsMode.Absolute).steps(steps);
}

/** Quantiles of a histogram over the recent past, by legend. */
export function quantiles(metric: string, levels: readonly number[]): Queries {
  return atLevels(levels, `sum by (le) (rate(${metric}_bucket{${here}}[$__rate_interval]))`);
}

/** Quantiles of a histogram over the present series, which has no rate. */
export function overSeries(metric: string, levels: readonly number[]): Queries {
  return atLevels(levels, `sum by (le) (${metric}_bucket{${here}})`);
}

function atLevels(levels: readonly number[], counts: string): Queries {
  return Object.fromEntries(
    levels.map((level) => [`p${100 * level}`, `histogram_quantile(${level}, ${counts})`]),
  );
}
