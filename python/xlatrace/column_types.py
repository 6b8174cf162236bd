# SPDX-License-Identifier: Apache-2.0
"""Types of columns, by the name of the view and column: the same in every run.

The rule is that of `xlatrace export --to parquet` (export/parquet_view.cc); a test compares both lists.
"""

from __future__ import annotations

from typing import Any, Dict, Iterable, Optional

INT64, FLOAT64, STRING, BINARY = "int64", "float64", "string", "binary"

_TEXT_COLUMNS = frozenset(
    """
    action advice after assumptions basis before bound_by category cause command computation
    compute_capability compute_type confidence copy_kind domain ended evidence figure file
    fingerprint first_use framework_function from_instruction from_program function
    function_file fusion_kind gpu handle headline host how how_to_check id instruction
    jaxlib_version job_answer job_cause job_waited_for kernel_name kernel_symbol key kind
    last_use layer layer_group library_file losing_evidence memory_space module name
    occupancy_limiter op op_kind op_name op_name_method op_type opcode operands origin owner
    part peak_flops peaks_source phase program reason role role_reason run_id sentence severity
    shape shape_index source source_file stage state tensorflow_version text title
    to_instruction to_program tool_version unattributed_reason uuid value verdict what
    where_layer where_op where_source why_ended withheld work
    """.split()
)
_FRACTIONS = frozenset(("share", "waves"))

_FITS: Dict[str, tuple[type, ...]] = {
    INT64: (int,),
    FLOAT64: (int, float),
    STRING: (str,),
    BINARY: (bytes,),
}


def has_types(view: str) -> bool:
    """Views of docs/schema.md have types. Views for other tools and internal ones have none."""
    return view.islower() and not view.startswith("x_")


def type_of_column(view: Optional[str], name: str) -> str:
    """Type of a column that a view of docs/schema.md has."""
    if view in ("run_stat", "compile_detail") and name == "value":
        return INT64  # Numbers. The column of this name in run_info has texts.
    if name in _TEXT_COLUMNS:
        return STRING
    return FLOAT64 if name.endswith("_pct") or name in _FRACTIONS else INT64


def type_of_values(values: Iterable[Any]) -> str:
    """The narrowest type that all values fit, for columns that are not in docs/schema.md."""
    kinds = {type(value) for value in values} - {type(None)}
    if kinds == {int}:
        return INT64
    if kinds and kinds <= {int, float}:
        return FLOAT64
    return BINARY if kinds == {bytes} else STRING


def fits(values: Iterable[Any], kind: str) -> bool:
    """Whether each value is NULL or of the type."""
    return {type(value) for value in values} <= {type(None), *_FITS[kind]}
