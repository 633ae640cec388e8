"""A service with a bad month: deploys that change its settings, restarts from old positions, double sends,
aborted transactions, lost answers, a second instance, status updates; all over three partitions of one topic.
What happens is drawn from a seed: `lab run mixture --seed 7`.
"""
import json
import random
import time

from harness.laboratory import orders

COPIES = None
RUNS = [{"seed": seed} for seed in range(1, 9)] + [{"kafka": release, "seed": seed} for seed, release in enumerate(("0.11.0.3", "2.0.1", "2.5.1", "3.3.2", "3.9.1", "4.0.0", "4.4.0"), 20)]

KINDS = {
    "idempotent": {},
    "transactional": {"transactional_id": "shop"},
    "plain": {"enable_idempotence": "false", "retries": "10", "retry_backoff_ms": 100},
}


class Service:
    def __init__(self, lab, seed):
        self.lab, self.draw, self.next, self.lives, self.app = lab, random.Random(seed), 1, 0, None
        self.begin_life(0)

    def begin_life(self, back):
        if self.app:
            self.app.close(wait=30_000)
        self.kind = self.draw.choice(sorted(KINDS))
        self.app = self.instance(self.kind)
        if back:
            self.write(max(1, self.next - back), self.next - 1)

    def instance(self, kind):
        self.lives += 1
        settings = dict(KINDS[kind])
        if self.draw.random() < 0.5:
            settings |= {"linger_ms": 5, "batch_size": 600}
        return self.lab.producer(f"{kind}-{self.lives}", proxied=kind == "plain", **settings)

    def write(self, first, last, app=None, records=None):
        app, records = app or self.app, records or orders(first, last)
        whole = app is self.app and self.kind == "transactional"
        if whole:
            app.begin()
        app.send("orders", records, mode=self.draw.choice(["batch", "each"]))
        if whole:
            app.commit()

    def go_on(self):
        count = self.draw.randint(5, 25)
        self.write(self.next, self.next + count - 1)
        self.next += count

    def restart(self):
        self.begin_life(self.draw.choice([0, 3, 12, 20]))

    def double_send(self):
        first = max(1, self.next - self.draw.randint(2, 9))
        self.write(first, min(first + 2, self.next - 1))

    def update(self):
        chosen = sorted(self.draw.sample(range(1, self.next), min(4, self.next - 1)))
        self.lives += 1
        self.write(0, 0, records=[{"key": f"order-{n:04}", "value": json.dumps({"orderId": f"order-{n:04}", "status": f"paid-{self.lives}"})} for n in chosen])

    def abort(self):
        if self.kind == "transactional":
            records = orders(self.next, self.next + 7)
            self.app.begin()
            self.app.send("orders", records, mode="batch")
            self.app.abort()
            if self.draw.random() < 0.7:
                self.write(0, 0, records=records)
            self.next += 8

    def lose_answers(self):
        if self.kind == "plain":
            self.lab.proxy.silent = True
            self.app.send("orders", orders(self.next, self.next + 5), mode="later", pause=10)
            self.next += 6
            time.sleep(1.5)
            self.lab.proxy.cut()
            self.lab.proxy.silent = False
            self.app.results()

    def second_instance(self):
        other = self.instance("idempotent")
        for _ in range(3):
            first, last = self.next, self.next + 4
            pair = [self.app, other]
            self.draw.shuffle(pair)
            for app in pair:
                self.write(first, last, app)
            self.next = last + 1
        other.close()


def run(lab):
    lab.start()
    lab.topic("orders", 3)
    service = Service(lab, lab.seed)
    service.go_on()
    steps = [service.go_on, service.restart, service.double_send, service.update, service.abort, service.lose_answers, service.second_instance]
    for _ in range(14):
        service.draw.choice(steps)()
        service.go_on()
    service.app.close()
    lab.stop()
    lab.leave()
