import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.admin.AdminClient;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.TopicPartitionReplica;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Producers, consumers and an administrator that do what they are told: one JSON command a line on
 * standard input, one JSON answer a line on standard output. A process of its own, so that it can be
 * killed as an application is.
 *
 * <p>Compiled once and run with the client of any release from 0.9 on: the JVM links a call when it is
 * made, so what a release does not have matters only to whoever asks for it. The argument is the release.
 */
public class Client {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static String release;
    private static final Map<String, KafkaProducer<byte[], byte[]>> PRODUCERS = new HashMap<>();
    private static final Map<String, List<Future<RecordMetadata>>> UNDERWAY = new HashMap<>();
    private static final Map<String, KafkaConsumer<byte[], byte[]>> CONSUMERS = new HashMap<>();

    public static void main(String[] args) throws Exception {
        release = args[0];
        var commands = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = commands.readLine(); line != null; line = commands.readLine()) {
            ObjectNode answer = JSON.createObjectNode();
            try {
                obey(JSON.readTree(line), answer);
            } catch (Exception failure) {
                Throwable cause = failure.getCause() == null ? failure : failure.getCause();
                answer.put("error", cause.getClass().getSimpleName() + ": " + cause.getMessage());
            }
            System.out.println(JSON.writeValueAsString(answer));
        }
        Runtime.getRuntime().halt(0);
    }

    private static void obey(JsonNode command, ObjectNode answer) throws Exception {
        String name = command.path("name").asText();
        switch (command.get("do").asText()) {
            case "topic" -> createTopic(command);
            case "delete-topic" -> {
                try (AdminClient admin = AdminClient.create(settings(command))) {
                    admin.deleteTopics(List.of(name)).all().get(60, TimeUnit.SECONDS);
                }
            }
            case "more-partitions" -> {
                try (AdminClient admin = AdminClient.create(settings(command))) {
                    var grown = Map.of(name, NewPartitions.increaseTo(command.get("count").asInt()));
                    admin.createPartitions(grown).all().get(60, TimeUnit.SECONDS);
                }
            }
            case "delete-records" -> {
                var place = new TopicPartition(name, command.get("partition").asInt());
                try (AdminClient admin = AdminClient.create(settings(command))) {
                    var before = RecordsToDelete.beforeOffset(command.get("before").asLong());
                    admin.deleteRecords(Map.of(place, before)).all().get(60, TimeUnit.SECONDS);
                }
            }
            case "move" -> {
                var replica = new TopicPartitionReplica(name, command.get("partition").asInt(), command.get("broker").asInt());
                try (AdminClient admin = AdminClient.create(settings(command))) {
                    admin.alterReplicaLogDirs(Map.of(replica, command.get("directory").asText())).all().get(60, TimeUnit.SECONDS);
                }
            }
            case "alter-config" -> {
                List<AlterConfigOp> operations = new ArrayList<>();
                command.get("configs").fields().forEachRemaining(c -> operations.add(
                    new AlterConfigOp(new ConfigEntry(c.getKey(), c.getValue().asText()), AlterConfigOp.OpType.SET)));
                var broker = new ConfigResource(ConfigResource.Type.BROKER, command.get("broker").asText());
                try (AdminClient admin = AdminClient.create(settings(command))) {
                    admin.incrementalAlterConfigs(Map.of(broker, operations)).all().get(60, TimeUnit.SECONDS);
                }
            }
            case "leader" -> {
                var bytes = new ByteArrayDeserializer();
                try (var consumer = new KafkaConsumer<>(settings(command), bytes, bytes)) {
                    var leader = consumer.partitionsFor(name).get(command.get("partition").asInt()).leader();
                    answer.put("leader", leader == null ? -1 : leader.id());
                }
            }
            case "producer" -> {
                var bytes = new ByteArraySerializer();
                PRODUCERS.put(name, new KafkaProducer<>(settings(command), bytes, bytes));
                UNDERWAY.put(name, new ArrayList<>());
                if (command.get("settings").has("transactional.id")) {
                    PRODUCERS.get(name).initTransactions();
                }
            }
            case "send" -> send(name, command, answer);
            case "results" -> results(name, answer);
            case "begin" -> PRODUCERS.get(name).beginTransaction();
            case "commit" -> PRODUCERS.get(name).commitTransaction();
            case "abort" -> PRODUCERS.get(name).abortTransaction();
            case "send-offsets" -> PRODUCERS.get(name).sendOffsetsToTransaction(
                offsets(command), CONSUMERS.get(command.get("consumer").asText()).groupMetadata());
            case "close" -> close(PRODUCERS.remove(name), command.path("wait").asLong(30_000));
            case "consumer" -> {
                var bytes = new ByteArrayDeserializer();
                CONSUMERS.put(name, new KafkaConsumer<>(settings(command), bytes, bytes));
                CONSUMERS.get(name).subscribe(strings(command.get("topics")));
            }
            case "poll" -> poll(name, command, answer.putArray("records"));
            case "commit-offsets" -> CONSUMERS.get(name).commitSync(offsets(command));
            case "close-consumer" -> CONSUMERS.remove(name).close();
            case "read" -> read(command, answer.putArray("records"));
            default -> throw new IllegalArgumentException("unknown command");
        }
    }

    private static Properties settings(JsonNode command) {
        Properties settings = new Properties();
        command.get("settings").fields().forEachRemaining(s -> settings.put(s.getKey(), s.getValue().asText()));
        return settings;
    }

    private static List<String> strings(JsonNode array) {
        List<String> strings = new ArrayList<>();
        array.forEach(s -> strings.add(s.asText()));
        return strings;
    }

    private static Map<TopicPartition, OffsetAndMetadata> offsets(JsonNode command) {
        Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
        command.get("offsets").forEach(o -> offsets.put(
            new TopicPartition(o.get(0).asText(), o.get(1).asInt()), new OffsetAndMetadata(o.get(2).asLong())));
        return offsets;
    }

    private static void createTopic(JsonNode command) throws Exception {
        Map<String, String> configs = new HashMap<>();
        command.get("configs").fields().forEachRemaining(c -> configs.put(c.getKey(), c.getValue().asText()));
        NewTopic topic;
        if (command.has("replicas")) {
            List<Integer> replicas = new ArrayList<>();
            command.get("replicas").forEach(r -> replicas.add(r.asInt()));
            Map<Integer, List<Integer>> assigned = new HashMap<>();
            for (int p = 0; p < command.get("partitions").asInt(); p++) {
                assigned.put(p, replicas);
            }
            topic = new NewTopic(command.get("name").asText(), assigned);
        } else {
            topic = new NewTopic(command.get("name").asText(), command.get("partitions").asInt(), (short) 1);
        }
        topic.configs(configs);
        try (AdminClient admin = AdminClient.create(settings(command))) {
            admin.createTopics(List.of(topic)).all().get(60, TimeUnit.SECONDS);
        }
    }

    private static byte[] bytes(JsonNode record, String field) {
        return record.path(field).isTextual() ? record.get(field).asText().getBytes(StandardCharsets.UTF_8) : null;
    }

    /** With `mode` each: one after the other; batch: all, then flush; later: `results` collects them. */
    private static void send(String name, JsonNode command, ObjectNode answer) throws Exception {
        KafkaProducer<byte[], byte[]> producer = PRODUCERS.get(name);
        String mode = command.get("mode").asText();
        for (JsonNode r : command.get("records")) {
            Integer partition = r.path("partition").isInt() ? r.get("partition").asInt() : null;
            Long time = r.path("time").isNumber() ? r.get("time").asLong() : null;
            String topic = r.get("topic").asText();
            var record = isAtLeast(0, 10)
                ? new ProducerRecord<>(topic, partition, time, bytes(r, "key"), bytes(r, "value"))
                : new ProducerRecord<>(topic, partition, bytes(r, "key"), bytes(r, "value"));
            r.path("headers").fields().forEachRemaining(
                h -> record.headers().add(h.getKey(), h.getValue().asText().getBytes(StandardCharsets.UTF_8)));
            Future<RecordMetadata> stored = producer.send(record);
            UNDERWAY.get(name).add(stored);
            if (mode.equals("each")) {
                try {
                    stored.get();
                } catch (Exception told) {
                    continue; // `results` tells it
                }
            }
            if (command.path("pause").asLong() > 0) {
                Thread.sleep(command.get("pause").asLong());
            }
        }
        if (!mode.equals("later")) {
            producer.flush();
            results(name, answer);
        }
    }

    private static void results(String name, ObjectNode answer) throws Exception {
        ArrayNode results = answer.putArray("results");
        for (Future<RecordMetadata> stored : UNDERWAY.get(name)) {
            ObjectNode result = results.addObject();
            try {
                RecordMetadata at = stored.get(90, TimeUnit.SECONDS);
                result.put("partition", at.partition()).put("offset", at.offset());
            } catch (Exception failure) {
                Throwable cause = failure.getCause() == null ? failure : failure.getCause();
                result.put("error", cause.getClass().getSimpleName());
            }
        }
        UNDERWAY.get(name).clear();
    }

    private static void poll(String name, JsonNode command, ArrayNode records) {
        long end = System.currentTimeMillis() + command.get("wait").asLong();
        int most = command.get("most").asInt();
        while (records.size() < most && System.currentTimeMillis() < end) {
            for (var record : poll(CONSUMERS.get(name), 200)) {
                records.add(row(record));
            }
        }
    }

    private static ArrayNode row(ConsumerRecord<byte[], byte[]> record) {
        ArrayNode row = JSON.createArrayNode().add(record.topic()).add(record.partition()).add(record.offset());
        row.add(record.key() == null ? null : new String(record.key(), StandardCharsets.UTF_8));
        row.add(record.value() == null ? null : new String(record.value(), StandardCharsets.UTF_8));
        if (isAtLeast(0, 10)) {
            row.add(record.timestamp());
        }
        if (isAtLeast(0, 11)) {
            ObjectNode headers = row.addObject();
            record.headers().forEach(h -> headers.put(h.key(), new String(h.value(), StandardCharsets.UTF_8)));
        }
        return row;
    }

    private static boolean isAtLeast(int major, int minor) {
        String[] numbers = release.split("\\.");
        int ours = Integer.parseInt(numbers[0]) * 100 + Integer.parseInt(numbers[1]);
        return ours >= major * 100 + minor;
    }

    private static ConsumerRecords<byte[], byte[]> poll(KafkaConsumer<byte[], byte[]> consumer, long millis) {
        return isAtLeast(2, 0) ? consumer.poll(Duration.ofMillis(millis)) : consumer.poll(millis);
    }

    private static void assign(KafkaConsumer<byte[], byte[]> consumer, List<TopicPartition> places) throws Exception {
        if (isAtLeast(0, 10)) {
            consumer.assign(places);
        } else {
            KafkaConsumer.class.getMethod("assign", List.class).invoke(consumer, places);
        }
    }

    private static void close(KafkaProducer<byte[], byte[]> producer, long millis) {
        if (isAtLeast(2, 2)) {
            producer.close(Duration.ofMillis(millis));
        } else {
            producer.close(millis, TimeUnit.MILLISECONDS);
        }
    }

    /** All records of some topics, from the beginning to where a reader of this isolation may go. */
    private static void read(JsonNode command, ArrayNode records) throws Exception {
        var bytes = new ByteArrayDeserializer();
        try (var consumer = new KafkaConsumer<>(settings(command), bytes, bytes)) {
            List<TopicPartition> places = new ArrayList<>();
            var known = consumer.listTopics();
            for (String topic : strings(command.get("topics"))) {
                known.getOrDefault(topic, List.of()).forEach(p -> places.add(new TopicPartition(topic, p.partition())));
            }
            assign(consumer, places);
            if (!isAtLeast(0, 10)) {
                readUntilSilent(consumer, records);
                return;
            }
            consumer.seekToBeginning(places);
            var ends = consumer.endOffsets(places);
            while (places.stream().anyMatch(p -> consumer.position(p) < ends.get(p))) {
                poll(consumer, 300).forEach(r -> records.add(row(r)));
            }
        }
    }

    /** For clients that cannot ask where a log ends; they begin where `auto.offset.reset` says. */
    private static void readUntilSilent(KafkaConsumer<byte[], byte[]> consumer, ArrayNode records) {
        for (long heard = System.currentTimeMillis(); System.currentTimeMillis() - heard < 4000;) {
            for (var record : poll(consumer, 300)) {
                records.add(row(record));
                heard = System.currentTimeMillis();
            }
        }
    }
}
