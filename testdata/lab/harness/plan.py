"""Which scenarios there are, and with which parameters each is run.

A scenario is a module with a documentation, a function `run(lab, …)`, perhaps `COPIES`, and perhaps `RUNS`: a
list of dictionaries with arguments of `run`, and perhaps `kafka`, the release of the broker, and `seed`.
"""
import collections
import importlib.util
import inspect
import json
import time
import traceback
from dataclasses import dataclass

from . import jars
from .laboratory import Laboratory

NEWEST = "4.3.1"
# A small varied part, the most telling first: KRaft and ZooKeeper, two clients, with and without
# idempotence, both transaction protocols.
SMALL = ("restart-old-position", "txn-restart-resend-1", "lost-answers-java", "restart-old-position-2.0.1", "mixture-3", "client-plan-confluent", "txn-commit-retried-2")


@dataclass
class Run:
    scenario: "Scenario"
    release: str
    parameters: dict
    seed: int = 0

    @property
    def name(self):
        parts = [self.scenario.name, *map(str, self.parameters.values())]
        parts += [self.release] if self.release != NEWEST else []
        parts += [str(self.seed)] if self.seed else []
        return "-".join(parts).replace("_", "-")

    def make(self, out):
        """Runs it; False when the experiment itself went wrong."""
        began = time.time()
        lab = Laboratory(self.name, self.scenario.story, self.release, out, self.seed, self.parameters)
        try:
            self.scenario.run(lab, **self.parameters)
            self.check(json.loads((lab.out / self.name / "truth.json").read_text()))
            print(f"made {self.name} ({time.time() - began:.0f} s)", flush=True)
            return True
        except Exception:
            # A folder without a label is not judged, and is made again.
            (lab.out / self.name / "truth.json").unlink(missing_ok=True)
            traceback.print_exc()
            print(f"FAIL {self.name} ({time.time() - began:.0f} s)", flush=True)
            return False
        finally:
            lab.end()

    def check(self, label):
        """Whether that happened of which the scenario tells: an experiment may fail without an error."""
        wanted = self.scenario.copies
        if callable(wanted):
            wanted = wanted(self.release, **self.parameters)
        if wanted is None:
            return
        made = collections.Counter()
        for group in label["groups"]:
            if group["cause"] != "same-key-update" and not group.get("optional"):
                made[group["cause"]] += len(group["copies"]) - 1
        for code in sorted(made.keys() | wanted.keys()):
            copies = wanted.get(code, 0)
            least, most = copies if isinstance(copies, tuple) else (copies, copies)
            if not least <= made[code] <= most:
                raise RuntimeError(f"{made[code]} copies of {code} were stored, not {copies}")


class Scenario:
    def __init__(self, path):
        spec = importlib.util.spec_from_file_location(path.stem.replace("-", "_"), path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        self.name, self.story, self.run = path.stem, module.__doc__.strip(), module.run
        # {cause: how many copies, or the least and the most}, or a function of release and parameters that
        # tells it; None where chance decides.
        self.copies = getattr(module, "COPIES", {})
        self.runs = [self._run(dict(given)) for given in getattr(module, "RUNS", [{}])]

    def _run(self, given):
        return Run(self, given.pop("kafka", NEWEST), seed=given.pop("seed", 0), parameters=given)

    def runs_as_asked(self, release, given, seed):
        """The runs of its list, or one with what was asked for on the command line and otherwise as the first
        of the list that fits."""
        if not (release or given or seed):
            return self.runs
        fit = [run for run in self.runs if all(str(run.parameters.get(k, v)) == v for k, v in given.items())]
        like = max(fit, default=Run(self, NEWEST, {}), key=lambda run: (len(given.keys() & run.parameters.keys()), run.release == release, run.seed == seed))
        parameters = like.parameters | {k: v for k, v in given.items() if k not in like.parameters}
        known = list(inspect.signature(self.run).parameters.values())[1:]
        if strange := sorted(parameters.keys() - {p.name for p in known}):
            raise ValueError(f"{self.name} has no parameter {strange[0]}" + (f", only {', '.join(p.name for p in known)}" if known else ""))
        if missing := [p.name for p in known if p.default is p.empty and p.name not in parameters]:
            raise ValueError(f"{self.name} needs --set {missing[0]}=…")
        return [Run(self, release or like.release, parameters, seed or like.seed)]


def small(limit):
    """The runs of `SMALL` as long as there is time: a generator, so that each is asked for when it is due."""
    runs, began = {run.name: run for scenario in scenarios().values() for run in scenario.runs}, time.time()
    for name in SMALL:
        if time.time() - began > limit:
            print(f"left out, no time: {name}", flush=True)
        else:
            yield runs[name]


def scenarios():
    found = (Scenario(path) for path in sorted((jars.HERE / "scenarios").glob("*.py")))
    return {scenario.name: scenario for scenario in found}
