# SPDX-License-Identifier: Apache-2.0
"""Steps of tf.functions under TensorFlow's own profiler, imported: the same ops as recorded. Requirements:
tensorflow_case.py."""

import unittest

from tensorflow_case import setUpModule, tearDownModule
from tensorflow_profile import ProfileCase

__all__ = ["setUpModule", "tearDownModule"]


class Profiles(ProfileCase):
    programs = ("graph", "control_flow", "clusters", "mirrored")

    def test_kernels_have_the_ops_of_the_profiler(self):
        for program in self.programs:
            with self.subTest(program=program):
                self.check_profile(program)


if __name__ == "__main__":
    unittest.main()
