# SPDX-License-Identifier: Apache-2.0
"""The pytest plugin: fixture `xlatrace`, and the options that write baselines.

Tests that do not use it are not touched: JAX is imported, caches are cleared and functions are
wrapped only for a test that has the fixture or `@xlatrace.limits`.
"""

from __future__ import annotations

from typing import Any, Iterator

import pytest  # type: ignore[import-not-found,unused-ignore]

from xlatrace import running_test


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("xlatrace", "structure of compiled JAX programs")
    group.addoption(
        "--xlatrace-update", action="store_true", help="Write the baselines of xlatrace.same_as"
    )
    group.addoption(
        "--xlatrace-accept-compiler",
        action="store_true",
        help="Write the baselines that only another compiler or machine changed",
    )


@pytest.hookimpl(hookwrapper=True)  # type: ignore[misc,untyped-decorator,unused-ignore]
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    test = running_test.RunningTest(
        item.path,
        _name(item),
        item.nodeid,
        update=item.config.getoption("--xlatrace-update"),
        accept_compiler=item.config.getoption("--xlatrace-accept-compiler"),
    )
    with running_test.running(test):
        yield


def _name(item: pytest.Item) -> str:
    """Name with the class, without the file: two tests of a file have different ones."""
    return "::".join(item.nodeid.split("::")[1:]) or item.name


class Fixture:
    """The package, for the running test: `compile`, `same_as`, `limits`, `watch` and the rest."""

    def __init__(self, test: running_test.RunningTest) -> None:
        self.test = test

    @property
    def programs(self) -> Any:
        """Programs that the test has compiled with `compile`."""
        return self.test.programs

    def __getattr__(self, name: str) -> Any:
        import xlatrace

        return getattr(xlatrace, name)


@pytest.fixture(name="xlatrace")  # type: ignore[misc,untyped-decorator,unused-ignore]
def _xlatrace() -> Fixture:
    """Compiles functions and checks their programs: `xlatrace.compile(step, params, batch)`."""
    test = running_test.current()
    assert test is not None
    return Fixture(test)
