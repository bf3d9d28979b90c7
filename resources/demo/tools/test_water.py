"""Run with: python3 -m unittest discover tools"""

import unittest

from water import cans_for


class CansTest(unittest.TestCase):
    def test_a_dry_bed_gets_all_of_its_water(self):
        self.assertEqual(cans_for(4), 5)

    def test_rain_saves_cans(self):
        self.assertEqual(cans_for(4, rain_mm=6), 3)

    def test_after_a_storm_nobody_carries_anything(self):
        self.assertEqual(cans_for(4, rain_mm=30), 0)


if __name__ == "__main__":
    unittest.main()
