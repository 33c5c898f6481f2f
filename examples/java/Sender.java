// Reports a sale: java Sender.java ORDER-1001 49.90 (17 or later, in a UTF-8 locale)
// No answer, or 5xx? Run it again: an order is never recorded twice, the answer is then DUPLICATE.
import static java.nio.charset.StandardCharsets.UTF_8;

import java.net.URI;
import java.net.http.*;
import java.security.*;
import java.time.*;
import java.util.HexFormat;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

public class Sender {
    public static void main(String[] args) throws Exception {
        var env = System.getenv();
        String service = env.getOrDefault("RINGBACK_URL", "https://ringback.example");
        byte[] secret = env.get("RINGBACK_SIGNING_SECRET").getBytes(UTF_8);

        String path = "/v1/conversions";
        // Amounts are strings. What is sent below are the very bytes that are hashed here.
        String sale = "{\"orderId\":" + quote(args[0]) + ",\"basketValue\":" + quote(args[1]) + "}";
        byte[] body = sale.getBytes(UTF_8);
        String timestamp = String.valueOf(Instant.now().getEpochSecond());
        HexFormat hex = HexFormat.of();
        byte[] random = new byte[16];
        new SecureRandom().nextBytes(random);
        String nonce = hex.formatHex(random);
        String digest = hex.formatHex(MessageDigest.getInstance("SHA-256").digest(body));
        Mac mac = Mac.getInstance("HmacSHA256");
        mac.init(new SecretKeySpec(secret, "HmacSHA256"));
        String signed = String.join("\n", "POST", path, timestamp, nonce, digest);

        var request = HttpRequest.newBuilder(URI.create(service + path))
            .timeout(Duration.ofSeconds(10))
            .header("Authorization", "Bearer " + env.get("RINGBACK_API_KEY"))
            .header("Content-Type", "application/json")
            .header("X-Service-Timestamp", timestamp)
            .header("X-Service-Nonce", nonce)
            .header("X-Service-Signature", hex.formatHex(mac.doFinal(signed.getBytes(UTF_8))))
            .POST(HttpRequest.BodyPublishers.ofByteArray(body)).build();
        var answer = HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString());
        System.out.println(answer.statusCode() + " " + answer.body());
        System.exit(answer.statusCode() < 300 ? 0 : 1);
    }

    /** As JSON; with control characters the service takes no order. */
    static String quote(String text) {
        return "\"" + text.replace("\\", "\\\\").replace("\"", "\\\"") + "\"";
    }
}
