"""Forecasts of other libraries by the protocol of bench/accuracy/protocol.ts.

Reads one JSON object from standard input: levels, models, and series (name, values, past, origins, horizon, season, freq).
A model is fitted once on the past and then applied at every origin to the values before it, without another fit;
flaircast has no separate fit and is run anew. Writes one JSON line for each series and model: quantiles
[origin][level][step] and CPU seconds, or why it failed.
"""

import json
import resource
import sys
import warnings

import numpy as np

warnings.filterwarnings("ignore")


def cpu_seconds():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def statsforecast_model(name, season):
    from statsforecast.models import MSTL, AutoARIMA, AutoETS, DynamicOptimizedTheta

    if name == "autoarima":
        return AutoARIMA(season_length=season)
    if name == "autoets":
        return AutoETS(season_length=season)
    if name == "theta":
        return DynamicOptimizedTheta(season_length=season)
    seasons = [season, 7 * season] if season in (24, 48, 96) else [season]
    return MSTL(season_length=seasons)


def from_intervals(found, levels):
    """Central intervals have the quantiles at both of their ends."""
    rows = []
    for level in levels:
        width = round(100 * abs(2 * level - 1))
        side = "lo" if level < 0.5 else "hi"
        rows.append(found["mean"] if width == 0 else found[f"{side}-{width}"])
    return [np.asarray(row, dtype=float) for row in rows]


def forecast_statsforecast(name, series, levels):
    values = np.asarray(series["values"], dtype=float)
    start, end = series["past"]
    model = statsforecast_model(name, series["season"])
    model.fit(values[start:end])
    widths = sorted({round(100 * abs(2 * level - 1)) for level in levels} - {0})
    for origin in series["origins"]:
        found = model.forward(y=values[start:origin], h=series["horizon"], level=widths)
        yield from_intervals(found, levels)


def forecast_flair(series, levels):
    from flaircast import forecast

    values = np.asarray(series["values"], dtype=float)
    start, end = series["past"]
    for origin in series["origins"]:
        seen = values[max(0, origin - (end - start)) : origin]
        samples = forecast(seen, series["horizon"], series["freq"], n_samples=200, seed=1)
        yield np.quantile(samples, levels, axis=0)


def main():
    asked = json.load(sys.stdin)
    for series in asked["series"]:
        for name in asked["models"]:
            line = {"series": series["name"], "model": name}
            before = cpu_seconds()
            try:
                if name == "flair":
                    forecasts = list(forecast_flair(series, asked["levels"]))
                else:
                    forecasts = list(forecast_statsforecast(name, series, asked["levels"]))
                line["quantiles"] = [[list(map(float, row)) for row in one] for one in forecasts]
            except Exception as error:  # The other models are still worth comparing with.
                line["failed"] = f"{type(error).__name__}: {error}"
            line["cpuSeconds"] = cpu_seconds() - before
            print(json.dumps(line), flush=True)


main()
