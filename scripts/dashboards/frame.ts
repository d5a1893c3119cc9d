// The frame of every dashboard: variables, links to the others, annotations for promotions and rollbacks, and the order of
// rows and panels. The uids never change, so that a new version replaces the old one.

import {
  AnnotationQueryBuilder,
  type Dashboard,
  DashboardBuilder,
  DashboardCursorSync,
  DashboardLinkBuilder,
  DashboardLinkType,
  DatasourceVariableBuilder,
  QueryVariableBuilder,
  RowBuilder,
  VariableRefresh,
  VariableSort,
} from "@grafana/grafana-foundation-sdk/dashboard";
import { type AnyPanel, datasource, here } from "./panel.ts";

export interface DashboardFacts {
  /** The end of its uid and the name of its file. */
  readonly name: string;
  readonly title: string;
  readonly description: string;
  /** Panels by the title of their row. */
  readonly rows: Readonly<Record<string, readonly AnyPanel[]>>;
}

const tag = "forecastnet";

export function frame({ name, title, description, rows }: DashboardFacts): Dashboard {
  const dashboard = new DashboardBuilder(`forecastnet: ${title}`)
    .uid(`forecastnet-${name}`)
    .description(description)
    .tags([tag])
    .editable()
    .timezone("browser")
    .time({ from: "now-3h", to: "now" })
    .refresh("30s")
    .tooltip(DashboardCursorSync.Crosshair)
    .link(links())
    .variables([dataSources(), choice("job", "", "Job"), choice("instance", 'job=~"$job"', "Process")])
    .annotation(annotation("promoted", "green"))
    .annotation(annotation("rolled-back", "orange"));
  let id = 1;
  for (const [row, panels] of Object.entries(rows)) {
    dashboard.withRow(new RowBuilder(row).id(id++));
    for (const panel of panels) {
      panel.id(id++);
      dashboard.withPanel(panel);
    }
  }
  return withControlsInSight(dashboard.build());
}

/** The SDK would put links and annotations into a menu. */
function withControlsInSight(dashboard: Dashboard): Dashboard {
  for (const each of [...(dashboard.links ?? []), ...(dashboard.annotations?.list ?? [])]) {
    delete each.placement;
  }
  return dashboard;
}

function links(): DashboardLinkBuilder {
  return new DashboardLinkBuilder("forecastnet")
    .type(DashboardLinkType.Dashboards)
    .tags([tag])
    .includeVars(true)
    .keepTime(true);
}

function dataSources(): DatasourceVariableBuilder {
  return new DatasourceVariableBuilder("datasource").label("Data source").type("prometheus");
}

/** Selects all values by default. */
function choice(label: string, filter: string, title: string): QueryVariableBuilder {
  const selector = filter === "" ? "" : `{${filter}}`;
  return new QueryVariableBuilder(label)
    .label(title)
    .datasource(datasource)
    .query(`label_values(forecastnet_build_info${selector}, ${label})`)
    .refresh(VariableRefresh.OnTimeRangeChanged)
    .sort(VariableSort.AlphabeticalAsc)
    .multi(true)
    .includeAll(true)
    .allValue(".*")
    .current({ selected: true, text: "All", value: "$__all" });
}

function annotation(kind: string, colour: string): AnnotationQueryBuilder {
  return new AnnotationQueryBuilder()
    .name(`models ${kind}`)
    .datasource(datasource)
    .enable(true)
    .iconColor(colour)
    .expr(`sum by (job) (increase(forecastnet_model_decisions_total{${here},kind="${kind}"}[1m])) > 0`)
    .step("60s")
    .titleFormat(`models ${kind}`)
    .textFormat("{{job}}");
}
