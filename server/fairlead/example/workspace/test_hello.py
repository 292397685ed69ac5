"""Tests for hello.py. Run them with: python3 -m unittest"""

import subprocess
import sys
import unittest


def run(*arguments):
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=True).stdout


class HelloTest(unittest.TestCase):
    def test_importing_it_greets_nobody(self):
        self.assertEqual(run("-c", "import hello"), "")

    def test_it_greets_by_name(self):
        self.assertIn(", Ada!", run("hello.py", "Ada"))
        self.assertIn(", ADA!", run("hello.py", "Ada", "--shout"))


if __name__ == "__main__":
    unittest.main()
