// Receives status callbacks: PORT=3000 java Receiver.java (17 or later), behind your TLS proxy.
// Stores each in a file. In production: use a table with a unique key in place of the files, one
// for the nonces, and your project's JSON library in place of field(): the JDK has none.
import static java.nio.charset.StandardCharsets.UTF_8;

import com.sun.net.httpserver.*;
import java.net.InetSocketAddress;
import java.nio.file.*;
import java.security.MessageDigest;
import java.util.*;
import java.util.concurrent.*;
import java.util.regex.*;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

public class Receiver {
    static final int MAX_BODY_BYTES = 65_536, TOLERANCE_SECONDS = 300;
    static final Map<String, String> ENV = System.getenv();
    // One secret, or two with a comma between them while it is being replaced.
    static final List<String> SECRETS = Pattern.compile(",")
        .splitAsStream(ENV.getOrDefault("RINGBACK_SIGNING_SECRET", ""))
        .filter(secret -> !secret.isEmpty()).toList();
    static final HexFormat HEX = HexFormat.of();
    static final Map<String, Long> NONCES = new HashMap<>(); // and when their timestamps are stale

    record Answer(int status, String why) {}

    static synchronized Answer receive(Headers headers, String target, byte[] body)
            throws Exception {
        String timestamp = headers.getOrDefault("X-Service-Timestamp", List.of("")).get(0);
        String nonce = headers.getOrDefault("X-Service-Nonce", List.of("")).get(0);
        String signature = headers.getOrDefault("X-Service-Signature", List.of("")).get(0);
        if (nonce.isEmpty() || !timestamp.matches("[0-9]{1,12}")) {
            return new Answer(401, "The timestamp or the nonce is missing.");
        }
        long now = System.currentTimeMillis() / 1000, sentAt = Long.parseLong(timestamp);
        if (Math.abs(now - sentAt) > TOLERANCE_SECONDS) {
            long away = Math.abs(now - sentAt);
            return new Answer(401, "The timestamp is " + away + " s away from this clock.");
        }

        String digest = HEX.formatHex(MessageDigest.getInstance("SHA-256").digest(body));
        Mac mac = Mac.getInstance("HmacSHA256");
        String signed = String.join("\n", "POST", target, timestamp, nonce, digest);
        byte[] given = signature.toLowerCase().getBytes(UTF_8);
        boolean isOurs = false;
        for (String secret : SECRETS) {
            mac.init(new SecretKeySpec(secret.getBytes(UTF_8), "HmacSHA256"));
            byte[] expected = HEX.formatHex(mac.doFinal(signed.getBytes(UTF_8))).getBytes(UTF_8);
            isOurs |= MessageDigest.isEqual(expected, given);
        }
        if (!isOurs) {
            String about = target + " and " + body.length + " bytes.";
            return new Answer(401, "No secret here gives this signature for " + about);
        }
        NONCES.values().removeIf(staleAt -> staleAt < now);
        if (NONCES.containsKey(nonce)) return new Answer(401, "This nonce was used before.");

        String id = field("conversionId", body), event = field("event", body);
        if (id == null || event == null) {
            return new Answer(400, "The body has no conversionId or no event.");
        }
        // Hex, so that no id can be a path and no two events share a file name.
        String key = HEX.formatHex(id.getBytes(UTF_8)) + "." + HEX.formatHex(event.getBytes(UTF_8));
        Path file = Path.of("postbacks", key + ".json"); // a full disk leaves half of it in .part
        boolean isNew = !Files.exists(file); // the same event may come twice
        if (isNew) Files.move(Files.write(Path.of(file + ".part"), body), file);
        NONCES.put(nonce, sentAt + TOLERANCE_SECONDS); // not if storing failed: it may come again
        // The work, beside the answer. Use a status only if it ranks above yours (guide, rule 8).
        String line = String.join(" ", event, id, field("orderId", body), field("status", body));
        if (isNew) CompletableFuture.runAsync(() -> System.out.println(line));
        return new Answer(204, "");
    }

    static String field(String name, byte[] json) {
        String pattern = "\"" + name + "\"\\s*:\\s*\"([^\"\\\\]*+(?:\\\\.[^\"\\\\]*+)*+)\"";
        Matcher found = Pattern.compile(pattern).matcher(new String(json, UTF_8));
        if (!found.find()) return null;
        return Pattern.compile("\\\\(?:u(....)|(.))").matcher(found.group(1)).replaceAll(escape ->
            Matcher.quoteReplacement(escape.group(1) == null ? escape.group(2)
                : String.valueOf((char) Integer.parseInt(escape.group(1), 16))));
    }

    public static void main(String[] args) throws Exception {
        if (SECRETS.isEmpty()) {
            System.err.println("Set RINGBACK_SIGNING_SECRET.");
            System.exit(1);
        }
        Files.createDirectories(Path.of("postbacks"));
        int port = Integer.parseInt(ENV.getOrDefault("PORT", "3000"));
        HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", port), 0);
        server.setExecutor(Executors.newCachedThreadPool());
        server.createContext("/", exchange -> {
            Answer answer;
            String method = exchange.getRequestMethod();
            String target = exchange.getRequestURI().toString(); // with the query, as it came
            Headers headers = exchange.getRequestHeaders();
            try {
                byte[] body = exchange.getRequestBody().readNBytes(MAX_BODY_BYTES + 1);
                if (!method.equals("POST")) answer = new Answer(405, "Only POST is taken here.");
                else if (body.length > MAX_BODY_BYTES) answer = new Answer(413, "It is too large.");
                else answer = receive(headers, target, body);
            } catch (Exception problem) { // 5xx: it is sent again. A 4xx would end the delivery.
                answer = new Answer(503, "Not stored: " + problem);
            }
            byte[] why = answer.why().getBytes(UTF_8); // the page of your programme shows it
            String request = method + " " + target + " " + headers.entrySet();
            if (why.length > 0) System.err.println(answer + " " + request);
            exchange.sendResponseHeaders(answer.status(), why.length > 0 ? why.length : -1);
            exchange.getResponseBody().write(why);
            exchange.close();
        });
        server.start();
    }
}
