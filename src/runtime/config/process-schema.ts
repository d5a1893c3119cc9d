// The settings of a process as those outside see it: its pages, its metrics, its end.

import { filePath, freeText, integer, listOf, oneOf } from "./formats.ts";
import { setting } from "./setting.ts";

export const processSchema = {
  metrics: {
    worstSeries: setting(
      "How many series of a worker are named in a metric, those with the worst rolling MASE; 0 for none.",
      integer(0, 100),
      10,
    ),
    series: setting(
      "Ids or patterns of series whose rolling MASE has a metric of its own, 100 of a worker at most.",
      listOf("comma-separated list of series ids, in which * stands for any characters", freeText, 0),
      [],
    ),
  },
  worker: {
    graceMs: setting("Time to settle and leave after SIGTERM.", integer(1000, 600_000), 25_000),
    host: setting("Address the HTTP server listens on.", freeText, "0.0.0.0"),
    port: setting("Port of the HTTP server; 0 takes any free one.", integer(0, 65_535), 9464),
    tokenFile: setting(
      "File with the token that HTTP requests which change something must bear; without one they are refused.",
      filePath,
      "",
    ),
    logLevel: setting(
      "Least severe level that is logged.",
      oneOf("trace", "debug", "info", "warn", "error", "fatal", "silent"),
      "info",
    ),
  },
};
