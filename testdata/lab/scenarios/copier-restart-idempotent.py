"""The copier of copier-restart with idempotence on: a restart is also another producer id."""
import importlib.util
import pathlib


def run(lab):
    spec = importlib.util.spec_from_file_location("copier", pathlib.Path(__file__).with_name("copier-restart.py"))
    copier = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(copier)
    lab.also["pipeline-replay"] = ["resend-new-session"]
    copier.run(lab, settings={"enable_idempotence": "true"})
