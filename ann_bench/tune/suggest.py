"""Where to look next in a space: Optuna, which is asked and told, and measures nothing itself.

The sampler is the multivariate tree-structured Parzen estimator for several objectives (Ozaki et al., "Multiobjective
Tree-Structured Parzen Estimator", JAIR 2022); recall and the logarithm of the queries per second are to grow.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ann_bench.entries.space import Range, Space
from ann_bench.errors import UsageError

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution
    from optuna.trial import Trial

#: Builds that are chosen at random before the sampler learns from them.
RANDOM_BUILDS = 3

#: So often a query config is asked for that was not there yet.
TRIES = 5


@dataclass(frozen=True)
class Proposal:
    """The arguments of a configuration, as far as the space has them, and what has to be told."""

    build: dict[str, Any]
    query: dict[str, Any]
    trial: Trial


class Suggestions:
    """Proposes configurations of a space, in rounds that share one build. Raises UsageError where Optuna is missing."""

    def __init__(self, space: Space, seed: int, most: int) -> None:
        try:
            import optuna
        except ImportError:
            raise UsageError("tuning needs Optuna: python -m pip install 'ann-bench[tune]'") from None
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self._space, self._most = space, most
        self._distributions = {name: _distribution(values) for name, values in _all(space).items()}
        with _quietly():
            self._sampler = optuna.samplers.TPESampler(
                multivariate=True, constant_liar=True, n_startup_trials=RANDOM_BUILDS * most, seed=seed
            )
            self._study = optuna.create_study(directions=["maximize", "maximize"], sampler=self._sampler)

    def round(self) -> list[Proposal]:
        """Some configurations that are different and have the same build arguments; at least one."""
        import optuna

        self._study.sampler = self._sampler
        found = [self._ask()]
        fixed = {name: found[0].trial.params[name] for name in found[0].trial.params if name.startswith("build.")}
        with _quietly():
            self._study.sampler = optuna.samplers.PartialFixedSampler(fixed, self._sampler) if fixed else self._sampler
        for _ in range(TRIES * (self._most - 1) if self._space.query else 0):
            if len(found) == self._most:
                break
            one = self._ask()
            if any(one.query == other.query for other in found):
                self.tell(one, None)
            else:
                found.append(one)
        return found

    def tell(self, proposal: Proposal, values: tuple[float, float] | None) -> None:
        """What came of a proposal: recall and queries per second, None where nothing did."""
        import optuna

        if values is None:
            self._study.tell(proposal.trial, state=optuna.trial.TrialState.FAIL)
        else:
            self._study.tell(proposal.trial, [values[0], math.log(values[1])])

    def know(self, build: Mapping[str, Any], query: Mapping[str, Any], values: tuple[float, float]) -> None:
        """What came of arguments that nobody proposed, where they lie in the space."""
        import optuna

        given = {
            **{f"build.{name}": build[name] for name in self._space.build},
            **{f"query.{name}": query[name] for name in self._space.query},
        }
        params = {name: _inner(values_, given[name]) for name, values_ in _all(self._space).items()}
        if None not in params.values():
            objectives = [values[0], math.log(values[1])]
            self._study.add_trial(
                optuna.trial.create_trial(params=params, distributions=self._distributions, values=objectives)
            )

    def _ask(self) -> Proposal:
        with _quietly():
            trial = self._study.ask(self._distributions)
        outer = {name: _outer(values, trial.params[name]) for name, values in _all(self._space).items()}
        build, query = (
            {name.partition(".")[2]: value for name, value in outer.items() if name.startswith(kind)}
            for kind in ("build.", "query.")
        )
        return Proposal(build, query, trial)


def _all(space: Space) -> dict[str, Any]:
    kinds = {"build": space.build, "query": space.query}
    return {f"{kind}.{name}": values for kind, arguments in kinds.items() for name, values in arguments.items()}


def _distribution(values: Any) -> BaseDistribution:
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    if not isinstance(values, Range):
        return CategoricalDistribution(range(len(values)))
    if values.whole:
        return IntDistribution(int(values.from_), int(values.to), log=values.log)
    return FloatDistribution(values.from_, values.to, log=values.log)


def _outer(values: Any, inner: Any) -> Any:
    """What an argument is, from what Optuna calls it: choices are numbered."""
    return inner if isinstance(values, Range) else values[inner]


def _inner(values: Any, outer: Any) -> Any:
    """What Optuna calls an argument; None where it lies outside of the space."""
    if not isinstance(values, Range):
        return values.index(outer) if outer in values else None
    numbers = isinstance(outer, int | float) and not isinstance(outer, bool)
    return outer if numbers and values.from_ <= outer <= values.to else None


class _quietly(warnings.catch_warnings):  # noqa: N801  a context manager
    """Optuna warns of what it calls experimental."""

    def __enter__(self) -> Any:
        found = super().__enter__()
        warnings.simplefilter("ignore")
        return found
