"""Kills at random moments, fifty and one of each further command: nothing half-written, nothing lost."""

import unittest

import campaign

KILLS = 50


class Kills(unittest.TestCase):
    def test_lose_nothing_and_leave_nothing_half(self):
        names = ["mpi", *(s.name for s in campaign.subjects() if not isinstance(s, list))]

        outcomes, broken = campaign.run(KILLS, seed=20261123, only=names)

        print(campaign.table(outcomes))
        self.assertEqual(broken, [])
        came_in_time = sum(count for counts in outcomes.values() for outcome, count in counts.items()
                           if outcome != "had ended")
        # Of moments within a time that was measured beside more work, many come too late.
        self.assertGreaterEqual(came_in_time, KILLS // 3, "enough were killed before their end")

    def test_leave_every_output_old_new_or_absent(self):
        names = [output.name for output in campaign.written_outputs()]

        outcomes, broken = campaign.run(len(names), seed=20261127, only=names)

        print(campaign.table(outcomes))
        self.assertEqual(broken, [])
