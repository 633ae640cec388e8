"""A transaction over two topics, and the leader of one of them dies.

`clean`: in the middle of it, when the follower has everything. `hangs`: the follower hangs while the leader stores
half of the transaction, so the dead leader's log ends in what it will truncate, and the client writes it again.
`marker`: the follower is dead, and the leader alone, the only replica in sync, takes the end of the transaction and its
commit; the client dies, then the leader, and the follower is elected: committed records are lost with their marker, and
what the follower had of the transaction stays open. `goes-on`: the same with one more transaction behind it, and the client goes on
after the election. The topic `payments` lies on other brokers and has each transaction as it was committed.
"""
import signal
import time

from harness.laboratory import orders

RUNS = [{"how": how, "protocol": protocol} for how in ("clean", "hangs", "marker", "goes-on") for protocol in (2, 1)]
COPIES = {}


def run(lab, how="clean", protocol=2):
    lab.start(protocol=protocol, brokers=3, settings={
        "broker.session.timeout.ms": 6000, "replica.lag.time.max.ms": 3000, "transaction.state.log.replication.factor": 2,
        "unclean.leader.election.interval.ms": 1000})
    is_unclean = how in ("marker", "goes-on")
    lab.topic("orders", replicas=[2, 3], unclean_leader_election_enable=str(is_unclean).lower(), min_insync_replicas="1")
    lab.topic("payments", replicas=[1, 3])
    app = lab.producer("A", own=True, transactional_id="importer-7f3a", request_timeout_ms=10000, retry_backoff_ms=500)

    def both(first, last, mode="batch"):
        app.send("orders", orders(first, last), mode=mode)
        app.send("payments", orders(first, last), mode=mode)

    def transaction(first, last):
        app.begin()
        both(first, last)
        app.commit()

    transaction(1, 10)
    app.begin()
    both(11, 20)
    if how == "clean":
        lab.brokers[2].stop(signal.SIGKILL)
        both(21, 30)
        app.commit()
    elif how == "hangs":
        lab.brokers[3].hang()
        time.sleep(0.7)
        both(21, 30, mode="later")
        time.sleep(1)
        lab.brokers[2].stop(signal.SIGKILL)
        lab.brokers[3].wake()
        app.results()
        app.commit()
        lab.truth["mustReport"] = ["old-leader-tail"]
    else:
        lab.brokers[3].stop(signal.SIGKILL)
        both(21, 30)
        app.commit()
        if how == "goes-on":
            transaction(31, 40)
        time.sleep(1)
        if how == "marker":
            app.kill()
        lab.brokers[2].stop(signal.SIGKILL)
        lab.brokers[3].start()
        lab.wait_until("an election", lambda: lab.administrate("leader", "orders", partition=0)["leader"] == 3)
        if how == "goes-on":
            app.begin()
            both(41, 50, mode="later")
            app.commit(may_fail=True)
            app.results()
        lab.truth["mustReport"] = ["replica-divergence"]
    if not is_unclean:
        transaction(31, 40)
    time.sleep(1)
    lab.stop(count=not is_unclean)
    lab.leave(labelled=3, metadata=True)
