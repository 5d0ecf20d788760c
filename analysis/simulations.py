"""A measured run beside the simulations of the same operations (simulate_on)."""

import charts
import epoch_parts
import intervals
import page
import units


def _pairs(run):
    """[(cluster, the result's entry about its simulation)]."""
    return list((run.result.get("simulated_on") or {}).items())


def _row_of_error(told):
    error = told.get("error")
    return "-" if error is None else units.signed_percent(error)


def _limit(told):
    if told.get("not_simulated"):
        return f"not simulated: {told['not_simulated']}"
    return (told.get("limited_by") or {}).get("sentence", "-")


def section(runs, names=("",)):
    """Measured and simulated epochs, in parts, with the error of the simulation if it is of the same machine. names:
    those of the runs, if there are several."""
    told = [(run, name) for run, name in zip(runs, names) if _pairs(run)]
    if not told:
        return None
    rows, bars, forecasts = [], [], []
    for run, name in told:
        measured = run.result["epoch_seconds"]
        name = name and f"{name}, "
        rows.append([f"{name}measured here", units.seconds(measured), "",
                     (run.result.get("limited_by") or {}).get("sentence", "-")])
        bars.append((f"{name}measured", run.result["breakdown"], units.seconds(measured)))
        for cluster, simulated in _pairs(run):
            own = run.simulation_on(cluster)
            epoch = intervals.beside(simulated | {"interval": own.get("interval")})
            forecasts.append(own)
            rows.append([f"{name}simulated on {cluster}", epoch, _row_of_error(simulated), _limit(simulated)])
            if parts := own.get("breakdown"):
                bars.append((f"{name}on {cluster}", parts, epoch))
    parts = epoch_parts.exposed(told[0][0].result)
    present = epoch_parts.present(parts, [seconds for _, seconds, _ in bars])
    caption = ("Epochs on the slowest rank: measured, and simulated by replaying the same operations "
               "on a described cluster. A simulation of this-machine has an error: how far it is from "
               "what was measured. One of another machine is a forecast.")
    if meaning := intervals.legend(forecasts):
        caption += f" {meaning}."
    legend = charts.legend_of_parts(present, bars)
    drawn = charts.stacked_bars(bars, present, "parts of the epoch, measured and simulated")
    table = page.table("Measured and simulated epochs", ["how", "epoch", "error", "limited by"], rows,
                       words={3})
    return page.section("Measured and simulated", page.figure(caption, legend, drawn, table))
