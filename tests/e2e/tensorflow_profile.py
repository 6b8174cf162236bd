# SPDX-License-Identifier: Apache-2.0
"""Programs under TensorFlow's own profiler on the fake GPU: the same kernels under the same ops as in a
recording.
"""

import collections

import support
from tensorflow_case import (
    DEVICES,
    MORE,
    PROGRAMS,
    TensorFlowCase,
    recorded,
    rig,
    rows,
    start,
)

KERNELS = (
    "SELECT op_name, op_type, instruction, count(*) AS count, sum(self_ns) AS ns FROM activity"
    " WHERE kind = 'kernel' AND op_name IS NOT NULL GROUP BY 1, 2, 3"
)


def profiled(program):
    name, *arguments = PROGRAMS[program]
    return start(
        f"{program}-profile",
        ("profiled.py", "profile", str(rig.HERE / name), *arguments),
        devices=DEVICES.get(program, 1),
        more=tuple(MORE.get(program, {}).items()),
    )


class ProfileCase(TensorFlowCase):
    programs: tuple[str, ...] = ()

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for program in cls.programs:
            recorded(program)
            profiled(program)

    def check_profile(self, program):
        if program in DEVICES:
            self.require_nccl()
        place = self.finished(profiled(program))
        files = list(place.glob("profile/**/*.xplane.pb"))
        self.assertEqual(len(files), 1)
        done = support.run("import", files[0], "-o", "run.db", cwd=place)
        self.assertEqual(done.code, 0, done.stderr)
        counts = [collections.Counter(), collections.Counter()]
        for counter, folder in zip(counts, (self.finished(recorded(program)), place)):
            for row in rows(folder, KERNELS):
                # How many kernels cuDNN tries for a convolution is chance.
                tried = "Conv2D" in (row["op_type"] or "")
                count = 1 if tried else row["count"]
                counter[row["op_name"], row["op_type"], row["instruction"]] += count
        own, imported = counts
        self.assertGreater(sum(own.values()), 100)
        self.assertEqual(own - imported, collections.Counter(), "not in the profile")
        self.assertEqual(imported - own, collections.Counter(), "only in the profile")
