// Reports a sale (17 or later, in a UTF-8 locale):
// java Sender.java ORDER-1001 49.90 [CLICK_ID [COUPON_CODE]]
// No answer, or 5xx? Run it again: an order is never recorded twice, the answer is then DUPLICATE.
import static java.nio.charset.StandardCharsets.UTF_8;

import java.net.URI;
import java.net.http.*;
import java.security.*;
import java.time.*;
import java.util.*;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

public class Sender {
    public static void main(String[] args) throws Exception {
        var env = System.getenv();
        String service = env.getOrDefault("RINGBACK_URL", "https://ringback.example");
        String key = env.getOrDefault("RINGBACK_API_KEY", "");
        String secret = env.getOrDefault("RINGBACK_SIGNING_SECRET", "");
        if (key.isEmpty() || secret.isEmpty() || args.length < 2 || args.length > 4) {
            String what = "RINGBACK_API_KEY and RINGBACK_SIGNING_SECRET";
            System.err.println("Set " + what + "; give order and amount.");
            System.exit(2);
        }

        String path = "/v1/conversions";
        // Amounts are strings. The bytes hashed here are exactly those sent below.
        String[] names = {"orderId", "basketValue", "clickId", "couponCode"};
        var sale = new StringJoiner(",", "{", "}");
        for (int at = 0; at < args.length; at++) sale.add(quote(names[at]) + ":" + quote(args[at]));
        byte[] body = sale.toString().getBytes(UTF_8);
        String timestamp = String.valueOf(Instant.now().getEpochSecond());
        HexFormat hex = HexFormat.of();
        byte[] random = new byte[16];
        new SecureRandom().nextBytes(random);
        String nonce = hex.formatHex(random);
        String digest = hex.formatHex(MessageDigest.getInstance("SHA-256").digest(body));
        Mac mac = Mac.getInstance("HmacSHA256");
        mac.init(new SecretKeySpec(secret.getBytes(UTF_8), "HmacSHA256"));
        String signed = String.join("\n", "POST", path, timestamp, nonce, digest);

        var request = HttpRequest.newBuilder(URI.create(service + path))
            .timeout(Duration.ofSeconds(10))
            .header("Authorization", "Bearer " + key)
            .header("Content-Type", "application/json")
            .header("X-Service-Timestamp", timestamp)
            .header("X-Service-Nonce", nonce)
            .header("X-Service-Signature", hex.formatHex(mac.doFinal(signed.getBytes(UTF_8))))
            .POST(HttpRequest.BodyPublishers.ofByteArray(body)).build();
        var answer = HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString());
        System.out.println(answer.statusCode() + " " + answer.body());
        String type = answer.headers().firstValue("Content-Type").orElse("");
        boolean isTaken = answer.statusCode() == 200 || answer.statusCode() == 201;
        System.exit(isTaken && type.startsWith("application/json") ? 0 : 1); // 1: or a proxy's page
    }

    /** As JSON; with control characters the service takes no order. */
    static String quote(String text) {
        return "\"" + text.replace("\\", "\\\\").replace("\"", "\\\"") + "\"";
    }
}
