"""Fifty kills at random moments: nothing half-written, nothing lost."""

import unittest

import campaign

KILLS = 50


class Kills(unittest.TestCase):
    def test_lose_nothing_and_leave_nothing_half(self):
        outcomes, broken = campaign.run(KILLS, seed=20261123)

        print(campaign.table(outcomes))
        self.assertEqual(broken, [])
        came_in_time = sum(count for counts in outcomes.values() for outcome, count in counts.items()
                           if outcome != "had ended")
        self.assertGreaterEqual(came_in_time, KILLS // 2, "most were killed before their end")
