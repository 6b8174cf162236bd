# SPDX-License-Identifier: Apache-2.0
"""Random names that do not reveal the planted cause."""

import re

VERBS = """arrange assemble build collect combine derive emit finish gather handle make merge prepare process produce
refresh resolve settle sort_out transfer update""".split()
NOUNS = """batch block bundle chunk column entry field frame group item packet panel parcel part record row segment
series slice span table tile unit window""".split()
EXTRAS = "all current main next outer partial plain quick raw safe some".split()
PLACES = "amber birch cedar delta ember fjord grove harbor iris juniper kestrel lagoon maple north".split()
PLACEHOLDER = re.compile(r"<([A-Za-z]+(?:_[A-Za-z0-9]+)*)>")


class Names:
    """Gives each placeholder such as `<fn_helper>` one random name. The prefix selects the kind of name."""

    def __init__(self, rng):
        self.rng, self.used, self.given = rng, set(), {}

    def fresh(self, prefix):
        """A name that this program does not use yet."""
        while True:
            verb, noun = self.rng.choice(VERBS), self.rng.choice(NOUNS)
            extra = self.rng.choice([*EXTRAS, "", "", ""])
            words = [verb, extra, noun] if extra else [verb, noun]
            if prefix == "v":
                words = words[1:] if extra else [self.rng.choice(EXTRAS), noun]
            if prefix == "mod":
                words = [self.rng.choice(PLACES), noun]
            name = "_".join(words)
            if prefix == "C":
                name = name.upper()
            if prefix == "cls":
                name = "".join(word.capitalize() for word in name.split("_"))
            # A name that is part of another one would make a search of texts ambiguous.
            if not any(name in other or other in name for other in self.used):
                self.used.add(name)
                return name

    def __getitem__(self, key):
        if key not in self.given:
            self.given[key] = self.fresh(key.split("_")[0])
        return self.given[key]

    def fill(self, text):
        """`text` with a name or value for each placeholder."""
        return PLACEHOLDER.sub(lambda match: str(self[match[1]]), text)
