"""Three brokers, a topic on two of them. The follower dies, the leader alone takes orders 41 to 50 and dies,
and the follower is elected without them. The next life of the importer begins at order 36: orders 36 to 40
are stored twice, 41 to 50 once by the log that consumers read: what the dead leader alone held was sent again,
so its broker may truncate it.
"""
import signal

from harness.laboratory import orders

COPIES = {"resend-new-session": 5}


def run(lab):
    lab.start(brokers=3, settings={"broker.session.timeout.ms": 6000, "replica.lag.time.max.ms": 3000})
    lab.topic("orders", replicas=[2, 3], unclean_leader_election_enable="true", min_insync_replicas="1")
    first = lab.producer("A", own=True)
    first.send("orders", orders(1, 40), mode="batch")
    lab.brokers[3].stop(signal.SIGKILL)
    first.send("orders", orders(41, 50), mode="batch")
    first.kill()
    lab.brokers[2].stop(signal.SIGKILL)
    lab.brokers[3].start()
    lab.wait_until("an election", lambda: lab.administrate("leader", "orders", partition=0)["leader"] == 3)
    second = lab.producer("B", own=True)
    second.send("orders", orders(36, 60), mode="batch")
    second.close()
    lab.truth["mustReport"] = ["old-leader-tail"]
    lab.stop()
    lab.leave(labelled=3)
