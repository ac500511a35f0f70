"""An explanation on a rich console: the path as an indented list of steps, what pushed each in green and red."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest

from rich.cells import cell_len, set_cell_size
from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from .brief import brief_lines
from .explanation import Explanation, Names, Opinion, Path, Push, Step
from .neighbor_view import neighbor_lines
from .verdict_view import verdict_lines

UP, DOWN, QUIET, ODD = "green", "red", "dim", "yellow"
BAR = 16  # characters of the longest bar
NAME = 40  # of the longest name of a feature
LEFT = 10  # columns of the score in the headline
GAP = "   "
VECTOR = "the encoder's vector"


class View:
    """Prints itself; `compact` packs the strongest features of a step, else each has a line of its own with a bar."""

    def __init__(
        self,
        explanation: Explanation,
        label_names: Names | None = None,
        feature_names: Names | None = None,
        *,
        top: int = 10,
        compact: bool = False,
        id: str = "",
    ) -> None:
        self.explanation, self.top, self.compact, self.id = explanation, top, compact, id
        self.label_names, self.feature_names = label_names, feature_names

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield from self.head(options.max_width)
        yield from self.body(options.max_width)

    def head(self, width: int) -> Iterator[Text]:
        """The score, the label, and what search made of it: below if it does not fit beside."""
        it = self.explanation
        score = f"{it.score:8.4f}" if it.reached else f"{'–':>8}"
        name = Text.assemble((f"{score}  ", "bold"), (self.label(it.label), "bold cyan"))
        if self.id and self.id != self.label(it.label):
            name.append(f" ({self.id})", style=QUIET)
        verdict = Text(self.verdict(), style=QUIET if it.reached else ODD)
        if name.cell_len + 2 + verdict.cell_len <= width:
            yield Text.assemble(name, "  ", verdict)
        else:
            yield name
            yield _indented(verdict, LEFT)

    def verdict(self) -> str:
        """What became of the label in search, in words."""
        it = self.explanation
        if it.opinion is not None and not it.opinion.among and it.reached:
            return f"found, but not among the {it.n_found:,} candidates that are ranked anew"
        if it.reached and it.rank is None:
            return "found, with a score of 0"
        if it.reached:
            return f"number {it.rank:,} of {it.n_found:,} labels found"
        if it.members:
            return f"not found by any member; it would score {it.open_score:.2g}"
        if it.search == "neighbors":
            return "not found: no neighbour has it" if it.neighbors else "not found: the row has no neighbours"
        if it.search == "names":
            return "not found: the text does not have its name"
        if not it.paths:
            return "not found: no cluster leads to it"
        step = it.deciding[0].steps[it.deciding[0].lost_at or 0]
        if step.rank is None:  # of a damaged model
            return "not found: it has no score"
        lost = ("its cluster", "beam", it.beam) if step.node is not None else ("it", "shortlist", it.shortlist)
        return (
            f"not found: {lost[0]} came in as number {step.rank:,} of {step.rivals:,}, the {lost[1]} keeps "
            f"{lost[2]:,}; it would score {it.open_score:.2g}"
        )

    def body(self, width: int) -> Iterator[Text]:
        """The paths, line by line."""
        it = self.explanation
        for match in it.matches:
            for line in match.lines(top=self.top, compact=self.compact, width=width - LEFT):
                yield _indented(line, LEFT)
        paths = it.deciding if self.compact else it.paths
        for path in paths:
            if len(it.paths) > 1:
                yield Text(" " * LEFT + self._which(path), style="bold")
            for depth, step in enumerate(path.steps):
                left = LEFT + 2 * depth
                yield _indented(self._title(step, width - left), left)
                if step.edge_score is not None and path is not paths[0]:
                    continue  # the label's classifier is the same whichever cluster leads to it
                lines = self._packed(step, width - left - 2) if self.compact else self._bars(step)
                for line in lines:
                    yield _indented(line, left + 2)
        if it.label_weight != 1 and it.paths:
            yield Text(f"{' ' * LEFT}× {it.label_weight:.3f} for how frequent the label is", style=QUIET)
        if it.neighbors:
            lines = neighbor_lines(
                it.neighbors, width - LEFT, label=self.label, feature=self.feature, top=self.top, compact=self.compact
            )
            for line in lines:
                yield _indented(line, LEFT)
        left_out = len(it.paths) - len(paths) + it.more_paths
        if left_out:
            where = "places in the tree" if it.shortlist is None else "clusters that lead to it"
            yield Text(f"{' ' * LEFT}({left_out:,} more {where})", style=QUIET)
        if it.verdict is not None:
            yield from verdict_lines(it.verdict, LEFT)
        if self.compact and it.verdict is not None:
            for line in brief_lines(it, self._of, width - LEFT):
                yield _indented(line, LEFT)
            return
        for i, (member, called) in enumerate(zip_longest(it.members, it.witnesses)):
            inner = self._of(member)
            which = f"{called or 'model'}, member {i + 1} of {len(it.members)}: {member.score:.4f}, {inner.verdict()}"
            yield Text(" " * LEFT + which, style="bold")
            yield from inner.body(width)
        if it.opinion is not None:
            yield from self._second(it.opinion, width)

    def _of(self, member: Explanation) -> View:
        """Of a model inside."""
        return View(member, self.label_names, self.feature_names, top=self.top, compact=self.compact)

    def _second(self, opinion: Opinion, width: int) -> Iterator[Text]:
        """The ranker's margin, and how its score and the one below become the last one."""
        title = Text.assemble(
            ("ranker", "bold"),
            (f"  {opinion.margin:+.2f}", _colour(opinion.margin)),
            (f" → {opinion.score:.3f}", QUIET),
        )
        worth = "" if opinion.probability is None else f", calibrated {opinion.probability:.3f}"
        title.append(f"  (below it {opinion.base_score:.3f}{worth})", style=QUIET)
        yield _indented(title, LEFT)
        lines = self._packed(opinion, width - LEFT - 2) if self.compact else self._bars(opinion)
        for line in lines:
            yield _indented(line, LEFT + 2)

    def label(self, number: int) -> str:
        """Its name, or its number."""
        return f"label {number}" if self.label_names is None else self.label_names[number]

    def feature(self, number: int) -> str:
        """Its name, or its number."""
        return f"feature {number}" if self.feature_names is None else self.feature_names[number]

    def _which(self, path: Path) -> str:
        """`tree 2 of 3, place 1 of 2`; `cluster 1 of 7`."""
        it = self.explanation
        if it.shortlist is not None:
            which = next(i for i, other in enumerate(it.paths) if other is path) + 1
            return f"cluster {which} of {len(it.paths) + it.more_paths:,}" + ("" if path.reached else " (not reached)")
        places = [other for other in it.paths if other.tree == path.tree]
        words = [f"tree {path.tree + 1} of {it.n_trees}"] if it.n_trees > 1 else []
        if len(places) > 1:
            words.append(f"place {next(i for i, other in enumerate(places) if other is path) + 1} of {len(places)}")
        return ", ".join(words) + ("" if path.reached else " (not reached)")

    def _title(self, step: Step, width: int) -> Text:
        """What the step is about, its margin and score, its place in the beam; with as many names as fit."""
        end = Text.assemble((f"  {step.margin:+.2f}", _colour(step.margin)), (f" → {step.score:.3f}", QUIET))
        if step.node is not None:
            if step.rank is None:
                end.append("  not looked at", style=ODD)
            elif step.kept:
                end.append(f"  {step.rank:,} of {step.rivals:,}", style=QUIET)
            else:
                end.append(f"  {step.rank:,} of {step.rivals:,}: beyond the beam", style=ODD)
        elif step.edge_score is not None:
            end.append(f" × {step.edge_score:.3f} of the edge to it", style=QUIET)
            if step.rank is not None and not step.kept:
                end.append(f"  {step.rank:,} of {step.rivals:,}: beyond the shortlist", style=ODD)
        mark = Text("└ ", style=QUIET)
        if step.node is None:
            return Text.assemble(mark, (self.label(step.labels[0]), "bold"), end)
        count = Text(f"  ({step.n_labels:,} label{'s' if step.n_labels > 1 else ''})", style=QUIET)
        for shown in range(len(step.labels), 0, -1):
            names = " · ".join(self.label(label) for label in step.labels[:shown])
            group = (f"{step.group}: ", "bold") if step.group else ""
            start = Text.assemble(mark, group, names, " …" if step.n_labels > shown else "", count)
            if start.cell_len + end.cell_len <= width:
                break
        return Text.assemble(start, end)

    def _packed(self, step: Step | Opinion, width: int) -> Iterator[Text]:
        """`sourdough +1.05   starter +0.39   7 more −0.09   bias −0.78`, in as few lines as it takes."""
        shown, rest = step.pushes[: self.top], step.pushes[self.top :]
        parts = [
            Text.assemble(self.feature(push.feature), " ", (f"{push.contribution:+.2f}", _colour(push.contribution)))
            for push in shown
        ]
        parts += [Text(f"{len(rest)} more {_sum(rest):+.2f}", style=QUIET)] if rest else []
        if step.vector is not None:
            parts.append(Text.assemble(f"{VECTOR} ", (f"{step.vector:+.2f}", _colour(step.vector))))
        parts.append(Text(f"bias {step.bias:+.2f}", style=QUIET))
        line = parts[0]
        for part in parts[1:]:
            if line.cell_len + len(GAP) + part.cell_len > width:
                yield line
                line = part
            else:
                line = Text.assemble(line, GAP, part)
        yield line

    def _bars(self, step: Step | Opinion) -> Iterator[Text]:
        """A line for each feature: what it added, as a number and a bar, and how: its value × its weight."""
        shown, rest = step.pushes[: self.top], step.pushes[self.top :]
        rows = [
            (self.feature(push.feature), push.contribution, f"{push.value:.3g} × {push.weight:.3g}") for push in shown
        ]
        if step.vector is not None:
            rows.append((VECTOR, step.vector, ""))
        first_quiet = len(rows)
        rows += [(f"{len(rest)} more", _sum(rest), "")] if rest else []
        rows.append(("bias", step.bias, ""))
        wide = min(NAME, max(cell_len(name) for name, *_ in rows))
        longest = max(abs(amount) for _, amount, _ in rows) or 1.0
        for i, (name, amount, note) in enumerate(rows):
            style = QUIET if i >= first_quiet else _colour(amount)
            label = name if cell_len(name) <= wide else set_cell_size(name, wide - 1) + "…"
            share = abs(amount) / longest
            bar = "█" * round(BAR * min(share, 1)) if share == share else ""  # a damaged model may hold inf and NaN
            out = Text.assemble((set_cell_size(label, wide), QUIET if i >= first_quiet else ""), f"  {amount:+.3f}  ")
            out.stylize(style, wide)
            out.append(bar.ljust(BAR) if note else bar, style=style)
            out.append(f"  {note}" if note else "", style=QUIET)
            out.rstrip()
            yield out


def _indented(line: Text, left: int) -> Text:
    return Text.assemble(" " * left, line)


def _sum(pushes: tuple[Push, ...]) -> float:
    return sum(push.contribution for push in pushes)


def _colour(amount: float) -> str:
    return UP if amount > 0 else DOWN if amount < 0 else ""
