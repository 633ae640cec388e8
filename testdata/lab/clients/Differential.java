import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.File;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.record.internal.CompressionType;
import org.apache.kafka.common.record.internal.ControlRecordType;
import org.apache.kafka.common.record.internal.EndTransactionMarker;
import org.apache.kafka.common.record.internal.FileRecords;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.MemoryRecordsBuilder;
import org.apache.kafka.common.record.internal.Record;
import org.apache.kafka.common.record.internal.RecordBatch;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.utils.Crc32C;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.storage.internals.log.AppendOrigin;
import org.apache.kafka.storage.internals.log.BatchMetadata;
import org.apache.kafka.storage.internals.log.ProducerStateEntry;
import org.apache.kafka.storage.internals.log.ProducerStateManager;
import org.apache.kafka.storage.internals.log.ProducerStateManagerConfig;

/**
 * Makes segments, whole ones and broken ones, and tells as NDJSON what Kafka's own classes read in them.
 * Arguments: seed, how many, directory to write to, and segment files of brokers to break.
 */
public class Differential {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final int LARGEST = 60_000;

    public static void main(String[] args) throws Exception {
        Random draw = new Random(Long.parseLong(args[0]));
        Path out = Path.of(args[2]);
        for (int number = 0; number < Integer.parseInt(args[1]); number++) {
            ObjectNode told = JSON.createObjectNode().put("case", number);
            byte[] segment = draw.nextInt(3) > 0 ? broken(args, draw, told) : generated(draw, told);
            Path partition = out.resolve(number + "/t-0");
            Files.createDirectories(partition);
            File file = partition.resolve("00000000000000000000.log").toFile();
            Files.write(file.toPath(), segment);
            read(file, told);
            System.out.println(JSON.writeValueAsString(told));
        }
    }

    /** The beginning of a broker's segment, with one thing wrong in it. */
    private static byte[] broken(String[] args, Random draw, ObjectNode told) throws IOException {
        Path source = Path.of(args[3 + draw.nextInt(args.length - 3)]);
        byte[] whole = Files.readAllBytes(source);
        byte[] bytes = java.util.Arrays.copyOf(whole, Math.min(whole.length, LARGEST));
        told.put("source", source.toString());
        if (bytes.length == 0) {
            return bytes;
        }
        int at = draw.nextInt(bytes.length);
        switch (draw.nextInt(6)) {
            case 0 -> {
                told.put("change", "byte " + at);
                bytes[at] ^= (byte) (1 << draw.nextInt(8));
            }
            case 1 -> {
                told.put("change", "cut at " + at);
                bytes = java.util.Arrays.copyOf(bytes, at);
            }
            case 2 -> {
                told.put("change", "zeros from " + at);
                java.util.Arrays.fill(bytes, at, bytes.length, (byte) 0);
            }
            case 3 -> {
                told.put("change", "zeros from " + at + " to " + Math.min(at + 40, bytes.length));
                java.util.Arrays.fill(bytes, at, Math.min(at + 40, bytes.length), (byte) 0);
            }
            default -> {
                List<Integer> begins = begins(bytes);
                if (!begins.isEmpty()) {
                    int begin = begins.get(draw.nextInt(begins.size()));
                    headerField(bytes, begin, draw, told);
                }
            }
        }
        return bytes;
    }

    /** Where the whole batches of format 2 begin. */
    private static List<Integer> begins(byte[] bytes) {
        ByteBuffer buffer = ByteBuffer.wrap(bytes);
        List<Integer> begins = new ArrayList<>();
        for (int at = 0; at + 61 <= bytes.length;) {
            int size = 12 + buffer.getInt(at + 8);
            if (size < 61 || at + size > bytes.length || bytes[at + 16] != 2) {
                break;
            }
            begins.add(at);
            at += size;
        }
        return begins;
    }

    /** Another value in one field of a header, and the checksum right again. */
    private static void headerField(byte[] bytes, int begin, Random draw, ObjectNode told) {
        int[] places = {0, 8, 12, 16, 21, 23, 27, 35, 43, 51, 53, 57};
        int[] sizes = {8, 4, 4, 1, 2, 4, 8, 8, 8, 2, 4, 4};
        int field = draw.nextInt(places.length);
        ByteBuffer buffer = ByteBuffer.wrap(bytes);
        int size = 12 + buffer.getInt(begin + 8);
        int at = begin + places[field] + (draw.nextBoolean() ? sizes[field] - 1 : draw.nextInt(sizes[field]));
        bytes[at] ^= (byte) (1 << draw.nextInt(8));
        buffer.putInt(begin + 17, (int) Crc32C.compute(bytes, begin + 21, size - 21));
        told.put("change", "header at " + begin + ", byte " + (at - begin) + ", checksum right");
    }

    /** A few batches with everything that a builder can be asked for. */
    private static byte[] generated(Random draw, ObjectNode told) throws IOException {
        told.put("change", "generated");
        ByteBuffer all = ByteBuffer.allocate(LARGEST * 4);
        long offset = 0;
        int[] sequence = new int[4];
        boolean[] running = new boolean[4];
        for (int batches = 1 + draw.nextInt(8); batches > 0; batches--) {
            int id = draw.nextInt(4);
            boolean transactional = id == 3;
            if (transactional && running[id] && draw.nextBoolean()) {
                var type = draw.nextBoolean() ? ControlRecordType.COMMIT : ControlRecordType.ABORT;
                var marker = MemoryRecords.withEndTransactionMarker(offset, draw.nextInt(1000), 0, 1000 + id, (short) 0, new EndTransactionMarker(type, draw.nextInt(3)));
                all.put(marker.buffer());
                running[id] = false;
                offset++;
                continue;
            }
            CompressionType codec = CompressionType.values()[draw.nextInt(5)];
            TimestampType times = draw.nextInt(4) == 0 ? TimestampType.LOG_APPEND_TIME : TimestampType.CREATE_TIME;
            boolean writesId = id > 0;
            MemoryRecordsBuilder builder = new MemoryRecordsBuilder(ByteBuffer.allocate(2048), RecordBatch.CURRENT_MAGIC_VALUE,
                Compression.of(codec).build(), times, offset, 1_700_000_000_000L, writesId ? 1000 + id : -1, (short) (writesId ? 0 : -1),
                writesId ? sequence[id] : -1, transactional, false, draw.nextInt(5), 60_000);
            int records = 1 + draw.nextInt(6);
            for (int n = 0; n < records; n++) {
                Header[] headers = new Header[draw.nextInt(3)];
                for (int h = 0; h < headers.length; h++) {
                    headers[h] = new RecordHeader("h" + draw.nextInt(2), some(draw));
                }
                builder.appendWithOffset(offset + n, draw.nextInt(9) == 0 ? -1 : 1_700_000_000_000L + draw.nextInt(5000) - 1000, some(draw), some(draw), headers);
            }
            all.put(builder.build().buffer());
            offset += records;
            sequence[id] += records;
            running[id] |= transactional;
        }
        return java.util.Arrays.copyOf(all.array(), all.position());
    }

    private static byte[] some(Random draw) {
        int size = draw.nextInt(6) == 0 ? -1 : draw.nextInt(draw.nextInt(8) == 0 ? 3000 : 30);
        if (size < 0) {
            return null;
        }
        byte[] bytes = new byte[size];
        draw.nextBytes(bytes);
        return bytes;
    }

    private static void read(File file, ObjectNode told) throws IOException {
        ArrayNode batches = told.putArray("batches");
        boolean whole = true;
        var producers = new ProducerStateManager(new TopicPartition("t", 0), file.getParentFile(), 900_000, new ProducerStateManagerConfig(86_400_000, false), Time.SYSTEM);
        long end = 0;
        try (FileRecords records = FileRecords.open(file, false)) {
            try {
                for (var batch : records.batches()) {
                    ObjectNode is = batches.addObject();
                    header(batch, batch.position(), is);
                    // The producers are only worth comparing where no offset is out of place.
                    whole &= is.get("isvalid").asBoolean() && records(batch, is) && batch.baseOffset() >= end && batch.lastOffset() - end < 1_000_000;
                    if (whole && batch.hasProducerId()) {
                        whole = update(producers, batch);
                    }
                    end = batch.nextOffset();
                }
            } catch (RuntimeException stopped) {
                told.put("stopped", stopped.getClass().getSimpleName() + ": " + stopped.getMessage());
                whole = false;
            }
            told.put("size", file.length());
        }
        if (whole) {
            producers.updateMapEndOffset(end);
            producers.takeSnapshot();
            ArrayNode active = told.putArray("producers");
            producers.activeProducers().values().forEach(entry -> producer(entry, active.addObject()));
        }
    }

    private static void producer(ProducerStateEntry entry, ObjectNode is) {
        BatchMetadata last = null;
        for (BatchMetadata batch : entry.batchMetadata()) {
            last = batch;
        }
        is.put("producerId", entry.producerId()).put("producerEpoch", entry.producerEpoch()).put("lastSequence", last == null ? -1 : last.lastSeq());
        is.put("lastOffset", entry.lastDataOffset()).put("offsetDelta", last == null ? 0 : last.offsetDelta()).put("timestamp", entry.lastTimestamp());
        is.put("coordinatorEpoch", entry.coordinatorEpoch()).put("currentTxnFirstOffset", entry.currentTxnFirstOffset().orElse(-1));
    }

    private static void header(RecordBatch batch, int position, ObjectNode is) {
        is.put("position", position).put("magic", batch.magic()).put("lastOffset", batch.lastOffset()).put("size", batch.sizeInBytes());
        if (batch.magic() >= 2) {
            is.put("baseOffset", batch.baseOffset()).put("count", batch.countOrNull()).put("baseSequence", batch.baseSequence()).put("lastSequence", batch.lastSequence());
            is.put("producerId", batch.producerId()).put("producerEpoch", batch.producerEpoch()).put("partitionLeaderEpoch", batch.partitionLeaderEpoch());
            is.put("isTransactional", batch.isTransactional()).put("isControl", batch.isControlBatch());
            is.put("maxTimestamp", batch.maxTimestamp()).put("crc", batch.checksum());
            batch.deleteHorizonMs().ifPresent(at -> is.put("deleteHorizonMs", at));
        }
        is.put("isvalid", batch.isValid());
        try {
            is.put("compresscodec", batch.compressionType().name);
        } catch (IllegalArgumentException unknown) {
            is.put("compresscodec", "unknown");
        }
    }

    private static boolean records(RecordBatch batch, ObjectNode is) {
        ArrayNode records = is.putArray("records");
        try {
            for (Record record : batch) {
                ObjectNode r = records.addObject().put("offset", record.offset()).put("timestamp", record.timestamp());
                r.put("sequence", record.sequence()).put("key", bytes(record.key())).put("value", bytes(record.value()));
                ArrayNode headers = r.putArray("headers");
                for (Header header : record.headers()) {
                    headers.addArray().add(header.key()).add(header.value());
                }
            }
            return true;
        } catch (RuntimeException | OutOfMemoryError failure) {
            // Kafka reserves a list of as many records as the header counts.
            is.put("recordError", failure.getClass().getSimpleName() + ": " + failure.getMessage());
            return false;
        }
    }

    private static byte[] bytes(ByteBuffer buffer) {
        if (buffer == null) {
            return null;
        }
        byte[] bytes = new byte[buffer.remaining()];
        buffer.duplicate().get(bytes);
        return bytes;
    }

    /** As a broker does that loads a log; false where it would stop. */
    private static boolean update(ProducerStateManager producers, RecordBatch batch) {
        try {
            var appended = producers.prepareUpdate(batch.producerId(), AppendOrigin.REPLICATION);
            var completed = appended.append(batch, Optional.empty());
            producers.update(appended);
            completed.ifPresent(transaction -> producers.completeTxn(transaction));
            return true;
        } catch (RuntimeException refused) {
            return false;
        }
    }
}
