"""Which scenarios there are, and with which parameters each is run.

A scenario is a module with a documentation, a function `run(lab, …)` and perhaps `RUNS`: a list of
dictionaries with arguments of `run`, and perhaps `kafka`, the release of the broker, and `seed`.
"""
import importlib.util
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
        lab = Laboratory(self.name, self.scenario.story, self.release, out, self.seed)
        try:
            self.scenario.run(lab, **self.parameters)
            print(f"made {self.name} ({time.time() - began:.0f} s)", flush=True)
            return True
        except Exception:
            traceback.print_exc()
            print(f"FAIL {self.name} ({time.time() - began:.0f} s)", flush=True)
            return False
        finally:
            lab.end()


class Scenario:
    def __init__(self, path):
        spec = importlib.util.spec_from_file_location(path.stem.replace("-", "_"), path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        self.name, self.story, self.run = path.stem, module.__doc__.strip(), module.run
        self.runs = [self._run(dict(given)) for given in getattr(module, "RUNS", [{}])]

    def _run(self, given):
        return Run(self, given.pop("kafka", NEWEST), seed=given.pop("seed", 0), parameters=given)

    def runs_as_asked(self, release, parameters, seed):
        """The runs of its list, or one with what was asked for on the command line."""
        if not (release or parameters or seed):
            return self.runs
        return [Run(self, release or NEWEST, parameters, seed)]


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
