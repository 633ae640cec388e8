import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.Type;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.TreeMap;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.errors.UnsupportedVersionException;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.MessageUtil;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.SimpleRecord;

/** Writes a log with records of every type of a coordinator's jar: Records JAR DIRECTORY. */
public class Records {
    private static final long TIME = 1700000000000L;
    private static final Random RANDOM = new Random(7);

    public static void main(String[] arguments) throws Exception {
        List<SimpleRecord> records = new ArrayList<>();
        for (String name : values(arguments[0]).values()) {
            ApiMessage keyMessage = message(name.replaceAll("Value$", "Key"));
            fill(keyMessage);
            byte[] key = bytes(MessageUtil.toCoordinatorTypePrefixedByteBuffer(keyMessage));
            ApiMessage any = message(name);
            for (short version = any.lowestSupportedVersion(); version <= any.highestSupportedVersion(); version++) {
                ApiMessage full = message(name);
                fill(full);
                for (ApiMessage value : List.of(message(name), full)) {
                    try {
                        records.add(new SimpleRecord(TIME, key, MessageUtil.toVersionPrefixedBytes(version, value)));
                    } catch (UnsupportedVersionException old) {
                        System.err.println(name + " " + version + ": " + old.getMessage());
                    }
                }
            }
            records.add(new SimpleRecord(TIME, key, null));
        }
        byte[] log = bytes(MemoryRecords.withRecords(Compression.NONE, records.toArray(new SimpleRecord[0])).buffer());
        Files.createDirectories(Path.of(arguments[1]));
        Files.write(Path.of(arguments[1], "00000000000000000000.log"), log);
    }

    /** The classes of values by the number of their type. */
    private static TreeMap<Short, String> values(String jar) throws Exception {
        TreeMap<Short, String> names = new TreeMap<>();
        for (JarEntry entry : Collections.list(new JarFile(jar).entries())) {
            if (entry.getName().matches(".*/generated/[^$]*Value\\.class")) {
                String name = entry.getName().replace('/', '.').replaceAll("\\.class$", "");
                names.put(message(name).apiKey(), name);
            }
        }
        return names;
    }

    private static ApiMessage message(String name) throws Exception {
        return (ApiMessage) Class.forName(name).getDeclaredConstructor().newInstance();
    }

    private static byte[] bytes(ByteBuffer buffer) {
        byte[] bytes = new byte[buffer.remaining()];
        buffer.get(bytes);
        return bytes;
    }

    private static void fill(Object message) throws Exception {
        for (Field field : message.getClass().getDeclaredFields()) {
            if (Modifier.isStatic(field.getModifiers()) || field.getName().startsWith("_")) {
                continue;
            }
            String setter = "set" + Character.toUpperCase(field.getName().charAt(0)) + field.getName().substring(1);
            for (Method method : message.getClass().getMethods()) {
                if (method.getName().equals(setter)) {
                    boolean port = field.getName().equals("port");
                    method.invoke(message, port ? 9092 : value(field.getGenericType()));
                }
            }
        }
    }

    private static Object value(Type type) throws Exception {
        if (type instanceof ParameterizedType list) {
            Type of = list.getActualTypeArguments()[0];
            return new ArrayList<>(List.of(value(of), value(of)));
        }
        Class<?> of = (Class<?>) type;
        if (of == int.class || of == Integer.class) {
            return RANDOM.nextInt(1000) + 1;
        } else if (of == short.class || of == Short.class) {
            return (short) (RANDOM.nextInt(100) + 1);
        } else if (of == long.class || of == Long.class) {
            return TIME + RANDOM.nextInt(1000);
        } else if (of == byte.class || of == Byte.class) {
            return (byte) RANDOM.nextInt(4);
        } else if (of == boolean.class) {
            return true;
        } else if (of == String.class) {
            return "text-" + RANDOM.nextInt(100) + (RANDOM.nextInt(4) == 0 ? "\u00e9\n\"\u007f" : "");
        } else if (of == Uuid.class) {
            return new Uuid(RANDOM.nextLong(), RANDOM.nextLong());
        } else if (of == byte[].class) {
            return new byte[] {1, 2, (byte) 0xff};
        }
        Object message = of.getDeclaredConstructor().newInstance();
        fill(message);
        return message;
    }
}
