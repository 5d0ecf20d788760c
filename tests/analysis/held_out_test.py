"""The ten experiments of configs/advise are held out: `orrery advise` is judged by them (docs/advise.md), so nobody
may fit them to what it says. They were committed in 47fb1117, before any of them was measured, and have not been
edited since. Their SHA-256 stand here; one changed byte fails. Whoever needs another experiment adds a new file
elsewhere: these files, and so these sums, never change.
"""

import hashlib
import unittest

import folders

HELD_OUT = {
    "links-1gbit-hubs.json": "a72dc8a98e83913e30415bc654f78ac4fdf431e7643eccbfa4fcc99e256c99e0",
    "links-200mbit-communities.json": "b1f1b85468b29e7ae961531df18031d336b32b2fa75a0f1f7bf82528d771d65d",
    "links-2gbit-deep.json": "d8b2783f587c63c2d5258b8c0f00dcfcc86216ab261a285911c9ed306e5b16bd",
    "links-500mbit-dense.json": "a18e9ed33cac8994bc7bfced710b3b33d9acbcb8fda6668a0ec81b561ccce5a3",
    "threads-2-communities.json": "d60aacccf41ae02b972f57fc1194d10804efa573f1570aafe61220509baba497",
    "threads-2-deep.json": "7b8504ab4f557dde9e453612dc681f6c553a91d8ec335af3f60750a37328ba47",
    "threads-2-hubs.json": "0a34840d9fc612dbfe7f3a91b886b47bdf8552030fe5b88ce8eab8b5819311d7",
    "threads-2-sage.json": "c38cb7b3fec1e7dd6a477fe55eab8d412d73a70692061f5727899f073854c3f2",
    "threads-2-sparse.json": "7ff7fc74c1959e93127b72e407e3c639394e51b704cb074777c55c1e2531b55f",
    "threads-2-wide-input.json": "126685e4a593705e43d9bc16505b6431f4945092baafd68f93fe96b9e6d6dba6",
}


class HeldOutExperiments(unittest.TestCase):
    def test_are_the_bytes_that_were_put_down_before_any_was_measured(self):
        files = (folders.SOURCES / "configs/advise").iterdir()
        self.assertEqual({file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in files}, HELD_OUT)


if __name__ == "__main__":
    unittest.main()
