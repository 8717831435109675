"""``step fuzz``: programs by their seeds, planted defects that are found and made small, and what is kept."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from commanding import Result, Step

from sim_approx.placing import build
from step.firing.declared import Declared, declared_rule
from step.language.dtypes import FP32
from step.language.graph import Graph, Node
from step.language.operator import Placed, Process, Surroundings
from step.language.tokens import Token
from step.language.types import Tile
from step.ops.promote import Promote
from step.programs.data.inputs import bind_inputs
from step.programs.files.json_file import validate
from step.programs.program import Program, load_program
from step.running.interpreter import interpret
from step.running.result import RunResult
from step_check.fuzz import campaign as campaigning
from step_check.fuzz.campaign import FuzzCampaign
from step_check.fuzz.check import Disagreement, check
from step_check.fuzz.program import program
from step_check.fuzz.report import version
from step_check.fuzz.shrink import shrink, size
from step_cli.verbs import fuzz


@pytest.fixture
def low_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    """The fast model's Promote ends the whole stream with a stop that is too low."""

    def rule(node: Node) -> Declared | None:
        found = declared_rule(node)
        if found is None or not isinstance(node.operator, Promote):
            return found
        return replace(found, parameters={"top": node.inputs[0].rank})

    monkeypatch.setattr(build, "declared_rule", rule)


@pytest.fixture
def lost_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    """The meaning of Promote lowers stops of 3, so that the stream breaks its shape."""
    process = Promote.process

    def wrong(self: Promote, node: Placed, around: Surroundings) -> Process:
        class Around:
            def __getattr__(self, name: str) -> Any:
                return getattr(around, name)

            def emit(self, port: int, token: Token) -> None:
                around.emit(port, token._replace(stop=2) if token.stop == 3 else token)

        return process(self, node, Around())

    monkeypatch.setattr(Promote, "process", wrong)


def kinds(made: Program) -> list[str]:
    return [node.operator.name for node in made.graph]


def leaves(program: Program, kind: str) -> bool:
    """Whether there are operators of ``kind``, and nothing but sinks reads what they send."""
    graph = program.graph
    readers = [each.operator.name for each in graph for stream in each.inputs if _kind(graph, stream.producer) == kind]
    return bool(readers) and {*readers} == {"sink"}


def promoting() -> int:
    """The seed of a program with 2 to 6 operators, in which what Promote sends leaves."""
    return next(seed for seed in range(1, 100) if leaves(program(seed, operators=(2, 6)), "promote"))


def agrees(made: Program) -> bool:
    try:
        check(made)
    except Disagreement:
        return False
    return True


def found(step: Step, folder: Path) -> tuple[Result, int, Path]:
    """What a run of one program said in which Promote is wrong, its seed, and its report in ``folder``."""
    seed = promoting()
    result = step("fuzz", "--count", 1, "--seed", seed, "--operators", "2..6", "--save", folder)
    return result, seed, folder / f"seed-{seed}.report.json"


def _kind(graph: Graph, name: str) -> str:
    return graph.nodes[name].operator.name if name in graph.nodes else "feedback"


def ends_three(made: Program) -> bool:
    """Whether a stream of rank 3 that Promote makes has a value, so that it ends with a stop of 3."""
    run = interpret(made.graph, bind_inputs(made.graph, made.inputs), record=True)
    promoted = [each for each in made.graph if isinstance(each.operator, Promote) and each.output_types[0].rank == 3]
    return any(token.stop == 3 for each in promoted for token in run.streams[each.name])


class TestPrograms:
    def test_a_seed_gives_the_same_program(self) -> None:
        assert program(7) == program(7)
        assert program(7) != program(8)

    def test_one_that_is_roomy_differs_in_space_alone(self) -> None:
        assert kinds(program(7, roomy=True)) == kinds(program(7))

    def test_something_leaves_every_one(self) -> None:
        for seed in range(150):
            assert any(node.operator.ends_run for node in program(seed, operators=(1, 4)).graph), seed

    def test_every_seed_makes_one(self) -> None:
        """Of these some joined no rows at all by their type, or added rows at once that are no whole words."""
        for seed in (1000539, 1000613, 1000679, 3000020):
            program(seed)

    def test_large_ones_have_everything_together(self) -> None:
        """Loops, buffers, nested routing, several memory ports, and tensors that are stored and read again."""
        found = 0
        for seed in range(91, 125):
            made = program(seed, operators=(50, 60))
            names = kinds(made)
            assert len(names) >= 50
            ports = sum("off_chip" in each for each in names)
            again = {"random_off_chip_load", "random_off_chip_store"} <= set(names)
            found += bool(
                made.graph.feedbacks and "bufferize" in names and names.count("partition") > 1 and ports > 2 and again
            )
        assert found >= 4


class TestAgreement:
    def test_counts(self, step: Step) -> None:
        result = step("fuzz", "--count", 3, "--seed", 4, "--operators", "3..6")
        expected = [program(seed, operators=(3, 6)) for seed in (4, 5, 6)]
        operators, names = sum(map(len, map(kinds, expected))), len(set().union(*map(kinds, expected)))
        tokens = sum(check(each).tokens for each in expected)
        told = f"3 programs agree, 0 of them in RTL too: {operators} operators of {names} kinds, {tokens} tokens\n"
        assert result == (0, told, "")

    def test_json(self, step: Step) -> None:
        result = step("fuzz", "--count", 2, "--operators", "3..6", "--json")
        data = json.loads(result.out)
        assert (result.code, result.err) == (0, "")
        assert (data["version"], data["agreed"], data["agreed_rtl"]) == (version(), 2, 0)
        assert (data["left_out_of_rtl"], data["interrupted"], data["findings"]) == ([], False, [])
        assert sum(data["operators"].values()) > 6 and data["tokens"] > 0

    def test_what_goes_to_rtl(self, step: Step, monkeypatch: pytest.MonkeyPatch) -> None:
        """Of those that agree, as many as were asked for, some in a build; another one for each that is left out."""
        built: list[list[int]] = []

        def check_rtl(self: FuzzCampaign, seeds: Sequence[int], first: int) -> bool:
            assert first == seeds[0]
            built.append(list(seeds))
            self.crowded += [seed for seed in seeds if seed == 2]
            self.agreed_rtl += sum(seed != 2 for seed in seeds)
            return True

        monkeypatch.setattr(fuzz, "TOGETHER", 3)
        monkeypatch.setattr(FuzzCampaign, "check", lambda self, seed: seed != 1)
        monkeypatch.setattr(FuzzCampaign, "check_rtl", check_rtl)
        result = step("fuzz", "--count", 9, "--rtl", 5)
        assert built == [[0, 2, 3], [4, 5, 6]]
        assert result.out.splitlines() == [
            "0 programs agree, 5 of them in RTL too: 0 operators of 0 kinds, 0 tokens",
            "left out of RTL, because their channels have too little space: seeds 2",
        ]

    def test_rtl_of_several_side_by_side(self, step: Step, monkeypatch: pytest.MonkeyPatch) -> None:
        """RTL that is right, played by the fast model."""
        built: list[Program] = []

        def right(made: Program, progress: object = None) -> RunResult:
            built.append(made)
            return check(made)

        monkeypatch.setattr(campaigning, "check_rtl", right)
        result = step("fuzz", "--count", 6, "--seed", 4, "--operators", "3..8", "--rtl", 3)
        assert result.code == 0, result.err
        assert result.out.startswith("6 programs agree, 3 of them in RTL too: ")
        (together,) = built
        assert {name.partition("_")[0] for name in together.graph.nodes} == {"s0", "s1", "s2"}

    @pytest.mark.slow
    def test_rtl(self, step: Step) -> None:
        result = step("fuzz", "--count", 6, "--seed", 4, "--operators", "3..8", "--rtl", 3)
        assert result.code == 0, result.err
        assert result.out.startswith("6 programs agree, 3 of them in RTL too: ")


class TestFindings:
    def test_a_defect_of_the_fast_model_is_made_small(self, step: Step, low_stop: None, tmp_path: Path) -> None:
        result, seed, report = found(step, tmp_path)
        assert result.code == 4
        assert result.err == "error: the back ends disagree on 1 of the programs\n"
        assert result.out.splitlines()[0] == "0 programs agree, 0 of them in RTL too: 0 operators of 0 kinds, 0 tokens"
        data = json.loads(report.read_text())
        validate(data, "fuzz", str(report))
        assert result.out.splitlines()[1:] == [
            *f"seed {seed}: {data['kind']}: {data['text']}".splitlines(),
            f"  {report} (4 operators)",
        ]
        small = load_program(str(tmp_path / data["program"]))
        assert sorted(kinds(small)) == ["map", "promote", "sink", "source"]
        assert size(small)[-1] <= 2
        with pytest.raises(Disagreement) as caught:
            check(small)
        assert (caught.value.kind, str(caught.value)) == (data["kind"], data["text"])

    def test_a_defect_of_a_meaning_is_made_small(self, step: Step, request: Any, tmp_path: Path) -> None:
        seed = next(seed for seed in range(200) if ends_three(program(seed, operators=(3, 12))))
        request.getfixturevalue("lost_stop")
        result = step("fuzz", "--count", 1, "--seed", seed, "--operators", "3..12", "--save", tmp_path, "--json")
        assert result.code == 4
        findings = json.loads(result.out)["findings"]
        assert findings
        for each in findings:
            assert each["kind"] == "interpreter: StreamFault"
            assert sorted(kinds(load_program(str(tmp_path / each["program"])))) == ["promote", "sink", "source"]

    def test_a_report_runs_again(self, step: Step, low_stop: None, tmp_path: Path) -> None:
        _, seed, report = found(step, tmp_path)
        result = step("fuzz", "--again", report)
        assert result.code == 4
        assert result.out.splitlines()[1].startswith(f"seed {seed}: fast model")
        assert result.err == (
            "hint: with --save DIR they are kept, and made small\nerror: the back ends disagree on 1 of the programs\n"
        )

    def test_what_was_found_before_an_interrupt_is_kept(
        self, step: Step, low_stop: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        checking = FuzzCampaign.check

        def interrupted(self: FuzzCampaign, seed: int, *, roomy: bool = False) -> bool:
            if self.findings:
                raise KeyboardInterrupt
            return checking(self, seed, roomy=roomy)

        monkeypatch.setattr(FuzzCampaign, "check", interrupted)
        result = step("fuzz", "--save", tmp_path)
        assert (result.code, result.err) == (130, "\ninterrupted\n")
        assert [line.split()[-1] for line in result.out.splitlines() if ".report.json" in line] == ["operators)"]
        assert len(list(tmp_path.glob("*.report.json"))) == 1

    def test_what_disagrees_without_rtl_goes_there_too(self, low_stop: None, monkeypatch: pytest.MonkeyPatch) -> None:
        """Where RTL is compared with a program that the fast model has wrong, that is seen."""
        built: list[Program] = []
        monkeypatch.setattr(campaigning, "check_rtl", lambda made, progress: built.append(made))
        plain = next(seed for seed in range(1, 40) if "promote" not in kinds(program(seed, operators=(2, 6))))
        odd, campaign = promoting(), FuzzCampaign((2, 6))
        assert campaign.check_rtl([plain, odd], odd)
        (together,) = built
        assert {name.partition("_")[0] for name in together.graph.nodes} == {"s0", "s1"}
        assert (campaign.agreed_rtl, campaign.crowded) == (2, [])

    def test_a_program_of_many_in_one_build_is_found(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        """RTL that is wrong about every Promote, played by the fast model: no simulator is needed to look for it."""
        built = []

        def wrong(made: Program, progress: object = None) -> RunResult:
            built.append(len(made.graph.nodes))
            for node in made.graph:
                if node.operator.name == "promote":
                    raise Disagreement("RTL: cycles", "2, and 1 in the fast model")
            return check(made)

        monkeypatch.setattr(campaigning, "check_rtl", wrong)
        seeds = [seed for seed in range(40) if "promote" not in kinds(program(seed, operators=(5, 9)))][:7]
        odd = next(seed for seed in range(40, 90) if leaves(program(seed, operators=(5, 9)), "promote"))
        campaign = FuzzCampaign((5, 9), tmp_path)
        assert not campaign.check_rtl([*seeds, odd], seeds[0])
        (finding,) = campaign.findings
        assert (finding.seeds, finding.fabric, finding.rtl) == ((odd,), seeds[0], True)
        assert finding.program is not None
        assert sorted(kinds(finding.program)) == ["promote", "sink", "source"]
        assert (tmp_path / f"rtl-seed-{odd}.json").is_file()
        assert len(built) <= 4 + campaigning.RTL_TRIES


class TestShrinking:
    def test_to_the_two_operators_that_it_takes(self) -> None:
        """All that is tried is a program that runs, in the end with nothing but the two."""

        def has_both(made: Program) -> bool:
            return {"accum", "flatten"} <= set(kinds(made))

        made = next(made for made in map(program, range(100)) if has_both(made))
        for smaller in shrink(made, lambda made: agrees(made) and has_both(made)):
            assert size(smaller) < size(made)
            made = smaller
        assert [each for each in sorted(kinds(made)) if each not in ("source", "sink")] == ["accum", "flatten"]

    def test_a_loop(self) -> None:
        seed = next(seed for seed in range(100) if program(seed, operators=(5, 20)).graph.feedbacks)
        made = program(seed, operators=(5, 20), roomy=True)
        before = len(made.graph.nodes)
        for smaller in shrink(made, lambda made: agrees(made) and bool(made.graph.feedbacks)):
            made = smaller
        assert made.graph.feedbacks and len(made.graph.nodes) < before

    def test_to_the_one_entry_that_it_takes(self, graph: Graph) -> None:
        graph.source("x", Tile(FP32), [graph.symbol("N")]).sink("y")
        made = Program(graph, {"x": list(range(6))})
        for smaller in shrink(made, lambda made: bool(len(made.inputs.get("x", ())))):
            made = smaller
        assert len(made.inputs["x"]) == 1

    def test_no_more_tries_than_allowed(self) -> None:
        tried = []

        def fails(made: Program) -> bool:
            tried.append(made)
            return False

        assert list(shrink(program(3), fails, tries=5)) == []
        assert len(tried) == 5


class TestBadInput:
    @pytest.mark.parametrize("text", ["7", "0..3", "9..3", "a..b"])
    def test_operators(self, step: Step, text: str) -> None:
        result = step("fuzz", "--operators", text)
        assert result == (1, "", f"error: --operators must be LOW..HIGH with 1 <= LOW <= HIGH, not {text!r}\n")

    def test_more_rtl_than_programs(self, step: Step) -> None:
        result = step("fuzz", "--count", 3, "--rtl", 4)
        assert result == (1, "", "error: --rtl 4 is more than the 3 programs of --count\n")

    def test_a_report_of_another_version(self, step: Step, low_stop: None, tmp_path: Path) -> None:
        _, seed, report = found(step, tmp_path)
        report.write_text(json.dumps(json.loads(report.read_text()) | {"version": "0.0.9+12345678"}))
        result = step("fuzz", "--again", report)
        assert result.code == 1 and result.err == (
            f"error: {report} was written by version 0.0.9+12345678 of the generator, and this is {version()}, whose "
            f"seeds give other programs; the program itself can be run: step compare {tmp_path}/seed-{seed}.json\n"
        )

    def test_no_report(self, step: Step, tmp_path: Path) -> None:
        path = tmp_path / "x.json"
        assert step("fuzz", "--again", path).err == f"error: there is no file '{path}'\n"
        path.write_text("{}")
        assert step("fuzz", "--again", path).err == f"error: {path}: $: 'format' is a required property\n"

    def test_a_directory_that_can_not_be_written(self, step: Step, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("")
        result = step("fuzz", "--count", 1, "--save", tmp_path / "file" / "dir")
        assert result == (1, "", f"error: {tmp_path}/file/dir can not be written: Not a directory\n")


def test_other_processes_find_the_same(step: Step) -> None:
    here, there = (step("fuzz", "--count", 3, *jobs, "--json") for jobs in ((), ("--jobs", 2)))
    assert there.code == 0 and there.out == here.out
    refused = step("fuzz", "--count", 3, "--jobs", 2, "--scheduler", "tcp://127.0.0.1:9")
    assert refused.err == "error: jobs has no effect with a scheduler: its workers run the points\n"
