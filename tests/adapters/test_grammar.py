"""What the two grammars allow means here what it means there; what they do not is refused with its line."""

from __future__ import annotations

import itertools
import json
import textwrap

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from ann_bench.entries.dialects import annbenchmarks, bigann
from ann_bench.errors import UsageError
from tests.adapters.support import ann_config, bigann_config


def of_bigann(tmp_path, group, **changes):
    """The builds of a config with this run group."""
    path = tmp_path / "config.yaml"
    path.write_text(yaml.safe_dump(bigann_config(**{"run-groups": {"g": group}, **changes})), encoding="utf-8")
    (definition,) = bigann.read(path)
    return definition.builds


def of_ann(tmp_path, group, **changes):
    path = tmp_path / "config.yml"
    path.write_text(yaml.safe_dump(ann_config(run_groups={"g": group}, **changes)), encoding="utf-8")
    (definition,) = annbenchmarks.read(path)
    return definition.builds


#: What stands in a config, and the arguments of each build after the base arguments.
EXPANSIONS = [
    ([], [()]),
    ({}, [({},)]),
    ([1, "a"], [(1, "a")]),
    ([[1, 2], ["a", "b"]], [(1, "a"), (1, "b"), (2, "a"), (2, "b")]),
    ([[1, 2], {"M": 3}, False], [(1, {"M": 3}, False), (2, {"M": 3}, False)]),
    ({"M": [1, 2], "L": 5, "e": ["x"]}, [({"M": 1, "L": 5, "e": "x"},), ({"M": 2, "L": 5, "e": "x"},)]),
    ([[[1, 2], [3]]], [([1, 2],), ([3],)]),
]

GROUPS = [
    ([{"M": [1, 2], "e": 9}], [({"M": 1, "e": 9},), ({"M": 2, "e": 9},)]),
    ([{"M": [1, 2]}, 7], [({"M": 1}, 7), ({"M": 2}, 7)]),
    ([[1, 2], {"M": [3]}], [(1, {"M": 3}), (2, {"M": 3})]),
    (["text", {}], [("text", {})]),
]


@pytest.mark.parametrize(("args", "expected"), EXPANSIONS)
def test_args(tmp_path, args, expected):
    for made in (of_bigann(tmp_path, {"args": args}), of_ann(tmp_path, {"args": args})):
        assert [one.arguments for one in made] == [("@metric", *rest) for rest in expected]
        assert [one.number for one in made] == list(range(1, len(expected) + 1))


@pytest.mark.parametrize(("groups", "expected"), GROUPS)
def test_groups_go_before_args(tmp_path, groups, expected):
    for made in (
        of_bigann(tmp_path, {"arg-groups": groups, "args": {}}),
        of_ann(tmp_path, {"arg_groups": groups, "args": {}}),
    ):
        assert [one.arguments for one in made] == [("@metric", *rest) for rest in expected]


@pytest.mark.parametrize(("args", "expected"), EXPANSIONS[2:])
def test_searches_follow_the_same_rules(tmp_path, args, expected):
    for made in (
        of_bigann(tmp_path, {"args": [], "query-args": args}),
        of_ann(tmp_path, {"args": [], "query_args": args}),
    ):
        assert made[0].queries == tuple(expected)
    groups = [{"ef": [1, 2]}, [5, 6]]
    expected_groups = (({"ef": 1}, 5), ({"ef": 1}, 6), ({"ef": 2}, 5), ({"ef": 2}, 6))
    assert of_bigann(tmp_path, {"args": [], "query-arg-groups": groups})[0].queries == expected_groups
    assert of_ann(tmp_path, {"args": [], "query_arg_groups": groups})[0].queries == expected_groups


def test_a_text_is_json_and_every_member_is_one(tmp_path):
    """The trap of that grammar: the same list, as YAML, is a product."""
    text = ' [{"M": [1, 2]}, [3, 4], 5]\n'
    made = of_bigann(tmp_path, {"args": text, "query-args": text})
    assert [one.arguments for one in made] == [("@metric", {"M": [1, 2]}), ("@metric", 3, 4), ("@metric", 5)]
    assert made[0].queries == (({"M": [1, 2]},), (3, 4), (5,))
    (as_yaml,) = {len(of_bigann(tmp_path, {"args": json.loads(text)}))}
    assert as_yaml == 2
    with pytest.raises(UsageError, match=r"args: found '\[1\]'; allowed: a list"):
        of_ann(tmp_path, {"args": "[1]"})


@given(st.lists(st.lists(st.integers(), min_size=1, max_size=3) | st.integers() | st.text(max_size=3), max_size=4))
def test_a_list_is_a_product(tmp_path_factory, args):
    made = of_ann(tmp_path_factory.mktemp("grammar"), {"args": args}, base_args={})
    lists = [one if isinstance(one, list) else [one] for one in args]
    assert [one.arguments for one in made] == list(itertools.product(*lists))


def test_disabled_is_honoured_and_the_rest_stays(tmp_path):
    config = bigann_config()
    config["any"]["off"] = {**config["any"]["exact"], "disabled": True}
    path = tmp_path / "config.yaml"
    path.write_text(yaml.safe_dump(config), encoding="utf-8")
    assert [one.name for one in bigann.read(path)] == ["exact"]
    path.write_text(yaml.safe_dump(ann_config(disabled=True)), encoding="utf-8")
    assert annbenchmarks.read(path) == []


def test_points_and_metrics_that_no_data_set_here_has(tmp_path):
    config = {**ann_config(), "bit": ann_config("hamming")["float"]}
    config["float"]["jaccard"] = config["float"]["any"]
    path = tmp_path / "config.yml"
    path.write_text(yaml.safe_dump(config), encoding="utf-8")
    assert [(one.name, one.metric) for one in annbenchmarks.read(path)] == [("exact", "any")]


BROKEN_BIGANN = [
    ("", ":1: expected data sets, or any, each with its algorithms, found None"),
    ("any: [exact]", ":1: any: expected algorithms by their names, found"),
    (
        "any:\n  a: {module: x, docker-tag: t, run_groups: 1}",
        ":2: any.a.run_groups: unknown key; allowed here: docker-t",
    ),
    ("any:\n  a: {docker-tag: t, module: 3, constructor: C}", ":2: any.a: the key 'run-groups' is missing"),
    (
        "any:\n  a: {docker-tag: t, constructor: C, run-groups: {g: {args: []}}}",
        ":2: any.a: the key 'module' is missing",
    ),
    ("any:\n  a: {docker-tag: t, module: m.n, run-groups: {g: {args: []}}}", "the key 'constructor' is missing"),
    (
        "GROUP: {arg: []}",
        ":6: any.a.run-groups.g.arg: unknown key; allowed here: args, arg-groups, query-args, query-arg",
    ),
    ("GROUP: {query-args: []}", ":6: any.a.run-groups.g: a run group needs args or arg-groups"),
    (
        "GROUP: {args: 7}",
        ":6: any.a.run-groups.g.args: found 7; allowed: a list (a product over its members)",
    ),
    ("GROUP: {args: '[1,'}", ":6: any.a.run-groups.g.args: a text here is JSON, and this is none"),
    ("GROUP: {args: '{}'}", ":6: any.a.run-groups.g.args: the JSON here is a list"),
    ("GROUP: {arg-groups: {M: 1}}", ":6: any.a.run-groups.g.arg-groups: expected a list of groups, found {'M': 1}"),
    ("GROUP: {args: [2020-01-01]}", "datetime.date(2020, 1, 1) is no value that can be passed on; allowed are texts"),
    ("GROUP: {args: [{1: 2}]}", "a key that is no text in {1: 2}"),
    ("GROUP: {args: [[1,2,3,4,5,6,7,8,9,0]," + "[1,2,3,4,5,6,7,8,9,0]," * 4 + "]}", "stands for 100,000 combinations"),
    ("any:\n  a:\n  - b\n c", "no valid YAML"),
    ("any:\n  a: {docker-tag: t}\n  a: {}", ":3: the key 'a' stands here a second time"),
    ("any:\n  a: {docker-tag: t, disabled: maybe, run-groups: {g: {args: []}}}", ":2: any.a.disabled: true or false"),
]


@pytest.mark.parametrize(("text", "said"), BROKEN_BIGANN)
def test_what_is_not_in_the_grammar_of_bigann(tmp_path, text, said):
    head = "any:\n  a:\n    docker-tag: t\n    module: m.n\n    run-groups:\n      g"
    path = tmp_path / "config.yaml"
    path.write_text(text.replace("GROUP", head) + "\n", encoding="utf-8")
    with pytest.raises(UsageError) as caught:
        bigann.read(path)
    assert said in str(caught.value)
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)


BROKEN_ANN = [
    ("", ":1: expected kinds of points: float, bit, int, found None"),
    ("floats: {any: []}", ":1: floats: unknown key; allowed here: float, bit, int"),
    ("float:\n  any: {a: 1}", ":2: float.any: expected a list of algorithms, each with a name"),
    ("float:\n  any:\n  - 7", ":3: float.any.0: expected the keys of an algorithm: name, docker_tag"),
    ("float:\n  any:\n  - docker-tag: t", ":3: float.any.0.docker-tag: unknown key; allowed here: name, docker_tag"),
    ("float:\n  any:\n  - {docker_tag: t, run_groups: {g: {args: []}}}", ":3: float.any.0: the key 'name' is missing"),
    (
        "float:\n  any:\n  - {docker_tag: t, name: n, base_args: x, run_groups: {g: {args: []}}}",
        ":3: float.any.0.base_args: expected a list, found 'x'",
    ),
]


@pytest.mark.parametrize(("text", "said"), BROKEN_ANN)
def test_what_is_not_in_the_grammar_of_annbenchmarks(tmp_path, text, said):
    path = tmp_path / "config.yml"
    path.write_text(textwrap.dedent(text), encoding="utf-8")
    with pytest.raises(UsageError) as caught:
        annbenchmarks.read(path)
    assert said in str(caught.value)
