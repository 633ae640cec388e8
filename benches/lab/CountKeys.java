import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.StringDeserializer;

/**
 * What people do today who want to know which events are stored twice: reads a topic from its begin to
 * its end with one consumer, counts every key in a map, and prints how many came more than once.
 *
 * Arguments: bootstrap server, topic.
 */
public class CountKeys {
    public static void main(String[] args) {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", args[0]);
        settings.put("enable.auto.commit", "false");
        settings.put("auto.offset.reset", "earliest");
        settings.put("isolation.level", "read_committed");
        // Larger answers than by default, in favour of the consumer.
        settings.put("max.poll.records", "10000");
        settings.put("fetch.max.bytes", "67108864");
        settings.put("max.partition.fetch.bytes", "16777216");
        long begin = System.nanoTime();
        Map<String, Integer> counts = new HashMap<>();
        long records = 0;
        try (var consumer =
                new KafkaConsumer<String, byte[]>(settings, new StringDeserializer(), new ByteArrayDeserializer())) {
            List<TopicPartition> partitions = consumer.partitionsFor(args[1]).stream()
                .map(info -> new TopicPartition(info.topic(), info.partition())).toList();
            consumer.assign(partitions);
            consumer.seekToBeginning(partitions);
            Map<TopicPartition, Long> ends = consumer.endOffsets(partitions);
            boolean more = true;
            while (more) {
                for (var record : consumer.poll(Duration.ofMillis(500))) {
                    counts.merge(record.key(), 1, Integer::sum);
                    records++;
                }
                more = partitions.stream().anyMatch(partition -> consumer.position(partition) < ends.get(partition));
            }
        }
        long repeated = counts.values().stream().filter(count -> count > 1).count();
        double seconds = (System.nanoTime() - begin) / 1e9;
        System.out.printf("%d records, %d repeated keys, %.2f s%n", records, repeated, seconds);
    }
}
