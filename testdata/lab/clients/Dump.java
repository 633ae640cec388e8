import java.io.BufferedReader;
import java.io.InputStreamReader;

/**
 * Runs Kafka's own dump tool over the log files that are named on standard input, in one process.
 * The first argument is the tool's class.
 */
public class Dump {
    public static void main(String[] args) throws Exception {
        var main = Class.forName(args[0]).getMethod("main", String[].class);
        var names = new BufferedReader(new InputStreamReader(System.in));
        for (String file = names.readLine(); file != null; file = names.readLine()) {
            System.out.println("FILE " + file);
            main.invoke(null, (Object) new String[] {"--files", file, "--print-data-log", "--deep-iteration"});
            System.out.flush();
        }
    }
}
