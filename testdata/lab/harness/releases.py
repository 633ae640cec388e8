"""What differs between the releases of Kafka: where their jars are and how their programs are called."""

# One of each line that is still met, oldest first; `lab all` runs brokers of each.
RELEASES = ("0.9.0.1", "0.10.2.2", "0.11.0.3", "1.1.1", "2.0.1", "2.3.1", "2.5.1", "2.8.2", "3.3.2", "3.7.2", "3.9.1", "4.0.0", "4.3.1", "4.4.0")
NEWEST_DUMP = "4.3.1"


def number(release):
    return tuple(int(n) for n in release.split("."))


def with_zookeeper(release):
    return number(release) < (3, 3)


def with_listener_names(release):
    """KIP-103; without it there is one listener, and no way through the proxy."""
    return number(release) >= (0, 10, 2)


def artifacts(release):
    """The Maven artifacts that a broker, its producer and its dump tool need."""
    n = number(release)
    scala = "2.11" if n < (0, 10) else "2.12" if n < (2, 4) else "2.13"
    wanted = [f"org.apache.kafka:kafka_{scala}:{release}", "org.slf4j:slf4j-nop:1.7.36"]
    if n < (2, 1):
        wanted.append("com.fasterxml.jackson.core:jackson-databind:2.15.4")     # for our own programs
    if n >= (3, 3):
        wanted.append(f"org.apache.kafka:kafka-tools:{release}")
    if (2, 0) <= n < (2, 4):
        wanted.append("org.apache.zookeeper:zookeeper:3.4.10")      # ZOOKEEPER-3779: 3.4.13 cannot connect on Java 14 and later
    if n < (1, 0):
        wanted.append("javax.xml.bind:jaxb-api:2.3.1")              # gone from the JDK with Java 11
    return wanted


def mirror_artifacts(release):
    """MirrorMaker 2."""
    return artifacts(release) + [f"org.apache.kafka:{name}:{release}" for name in ("connect-mirror", "connect-runtime")]


def dump_tool(release):
    return "kafka.tools.DumpLogSegments" if number(release) < (4, 1) else "org.apache.kafka.tools.DumpLogSegments"


def client_for(release):
    """The Java client that creates topics and reads: the broker's own, where it has an administrator
    that a newer one cannot do better."""
    n = number(release)
    return release if n < (0, 10) or n >= (2, 1) else "2.8.2"


def has_both_protocols(release):
    return number(release) >= (4, 0)


def transaction_protocol(release, asked):
    """The protocol of transactions that a broker has, 2 where it has both and nobody asks; None without transactions."""
    if has_both_protocols(release):
        return int(asked or 2)
    return 1 if number(release) >= (0, 11) else None


def producer_expiry(release, millis):
    """How long the broker remembers a producer that is silent (`producer.id.expiration.ms` since 3.4)."""
    if number(release) >= (3, 4):
        return {"producer.id.expiration.ms": millis, "producer.id.expiration.check.interval.ms": 200}
    return {"transactional.id.expiration.ms": millis}


def segment_bytes(release):
    """The topic setting for segments smaller than a user may ask for."""
    return "internal.segment.bytes" if number(release) >= (4, 0) else "segment.bytes"
