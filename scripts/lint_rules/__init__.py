# SPDX-License-Identifier: Apache-2.0
"""Rules of scripts/lint that no public linter has. Each rule yields Violation values."""
