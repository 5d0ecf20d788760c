"""The page of an answer of orrery advise: the fastest plans with their intervals, and questions that change them."""

import json
from pathlib import Path

import charts
import checked_json
import intervals
import page
import plain_text
import setting_words
import svg
import units
from checked_json import count, text

_ADVICE = {"name": text, "cluster": text, "ranks": count, "answers": [{}]}
REASONS = 12  # refused plans that are shown at once


class Advice:
    """The advice.json of a folder that orrery advise --out wrote."""

    def __init__(self, folder):
        file = Path(folder) / "advice.json"
        try:
            self.told = plain_text.in_one_line(checked_json.read(file, _ADVICE))
        except checked_json.ResultError as error:
            raise checked_json.ResultError(f"{error}; it is no answer of orrery advise") from error
        self.answers, self.name = self.told["answers"], self.told["name"]


def is_advice(folder):
    return (Path(folder) / "advice.json").exists()


def question(answer):
    return answer["what_if"] or answer["setting"] or "as it is"


def short(plan):
    """"shared_preloading, depth 2" for "strategy.type=shared_preloading, strategy.depth=2"."""
    return setting_words.short(setting_words.pairs(plan))


def ends(plan):
    """The interval, or the time of a plan without one."""
    interval = plan["interval"]
    return ((interval["low_seconds"], interval["high_seconds"]) if interval
            else (plan["epoch_seconds"], plan["epoch_seconds"]))


_VERDICTS = {"as_fast": "as fast: ", "cannot_tell": "cannot tell: "}


def beside(plan, first):
    """What a plan takes more than the first, and what can be said of that: "cannot tell: +3 %"."""
    both = [p["measured_seconds"] for p in (plan, first)]
    seconds, least = both if None not in both else (plan["epoch_seconds"], first["epoch_seconds"])
    return _VERDICTS.get(plan["verdict"], "") + units.signed_percent(seconds / least - 1, 0)


def measured(plan):
    return units.seconds(plan["measured_seconds"]) if plan["measured_seconds"] is not None else "-"


def times(caption, rows):
    """A bar for each plan, from its interval's lower to its upper end with a mark at its time, and one at what was
    measured. rows: (name, plan)."""
    whole = max(max(ends(plan)[1], plan["measured_seconds"] or 0) for _, plan in rows)
    ran = any(plan["measured_seconds"] is not None for _, plan in rows)
    ticks = svg.nice_steps(whole, 4)
    drawn = []
    for name, plan in rows:
        low, high = (end / whole for end in ends(plan))
        at = plan["epoch_seconds"] / whole
        hint = f"{name}: {intervals.beside(plan)}"
        marks = charts.grid(ticks, whole)
        marks.append(svg.across(low, max(high - low, 0.004), 6, charts.ROW - 12, "memory", hint))
        marks.append(svg.across(max(at - 0.002, 0), 0.004, 2, charts.ROW - 4, "series-0", hint))
        if plan["measured_seconds"] is not None:
            at = plan["measured_seconds"] / whole
            marks.append(svg.across(max(at - 0.002, 0), 0.004, 2, charts.ROW - 4, "series-1",
                                    f"{name}: measured {measured(plan)}"))
        drawn.append(charts.row(name, charts.track(marks), intervals.beside(plan)))
    drawn.append(charts.row("", charts.axis(ticks, whole, units.seconds)))
    return page.figure(caption, charts.legend([("series-0", "simulated"), ("memory", "90 % interval"),
                                               *([("series-1", "measured")] if ran else [])]),
                       charts.described(caption, "\n".join(drawn)))


def plans_table(caption, plans):
    rows = []
    ran = any(plan["measured_seconds"] is not None for plan in plans)
    for plan in plans:
        limit, more = plan["limited_by"], plan["difference"]
        room = plan["device_bytes"]
        memory = units.bytes_(plan["peak_bytes"])
        usd = plan["usd_per_epoch"]
        if plan["not_measured"]:
            more = "; ".join(filter(None, [more, f"could not be measured: {plan['not_measured']}"]))
        rows.append([short(plan["plan"]), intervals.beside(plan), *([measured(plan)] if ran else []),
                     beside(plan, plans[0]) if plan is not plans[0] else "", f"{memory} of {units.bytes_(room)}" if room else memory,
                     units.bytes_(plan["bytes"]["internal"]), units.bytes_(plan["bytes"]["external"]),
                     f"${usd:.3g}" if usd is not None else "-", limit["sentence"] if limit else "-", more or "-"])
    header = ["plan", "simulated" if ran else "epoch", *(["measured"] if ran else []), "slower", "device memory",
              "inside servers", "between servers", "price of an epoch", "limited by", "what else is to say"]
    return page.table(caption, header, rows, words={len(header) - 2, len(header) - 1})


def measuring(answer):
    """What ran for real; nothing where nobody asked."""
    told = answer["measuring"]
    if not told:
        return None
    if told["plans"] == 0:
        return page.paragraph("Nothing was measured: each other plan is slower by its replay.")
    far = told["plans"] - told["in_all_turns"]
    fewer = f" ({far} of them, a quarter behind after the first turns, ran no more)" if far else ""
    return page.paragraph(
        f"Measured on this machine: {told['plans']} plans, {told['turns']} runs of {told['epochs']} epochs each, "
        f"compared turn by turn{fewer}. The order of these is the measured one, that of the plans below is simulated."
        + (f" Note: {told['other_work']}." if told["other_work"] else ""))


def answer_section(answer, folded):
    plans = answer["best"]
    exact, others = ([p for p in plans if not p["difference"]], [p for p in plans if p["difference"]])
    content = []
    if answer["failed"]:
        content.append(page.warning("no answer", answer["failed"]))
    if plans:
        content.append(times("Epochs of the fastest plans", [(short(p["plan"]), p) for p in plans]))
    if exact:
        content.append(plans_table("Plans that learn what whole-graph training learns", exact))
    if others:
        content.append(plans_table("Plans that learn something else", others))
    content.append(measuring(answer))
    content.append(page.paragraph(
        f"{answer['plans']} plans were looked at: closed forms ruled out {answer['ruled_out_by_counts']}, "
        f"{answer['ruled_out']} compute for longer than the fastest take, {answer['replayed']} were replayed, "
        f"{len(answer['refused'])} cannot be carried out, {answer['not_tried']} were not tried."))
    if answer["refused"]:
        rows = [[short(one["plan"]), one["reason"]] for one in answer["refused"][:REASONS]]
        content.append(page.folded("Plans that cannot be carried out",
                                   page.table("Why", ["plan", "reason"], rows, words={1})))
    return page.section(question(answer).capitalize() if not answer["setting"] else question(answer), *content,
                        folded=folded)


def change(answer):
    """Whether the plan that leads as it is leads here too, what it takes here, and what was left out."""
    leads, as_is = answer["best"][0], answer["plan_as_is"]
    if answer["same_plan"] is None:
        words = ""
    elif answer["same_plan"]:
        words = "the same"
    elif not as_is:
        words = "another; that one is not possible"
    else:
        more = units.signed_percent(as_is["epoch_seconds"] / leads["epoch_seconds"] - 1, 0)
        words = f"{_VERDICTS.get(as_is['verdict'], '')}another; that one takes {more}"
    left = f"{answer['not_tried']} plans were not tried" if answer["not_tried"] else ""
    return "; ".join(filter(None, [words, left])) or "-"


def what_if(answers):
    """How the fastest plan changes with each question."""
    told = [a for a in answers if a["best"] and not a["best"][0]["difference"]]
    if len(told) < 2:
        return None
    best = [(question(a), a["best"][0]) for a in told]
    first = best[0][1]
    rows = [[name, short(plan["plan"]), intervals.beside(plan),
             units.signed_percent(plan["epoch_seconds"] / first["epoch_seconds"] - 1, 0), change(answer)]
            for (name, plan), answer in zip(best, told)]
    return page.section("What if", times("The fastest plan of each question", best), page.table(
        "What would change the order", ["what if", "fastest plan", "epoch", "than as it is", "plan"], rows,
        words={1, 4}))


def content(advice):
    told = advice.told
    return [
        f'<p><span class="how simulated">simulated</span>on {page.escape(told["cluster"])}, {told["ranks"]} ranks. '
        f'{"No time here was" if told["simulated"] else "Only times that a column calls so were"} measured.</p>',
        what_if(advice.answers),
        *[answer_section(answer, folded=i > 0) for i, answer in enumerate(advice.answers)],
    ]


def tell(advice, out, as_json):
    best = [(question(a), a["best"][0]) for a in advice.answers if a["best"]]
    if as_json:
        print(json.dumps({"schema_version": 1, "report": out, "answers": [
            {"question": name, "plan": plan["plan"], "epoch_seconds": plan["epoch_seconds"]}
            for name, plan in best]}))
        return
    for name, plan in best:
        print(f"{name}: {short(plan['plan'])}, {intervals.beside(plan)}")
    print(f"Report: {out}")
