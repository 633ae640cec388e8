import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * Writes payment events of about 300 bytes, with the event id as record key, and then the last of
 * them once more through a new producer, as a service does that restarts from an old position.
 *
 * Arguments: bootstrap server, codec, partitions, records, records written again.
 */
public class Payments {
    private static final String TOPIC = "payments";
    private static final long BEGIN = 1_700_000_000_000L;
    private static final String[] CURRENCIES = {"EUR", "GBP", "PLN", "SEK", "USD"};
    private static final String[] STATES = {"authorised", "captured", "captured", "captured", "refunded"};

    public static void main(String[] args) throws Exception {
        String server = args[0];
        String codec = args[1];
        int partitions = Integer.parseInt(args[2]);
        long records = Long.parseLong(args[3]);
        long again = Long.parseLong(args[4]);

        Properties settings = new Properties();
        settings.put("bootstrap.servers", server);
        try (Admin admin = Admin.create(settings)) {
            NewTopic topic = new NewTopic(TOPIC, Optional.of(partitions), Optional.of((short) 1));
            admin.createTopics(List.of(topic)).all().get(60, TimeUnit.SECONDS);
        }
        settings.put("compression.type", codec);
        write(settings, 0, records);
        write(settings, Math.max(0, records - again), records);
    }

    /** One producer session, from one event to another; a failed send ends the run. */
    private static void write(Properties settings, long from, long to) throws Exception {
        AtomicReference<Exception> failure = new AtomicReference<>();
        var strings = new StringSerializer();
        try (var producer = new KafkaProducer<String, String>(settings, strings, strings)) {
            for (long n = from; n < to && failure.get() == null; n++) {
                producer.send(event(n), (metadata, exception) -> {
                    if (exception != null) {
                        failure.set(exception);
                    }
                });
            }
        }
        if (failure.get() != null) {
            throw failure.get();
        }
    }

    /** The n-th event; the same bytes whoever asks. */
    private static ProducerRecord<String, String> event(long n) {
        var random = new SplittableRandom(n);
        HexFormat hex = HexFormat.of();
        String id = "pay-" + hex.toHexDigits(n, 10) + "-" + hex.toHexDigits(random.nextLong());
        String value = "{\"eventId\":\"" + id
            + "\",\"orderId\":\"order-" + random.nextInt(100_000_000)
            + "\",\"account\":\"DE" + random.nextLong(100_000_000_000_000_000L)
            + "\",\"merchant\":\"merchant-" + random.nextInt(5_000)
            + "\",\"amount\":\"" + random.nextInt(1_000) + "." + (10 + random.nextInt(90))
            + "\",\"currency\":\"" + CURRENCIES[random.nextInt(CURRENCIES.length)]
            + "\",\"state\":\"" + STATES[random.nextInt(STATES.length)]
            + "\",\"authorisation\":\"" + hex.toHexDigits(random.nextLong())
            + "\",\"channel\":\"web\",\"createdAt\":" + (BEGIN + 7 * n)
            + ",\"region\":\"eu-central\",\"schema\":3}";
        return new ProducerRecord<>(TOPIC, id, value);
    }
}
