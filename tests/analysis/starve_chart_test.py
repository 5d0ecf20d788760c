"""The picture of `orrery starve`: what its bars, marks and words say, and that no two labels overlap."""

import unittest

import colours
import drawing_test
import starve_chart

STAGES = ("sample", "fetch", "load", "train")
BUSY = (0.010, 0.040, 0.0001, 0.020)
WAITED = (0.002, 0.016, 0.0, 0.001)


def fed(busy=BUSY, waited=WAITED, limits="fetch", cache=(None, 0), epoch=0.5, pipeline=(2, 0, 1)):
    """Results with some settings, as the program tells them."""
    batch = busy[3] + sum(waited)
    return {"pipeline": dict(zip(STAGES, pipeline)), "cache": dict(zip(("policy", "bytes"), cache)),
            "epoch_seconds": epoch, "batch_seconds": batch, "limits": limits,
            "waiting_share": sum(waited[:3]) / batch if batch else 0,
            "stages": {name: {"busy_seconds": work, "waited_seconds": wait}
                       for name, work, wait in zip(STAGES, busy, waited)}}


def simulated(**changes):
    told = {"schema_version": 1, "name": "a<b", "ranks": 4, "batches": 12, "measured": False, "now": fed(),
            "forecast": None, "cores": {"busy": 1.26, "needed": 2.51, "there": 16},
            "capacities": [fed(epoch=0.6, pipeline=(0, 0, 0)), fed(epoch=0.45, pipeline=(5, 2, 1))],
            "enough_capacity": 1, "caches": [fed(), fed(cache=("presampled", 3 << 20), epoch=0.3)],
            "enough_cache": 1, "not_replayed": None, "other_work": None}
    return told | changes


def measured(**changes):
    return simulated(measured=True, forecast=fed(busy=(0.011, 0.030, 0.0002, 0.021)),
                     other_work={"note": "it was at work while it was measured: others took 1.2 cores"}) | changes


def not_tried(why):
    return {"forecast": None, "capacities": [], "enough_capacity": None, "caches": [], "enough_cache": None,
            "not_replayed": why}


def picture_of(told):
    return drawing_test.Picture(starve_chart.draw(told))


def bars(picture, *fills):
    """The lengths of the bars with one of these fills from top to bottom; the samples of the legend are no bars."""
    found = [one for one in picture.root.iter(f"{drawing_test.SPACE}rect")
             if one.get("fill") in fills and float(one.get("x")) == starve_chart.LEFT]
    return [float(one.get("width")) for one in sorted(found, key=lambda one: float(one.get("y")))]


class StarveChart(unittest.TestCase):
    def test_HasABarForTheWorkOfEachStageAndOneForItsWaits(self):
        picture = picture_of(simulated())

        self.assertEqual([words for words in picture.words if words in STAGES], list(STAGES))
        work = bars(picture, starve_chart.AT_WORK, starve_chart.LIMIT)
        for length, seconds in zip(work, BUSY, strict=True):
            self.assertAlmostEqual(length / starve_chart.LONGEST, seconds / max(BUSY), places=3)
        waits = bars(picture, "url(#waiting)")
        for length, seconds in zip(waits, [wait for wait in WAITED if wait > 0], strict=True):
            self.assertAlmostEqual(length / starve_chart.LONGEST, seconds / max(BUSY), places=3)

    def test_MarksTheLimitInWordsAndColour(self):
        for limit in STAGES:
            with self.subTest(limit):
                picture = picture_of(simulated(now=fed(limits=limit)))

                red = bars(picture, starve_chart.LIMIT)
                self.assertEqual(len(red), 1)
                work = bars(picture, starve_chart.AT_WORK, starve_chart.LIMIT)
                self.assertEqual(work.index(red[0]), STAGES.index(limit))
                self.assertEqual([words for words in picture.words if words.endswith(": it limits")],
                                 [starve_chart.units.seconds(BUSY[STAGES.index(limit)]) + ": it limits"])
                self.assertTrue(any(words.endswith(f"; {limit} limits") for words in picture.words))

    def test_SaysHowItWasFoundAndHowLongTheTrainerWaits(self):
        words = picture_of(simulated()).words

        self.assertIn("a<b: stages of a batch, simulated", words)
        self.assertIn("a<b: stages of a batch, measured", picture_of(measured()).words)
        self.assertIn("The trainer waits 46.2 % of an epoch for batches; fetch limits", words)
        self.assertIn("4 ranks, 12 batches on each in an epoch of 500 ms", words)
        self.assertIn("1 rank, 1 batch in an epoch of 500 ms", picture_of(simulated(ranks=1, batches=1)).words)
        self.assertIn("trainer waits 16 ms (41.0 %)", words)
        self.assertIn("idle 1 ms (2.6 %)", words)
        self.assertIn("a batch: 39 ms", words)
        self.assertIn("30 ms", words, "a tick of the axis has a unit")
        self.assertIn("2 ahead", words)

    def test_SaysWhatWouldBeEnough(self):
        text = " ".join(picture_of(simulated()).words)

        self.assertIn("keep 1.3 busy; trainers that never wait need 2.5; it has 16.", text)
        self.assertIn("Enough capacities, simulated: sample 5, fetch 2, load 1 ahead. "
                      "An epoch takes 450 ms, with the present settings 500 ms.", text)
        self.assertIn("Enough cache, simulated: presampled, 3 MiB on each rank. "
                      "An epoch takes 300 ms, with the present settings 500 ms.", text)
        self.assertNotIn("forecast", text)
        none = " ".join(picture_of(simulated(enough_cache=0)).words)
        self.assertIn("Enough cache, simulated: none. An epoch takes 500 ms", none)

    def test_EndsNoLineBetweenANumberAndItsUnit(self):
        lines = [starve_chart.wrapped("x" * length + " takes 450 ms and more words") for length in range(60, 90)]

        self.assertEqual([one for one in lines if any(line.endswith("450") for line in one)], [])

    def test_SaysWhyNothingElseWasTried(self):
        text = " ".join(picture_of(simulated(**not_tried("--now excludes it"))).words)

        self.assertIn("Nothing else was tried: --now excludes it.", text)
        self.assertNotIn("Enough", text)

    def test_HasAForecastBesideAMeasurement(self):
        picture = picture_of(measured())

        self.assertIn("forecast 30 ms", picture.words)
        text = " ".join(picture.words)
        self.assertIn("with the forecast of the present settings 500 ms", text)
        self.assertIn("Note: it was at work while it was measured: others took 1.2 cores.", text)
        places = [float(one.get("x1")) for one in picture.root.iter(f"{drawing_test.SPACE}line")
                  if one.get("stroke-width") == "3"]
        self.assertIn(starve_chart.LEFT + starve_chart.LONGEST * 0.75, places)

    def test_LetsNoTwoLabelsOverlapAndNoneLeaveThePicture(self):
        long = "no " + "very" * 60 + " long word is too long " * 9
        for told in (simulated(), measured(), measured(**not_tried(long)), simulated(name="<" * 300),
                     simulated(ranks=1, batches=1, caches=[], cores={"busy": 0.0, "needed": 0.0, "there": None}),
                     simulated(now=fed(busy=(0, 0, 0, 0), waited=(0, 0, 0, 0), limits="train")),
                     simulated(now=fed(busy=(1234.5, 999.4, 1e-9, 4321), waited=(9999, 0, 0, 0))),
                     simulated(now=fed(busy=(0.1, 0, 0, 1e-4), waited=(0, 0, 0, 0), limits="train"))):
            picture = picture_of(told)
            self.assertEqual(drawing_test.overlaps(picture.labels), [])
            for left, top, right, bottom, words in picture.labels:
                self.assertTrue(left >= 0 and top >= 0 and right <= picture.width and bottom <= picture.height, words)

    def test_HasNoWaitingWhereNoneWas(self):
        picture = picture_of(simulated(now=fed(waited=(0, 0, 0, 0), limits="train")))

        self.assertEqual(bars(picture, "url(#waiting)"), [])
        self.assertIn("trainer waits 0 s (0.0 %)", picture.words)

    def test_HasColoursThatStandOut(self):
        for colour in (starve_chart.AT_WORK, starve_chart.LIMIT, starve_chart.WAITING):
            self.assertGreaterEqual(colours.contrast(colour, colours.PAPER), 3.0)


if __name__ == "__main__":
    unittest.main()
