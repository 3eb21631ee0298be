"""How loops are compiled. Importing numba takes most of a second: only the modules of such loops import this one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function) -> Function:
    """The function, compiled at its first call and kept in numba's cache where that can be written."""
    try:
        return cast(Function, numba.njit(nogil=True, cache=True, error_model="numpy")(function))
    except RuntimeError:  # no folder for the cache
        return cast(Function, numba.njit(nogil=True, error_model="numpy")(function))
