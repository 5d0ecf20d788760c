"""A measured run beside the simulations of the same operations (simulate_on)."""

import charts
import epoch_parts
import intervals
import page
import units


DISTURBED = "(*)"


def _pairs(run):
    """[(cluster, the result's entry about its simulation)]."""
    return list((run.result.get("simulated_on") or {}).items())


def _row_of_error(told):
    error = told.get("error")
    return "-" if error is None else _marked(units.signed_percent(error), told.get("disturbed"))


def _marked(words, disturbed):
    """With the mark of what was measured beside other programs, as the terminal has it."""
    return f"{words} {DISTURBED}" if disturbed else words


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
    rows, bars, forecasts, disturbances = [], [], [], {}
    for run, name in told:
        measured = run.result["epoch_seconds"]
        name = name and f"{name}, "
        # What is told with a simulation may also be the load while the machine was calibrated.
        here = [run.disturbed, *(one.get("disturbed") for _, one in _pairs(run))]
        disturbances |= dict.fromkeys(filter(None, here))
        measured = _marked(units.seconds(measured), run.disturbed)
        rows.append([f"{name}measured here", measured, "",
                     (run.result.get("limited_by") or {}).get("sentence", "-")])
        bars.append((f"{name}measured", run.result["breakdown"], measured))
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
    note = disturbances and page.paragraph(
        f"{DISTURBED} {'; '.join(disturbances)}. Measured times are then too long, and an error says little "
        "about the simulation: repeat the run on an idle machine.")
    drawn = charts.stacked_bars(bars, present, "parts of the epoch, measured and simulated")
    table = page.table("Measured and simulated epochs", ["how", "epoch", "error", "limited by"], rows,
                       words={3})
    return page.section("Measured and simulated", page.figure(caption, legend, drawn, table), note)
