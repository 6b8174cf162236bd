# SPDX-License-Identifier: Apache-2.0
"""Keeps secrets of the command line out of the recording."""

from __future__ import annotations

import re

MASK = "***"

_SECRET_WORDS = frozenset(
    "token password passwd pwd passphrase secret credential credentials"
    " apikey accesskey secretkey privatekey authkey".split()
)
_KINDS_OF_KEY = frozenset("api access private secret auth".split())
_URL_PASSWORD = re.compile(r"(://[^/@:\s]*):[^/@\s]*@")


def mask_secrets(arguments: list[str]) -> list[str]:
    """The arguments, with the values of secret-looking flags and passwords in URLs replaced.

    >>> mask_secrets(["train.py", "--api-key", "k", "wandb.token=t", "--tokenizer=spm"])
    ['train.py', '--api-key', '***', 'wandb.token=***', '--tokenizer=spm']
    """
    masked = []
    value_of_secret = False
    for argument in map(str, arguments):
        name, equals, value = argument.partition("=")
        if value_of_secret and not argument.startswith("-"):
            masked.append(MASK)
        elif value and _names_a_secret(name):
            masked.append(name + "=" + MASK)
        else:
            masked.append(_URL_PASSWORD.sub(rf"\1:{MASK}@", argument))
        value_of_secret = not equals and argument.startswith("-") and _names_a_secret(argument)
    return masked


def _names_a_secret(name: str) -> bool:
    spaced = re.sub(r"([a-z])([A-Z])", r"\1 \2", name)
    words = re.findall(r"[a-z]+", spaced.lower())
    return not _SECRET_WORDS.isdisjoint(words) or any(
        kind in _KINDS_OF_KEY and word == "key" for kind, word in zip(words, words[1:])
    )
