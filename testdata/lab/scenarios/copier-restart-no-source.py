"""As copier-restart, but only the target topic is given to the investigator."""
import importlib.util
import pathlib


def run(lab):
    spec = importlib.util.spec_from_file_location("copier", pathlib.Path(__file__).with_name("copier-restart.py"))
    copier = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(copier)
    lab.also["pipeline-replay"] = ["undetermined"]
    lab.not_certain = True
    lab.truth["skipConsumed"] = True
    copier.run(lab, keep=lambda path: str(path).startswith("mirror"))
