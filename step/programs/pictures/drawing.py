"""Pictures of a program: Graphviz text, what Graphviz makes of it, and SVG without it."""

from __future__ import annotations

import shutil
import subprocess

from step.errors import EnvironmentProblem
from step.language.graph import Graph
from step.language.stream import Stream
from step.programs.pictures.sketch import Sketch, sketch, sketch_before


def dot(sketch: Sketch) -> str:
    """``sketch`` in Graphviz' language: boxes are operators, edges carry shape, element type and ports, and a depth."""
    lines = [
        f"digraph {_quoted(sketch.name)} {{",
        "  rankdir=TB; node [shape=box, style=filled, fontname=Helvetica];",
        "  edge [fontsize=9, labelfontsize=8, labeldistance=1.6];",
    ]
    for name, box in sketch.boxes.items():
        text = _quoted("\\n".join(box.lines))
        lines.append(f'  {_quoted(name)} [label={text}, fillcolor="{box.colour}", tooltip={_quoted(box.title)}];')
    for arrow in sketch.arrows:
        text = _quoted("\\n".join(arrow.lines))
        places = f"{_quoted(arrow.producer)} -> {_quoted(arrow.consumer)}"
        lines.append(f"  {places} [label={text}, taillabel={_quoted(arrow.output)}, headlabel={_quoted(arrow.input)}];")
    return "\n".join([*lines, "}"]) + "\n"


def _quoted(text: str) -> str:
    r"""A string of Graphviz, in which ``\n`` is the only escape."""
    return '"' + text.replace('"', '\\"') + '"'


def svg(sketch: Sketch) -> str:
    """``sketch`` as SVG: drawn by Graphviz where ``dot`` is installed, else laid out by grandalf.

    Raises `EnvironmentProblem` where neither is there.
    """
    if shutil.which("dot") is not None:
        return drawn(sketch, "svg").decode()
    try:
        from step.programs.pictures.layered import layered_svg
    except ModuleNotFoundError:
        raise EnvironmentProblem(
            "an SVG needs Graphviz' dot, or the module grandalf; install it with: pip install 'step-fabric[show]'"
        ) from None
    return layered_svg(sketch)


def picture(shown: Graph | Stream) -> str | None:
    """The SVG for a notebook; None where nothing that draws is installed, and the notebook shows a line of text."""
    try:
        return svg(sketch(shown) if isinstance(shown, Graph) else sketch_before(shown))
    except EnvironmentProblem:
        return None


def drawn(sketch: Sketch, form: str) -> bytes:
    """``sketch`` as ``form`` (``png``, ``pdf``, ``svg``), drawn by Graphviz.

    Raises `EnvironmentProblem` where ``dot`` is not installed, or does not do it.
    """
    program = shutil.which("dot")
    if program is None:
        raise EnvironmentProblem(
            f"a {form.upper()} needs Graphviz' dot: install graphviz (Debian: apt install graphviz); "
            "an SVG can be drawn without it"
        )
    done = subprocess.run([program, f"-T{form}"], input=dot(sketch).encode(), capture_output=True, check=False)
    if done.returncode != 0:
        raise EnvironmentProblem(f"{program} drew no {form.upper()}: {done.stderr.decode(errors='replace').strip()}")
    return done.stdout
