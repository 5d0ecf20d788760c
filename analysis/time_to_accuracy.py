"""How long a real run takes to an accuracy: the epochs that it needs, times an epoch measured here or simulated on a
described cluster (simulate_on)."""

import page
import units

OF_THE_BEST = (0.9, 0.95, 0.99, 1)
ROUNDING = 1e-9  # 0.72 is 0.9 of 0.8
SCORES = (("val_accuracy", "validation"), ("test_accuracy", "test"), ("train_accuracy", "training"))


def epochs_to(run, key):
    """[(share of the best, accuracy, epochs)]: the first epoch, counted from 1, after which the run has so much."""
    scored = [(epoch["epoch"] + 1, epoch[key]) for epoch in run.epochs if epoch.get(key) is not None]
    best = max((score for _, score in scored), default=0)
    reaches = lambda score, share: score >= share * best * (1 - ROUNDING)
    return [(share, share * best, next(epochs for epochs, score in scored if reaches(score, share)))
            for share in OF_THE_BEST] if best > 0 else []


def section(run):
    """None for simulations, for runs without an evaluation, and for what has no time."""
    if run.result.get("backend") in ("sim", "model") or not run.result.get("epoch_seconds"):
        return None
    told, split = next(((rows, split) for key, split in SCORES if (rows := epochs_to(run, key))), (None, None))
    if not told:
        return None
    each = [("measured here", run.result["epoch_seconds"])]
    each += [(f"simulated on {cluster}", simulated["epoch_seconds"])
             for cluster, simulated in (run.result.get("simulated_on") or {}).items() if simulated.get("epoch_seconds")]
    rows = [[f"{units.percent(accuracy)} ({units.percent(share, 0)} of the best)", str(epochs),
             *(units.seconds(epochs * seconds) for _, seconds in each)] for share, accuracy, epochs in told]
    caption = (f"Epochs until {split} {run.score} first came so far, times the median epoch; without "
               "set-up and evaluations")
    return page.section(f"Time to {run.score}", page.table(
        caption, [run.score, "epochs", *(name for name, _ in each)], rows))
