"""Functions compiled to machine code.

Importing it imports numba, which takes a second: only work that pays for it comes here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function) -> Function:
    """The function, compiled at its first call and kept in numba's cache where that can be written.

    It lets go of the interpreter while it runs, and does not check whether an index lies within its array.
    """
    try:
        return cast(Function, numba.njit(nogil=True, cache=True, error_model="numpy")(function))
    except RuntimeError:  # no folder for the cache
        return cast(Function, numba.njit(nogil=True, error_model="numpy")(function))
