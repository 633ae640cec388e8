"""Applications: processes that hold producers and consumers and do what they are told."""
import json
import subprocess
from dataclasses import dataclass


@dataclass
class Send:
    number: int             # order of all that happened
    session: str
    topic: str
    partition: int | None
    key: str | None
    value: str | None
    headers: dict
    cause: str = ""         # set where the mechanism is not the session's, as for a pipeline
    same_event: bool = False
    offset: int | None = None
    result: str = ""


class Application:
    """A process with producers and consumers in it."""

    def __init__(self, command, log):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log.open("a"), text=True)
        self.log = log

    def tell(self, may_fail=False, **command):
        self.process.stdin.write(json.dumps(command) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"the client ended at {command['do']}: {self.log.read_text()[-2000:]}")
        answer = json.loads(line)
        if answer.get("error") and not may_fail:
            raise RuntimeError(f"{command.get('do')} {command.get('name')}: {answer['error']}")
        return answer

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()


class Producer:
    """One producer object: a session. Sends go into the ledger with what became of them."""

    def __init__(self, lab, name, application, settings):
        self.lab, self.name, self.application = lab, name, application
        application.tell(do="producer", name=name, settings=settings)
        lab.opened[name] = lab.tick()
        self.pending = []

    def send(self, topic, records, mode="each", pause=0, cause="", same_event=False):
        """`records`: dicts with key, value, and perhaps partition, time (ms) and headers. With `mode` each:
        one after the other; batch: all, then flush; later: they may fail, and `results` notes it."""
        sends = [Send(self.lab.tick(), self.name, topic, r.get("partition"), r.get("key"), r.get("value"), r.get("headers", {}), cause, same_event) for r in records]
        self.lab.sends += sends
        self.pending += sends
        answer = self.application.tell(do="send", name=self.name, mode=mode, pause=pause, records=[{"topic": topic, **r} for r in records])
        if mode != "later":
            self._note(answer["results"])
            if failed := [send for send in sends if send.result != "ok"]:
                raise RuntimeError(f"{len(failed)} sends of {self.name} failed, e.g. {failed[0]}")

    def results(self):
        self._note(self.application.tell(do="results", name=self.name)["results"])

    def _note(self, results):
        for send, result in zip(self.pending, results, strict=True):
            if result.get("error"):
                send.result = result["error"]
            else:
                send.partition, send.result = result["partition"], "ok"
                send.offset = result["offset"] if result["offset"] >= 0 else None
        self.pending = []

    def tell(self, command, **more):
        return self.application.tell(do=command, name=self.name, **more)

    def begin(self): self.tell("begin")
    def commit(self, may_fail=False): return self.tell("commit", may_fail=may_fail)
    def abort(self): self.tell("abort")
    def close(self, wait=30_000): self.tell("close", wait=wait)

    def kill(self):
        """kill -9 of its process."""
        self.application.kill()
