//! Histories of three replicas with elections, truncation and clients that resend, drawn from a seed. What
//! an ordinary failover leaves behind is never called a loss; what an unclean election takes is.
//!
//! The model follows KIP-101 and KIP-279: a follower cuts its log where it parts from the leader's, and
//! copies from there; a record is acknowledged when all replicas in sync have it.

use super::tails::{CLUSTER, told};
use super::{ID, Tree};
use dedup_audit::testkit::{FIRST_TIME, SegmentBuilder, batch};
use std::collections::BTreeSet;

/// A small generator of numbers, the same on every machine.
struct Dice(u64);

impl Dice {
    fn below(&mut self, sides: u64) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33).unwrap()
            % usize::try_from(sides).unwrap()
    }
}

fn offset(at: usize) -> i64 {
    i64::try_from(at).unwrap()
}

/// An order in a log.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Entry {
    producer_id: i64,
    producer_epoch: i16,
    sequence: i32,
    order: i64,
    leader_epoch: i32,
}

#[derive(Clone, Default)]
struct Replica {
    log: Vec<Entry>,
    epochs: Vec<(i32, i64)>,
    high_watermark: usize,
    alive: bool,
    in_sync: bool,
}

struct Client {
    producer_id: i64,
    producer_epoch: i16,
    next_sequence: i32,
    /// Sent, and not acknowledged.
    pending: Vec<Entry>,
}

struct Cluster {
    dice: Dice,
    replicas: Vec<Replica>,
    leader: usize,
    leader_epoch: i32,
    clients: Vec<Client>,
    orders: i64,
    acknowledged: BTreeSet<i64>,
    unclean: bool,
    a_client_died: bool,
}

impl Cluster {
    /// `ids` of the clients; −1 is one without idempotence.
    fn new(seed: u64, ids: &[i64]) -> Self {
        let replica = || Replica { alive: true, in_sync: true, epochs: vec![(0, 0)], ..Replica::default() };
        let client = |&producer_id| Client {
            producer_id,
            producer_epoch: if producer_id < 0 { -1 } else { 0 },
            next_sequence: 0,
            pending: Vec::new(),
        };
        Self {
            dice: Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1),
            replicas: (0..3).map(|_| replica()).collect(),
            leader: 0,
            leader_epoch: 0,
            clients: ids.iter().map(client).collect(),
            orders: 0,
            acknowledged: BTreeSet::new(),
            unclean: false,
            a_client_died: false,
        }
    }

    fn append(&mut self, entry: Entry) {
        let entry = Entry { leader_epoch: self.leader_epoch, ..entry };
        self.replicas[self.leader].log.push(entry);
    }

    fn send(&mut self) {
        let at = self.dice.below(self.clients.len() as u64);
        let client = &mut self.clients[at];
        self.orders += 1;
        let entry = Entry {
            producer_id: client.producer_id,
            producer_epoch: client.producer_epoch,
            sequence: if client.producer_id < 0 { -1 } else { client.next_sequence },
            order: self.orders,
            leader_epoch: 0,
        };
        client.next_sequence += 1;
        client.pending.push(entry);
        self.append(entry);
    }

    fn fetch(&mut self, at: usize) {
        if at == self.leader || !self.replicas[at].alive {
            return;
        }
        let leading = self.replicas[self.leader].clone();
        let most = self.dice.below(6);
        let own = &mut self.replicas[at];
        let common = own.log.iter().zip(&leading.log).take_while(|(a, b)| a == b).count();
        own.log.truncate(common);
        own.log.extend(leading.log[common..].iter().take(most));
        let end = offset(own.log.len());
        own.epochs = leading.epochs.iter().copied().filter(|&(_, start)| start < end || start == 0).collect();
        own.high_watermark = leading.high_watermark.min(own.log.len());
        own.in_sync |= own.log.len() == leading.log.len();
        self.acknowledge();
    }

    fn acknowledge(&mut self) {
        let leading = &self.replicas[self.leader].log;
        let common = |replica: &Replica| replica.log.iter().zip(leading).take_while(|(a, b)| a == b).count();
        let mark = self.replicas.iter().filter(|replica| replica.in_sync).map(common).min().unwrap();
        let leading = &mut self.replicas[self.leader];
        leading.high_watermark = leading.high_watermark.max(mark);
        for client in &mut self.clients {
            let (acknowledged, mark) = (&mut self.acknowledged, leading.high_watermark);
            client.pending.retain(|sent| {
                let stands = leading.log[..mark].iter().any(|entry| entry.order == sent.order);
                if stands {
                    acknowledged.insert(sent.order);
                }
                !stands
            });
        }
    }

    /// The leader dies; somebody who is in sync leads, or, without one, somebody who is not.
    fn fail_over(&mut self, allow_unclean: bool) {
        let dead = self.leader;
        let alive = |replica: &Replica| replica.alive;
        let others: Vec<usize> = (0..3).filter(|&at| at != dead && alive(&self.replicas[at])).collect();
        let in_sync: Vec<usize> = others.iter().copied().filter(|&at| self.replicas[at].in_sync).collect();
        let (elected, unclean) = match (in_sync.first(), others.first()) {
            (Some(&at), _) => (at, false),
            (None, Some(&at)) if allow_unclean => (at, true),
            _ => return,
        };
        (self.replicas[dead].alive, self.replicas[dead].in_sync) = (false, false);
        self.unclean |= unclean;
        for (at, replica) in self.replicas.iter_mut().enumerate() {
            replica.in_sync &= !unclean || at == elected;
        }
        self.replicas[elected].in_sync = true;
        self.leader = elected;
        self.leader_epoch += 1 + i32::try_from(self.dice.below(2)).unwrap();
        let start = offset(self.replicas[elected].log.len());
        let epochs = &mut self.replicas[elected].epochs;
        epochs.retain(|&(_, begun)| begun < start);
        epochs.push((self.leader_epoch, start));
        self.resend();
        self.acknowledge();
    }

    /// Clients send again what was not acknowledged. A leader that lacks what it had acknowledged refuses the
    /// next sequence, and the client raises its epoch.
    fn resend(&mut self) {
        for at in 0..self.clients.len() {
            let log = &self.replicas[self.leader].log;
            let client = &mut self.clients[at];
            let mut pending = client.pending.clone();
            if client.producer_id >= 0 {
                let stored = |sent: &Entry| {
                    log.iter().any(|entry| {
                        (entry.producer_id, entry.producer_epoch, entry.sequence)
                            == (sent.producer_id, sent.producer_epoch, sent.sequence)
                    })
                };
                let last = log.iter().rev().find(|entry| entry.producer_id == client.producer_id);
                let left: Vec<Entry> = pending.iter().copied().filter(|sent| !stored(sent)).collect();
                let follows = left.first().is_none_or(|first| {
                    let next = last
                        .filter(|last| last.producer_epoch == first.producer_epoch)
                        .map_or(0, |last| last.sequence + 1);
                    first.sequence == next
                });
                pending = left;
                if !follows {
                    client.producer_epoch += 1;
                    client.next_sequence = 0;
                    for sent in &mut pending {
                        (sent.producer_epoch, sent.sequence) = (client.producer_epoch, client.next_sequence);
                        client.next_sequence += 1;
                        let old = client.pending.iter_mut().find(|old| old.order == sent.order).unwrap();
                        *old = *sent;
                    }
                }
            }
            for sent in pending {
                self.append(sent);
            }
        }
    }

    fn step(&mut self, allow_unclean: bool) {
        match self.dice.below(20) {
            0..8 => self.send(),
            8..15 => {
                let at = self.dice.below(3);
                self.fetch(at);
            }
            15 => {
                let at = self.dice.below(3);
                if at != self.leader && self.replicas[at].log.len() < self.replicas[self.leader].log.len() {
                    self.replicas[at].in_sync = false;
                    self.acknowledge();
                }
            }
            16 => {
                let at = self.dice.below(3);
                self.replicas[at].alive = true;
            }
            17 if self.dice.below(4) == 0 => {
                // A client dies, and another one takes its place.
                let at = self.dice.below(self.clients.len() as u64);
                let client = &mut self.clients[at];
                self.a_client_died |= !client.pending.is_empty();
                client.pending.clear();
                if client.producer_id >= 0 {
                    (client.producer_id, client.producer_epoch, client.next_sequence) =
                        (client.producer_id + 1000, 0, 0);
                }
            }
            18 => self.fail_over(allow_unclean),
            _ => {}
        }
    }

    fn write(&mut self) -> Tree {
        let tree = Tree::new();
        for (at, replica) in self.replicas.iter().enumerate() {
            let log = replica.log.iter().fold(SegmentBuilder::new(), |log, entry| {
                let sent = batch()
                    .producer(entry.producer_id, entry.producer_epoch, entry.sequence)
                    .time(FIRST_TIME + entry.order * 1000)
                    .record(format!("order-{}", entry.order), "paid");
                log.leader_epoch(entry.leader_epoch).batch(sent)
            });
            let dir = ["a", "b", "c"][at];
            let broker = i32::try_from(at).unwrap() + 1;
            // The checkpoint is younger or older than what it says, never ahead of it.
            let behind = self.dice.below(4);
            let mark = offset(replica.high_watermark.saturating_sub(behind));
            tree.log(dir, (broker, CLUSTER), "orders-0", ID, log)
                .leader_epochs(dir, "orders-0", &replica.epochs)
                .offset_checkpoint(dir, "replication-offset-checkpoint", ("orders", 0), mark);
        }
        tree
    }

    /// Orders that were acknowledged, and that a replica holds and the leader does not.
    fn lost(&self) -> Vec<i64> {
        let held: BTreeSet<i64> =
            self.replicas.iter().flat_map(|replica| replica.log.iter().map(|e| e.order)).collect();
        let stored: BTreeSet<i64> = self.replicas[self.leader].log.iter().map(|entry| entry.order).collect();
        self.acknowledged
            .iter()
            .copied()
            .filter(|order| held.contains(order) && !stored.contains(order))
            .collect()
    }
}

#[test]
fn an_ordinary_failover_is_never_called_a_loss() {
    let (mut tails, mut elections) = (0, 0);
    for seed in 0..40 {
        let mut cluster = Cluster::new(seed, [&[7, 8][..], &[7, -1]][usize::try_from(seed % 2).unwrap()]);
        for _ in 0..60 {
            cluster.step(false);
        }
        assert!(cluster.lost().is_empty(), "seed {seed}: the model lost something");
        elections += cluster.leader_epoch;
        let report = cluster.write().scan();
        let told = told(&report);
        tails += told.len();
        let unprotected = cluster.clients.iter().any(|client| client.producer_id < 0);
        for &(code, severity) in &told {
            // A client that died left records of which nobody knows whether they were acknowledged.
            let may = match code {
                "old-leader-tail" => severity == "info" || cluster.a_client_died,
                "replica-divergence" => cluster.a_client_died && unprotected,
                _ => false,
            };
            assert!(may, "seed {seed}: {told:?} {report:#}");
        }
    }
    assert!(elections > 40 && tails > 5, "{elections} elections, {tails} tails");
}

#[test]
fn what_an_unclean_election_takes_is_missed() {
    let mut found = 0;
    for seed in 0..40 {
        let mut cluster = Cluster::new(seed, &[-1]);
        for _ in 0..60 {
            cluster.step(true);
        }
        // The newer leader has been written to.
        cluster.send();
        let lost = cluster.lost();
        let report = cluster.write().scan();
        let told = told(&report);
        if !lost.is_empty() {
            assert!(cluster.unclean);
            found += 1;
            assert!(told.contains(&("replica-divergence", "high")), "seed {seed}: {lost:?} {told:?}");
        }
        assert!(told.iter().all(|(code, _)| *code != "leader-epoch-anomaly"), "seed {seed}: {told:?}");
    }
    assert!(found > 3, "{found} histories with a loss");
}
