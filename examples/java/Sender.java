// Reports a sale (17 or later, in a UTF-8 locale):
// java Sender.java ORDER-1001 49.90 [CLICK_ID [COUPON_CODE]]
// Ends with 0: on record. 1: refused, correct the sale. 2: a setting or an argument is missing.
// 75: keep the sale and run it again later; an order is never recorded twice, the answer is then
// DUPLICATE. 78: a setting is wrong (key, secret, clock, brand, address): correct it, run it again.
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
        // NEW,OLD while the secret is being replaced: the first one signs.
        String secret = env.getOrDefault("RINGBACK_SIGNING_SECRET", "").split(",", 2)[0];
        if (key.isEmpty() || secret.isEmpty() || args.length < 2 || args.length > 4) {
            String what = "RINGBACK_API_KEY and RINGBACK_SIGNING_SECRET";
            System.err.println("Set " + what + "; give order and amount.");
            System.exit(2);
        }

        if ((key + secret).chars().anyMatch(Character::isWhitespace)) {
            String what = "RINGBACK_API_KEY or RINGBACK_SIGNING_SECRET";
            System.err.println(what + " has a line break or white space in it.");
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

        String signature = hex.formatHex(mac.doFinal(signed.getBytes(UTF_8)));
        HttpResponse<String> answer = null;
        try {
            var request = HttpRequest.newBuilder(URI.create(service + path))
                .timeout(Duration.ofSeconds(10))
                .header("Authorization", "Bearer " + key)
                .header("Content-Type", "application/json")
                .header("X-Service-Timestamp", timestamp)
                .header("X-Service-Nonce", nonce)
                .header("X-Service-Signature", signature)
                .POST(HttpRequest.BodyPublishers.ofByteArray(body)).build();
            answer = HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString());
        } catch (Exception problem) {
            // Uncaught, it would end the program with 1, as a refusal does.
            System.err.println("No answer from " + service + ": " + problem);
            System.exit(75);
        }
        int status = answer.statusCode();
        System.out.println(status + " " + answer.body());
        String type = answer.headers().firstValue("Content-Type").orElse("");
        System.exit(exitCode(status, type.split(";")[0]));
    }

    static int exitCode(int status, String type) {
        if (type.equals("application/json") && (status == 200 || status == 201)) return 0;
        if (status == 401 || status >= 300 && status < 400) return 78;
        if (!type.equals("application/problem+json")) return 75; // a proxy's page
        boolean isRefused = status >= 400 && status < 500 && status != 408 && status != 429;
        return isRefused ? 1 : 75;
    }

    /** As JSON; with control characters the service takes no order. */
    static String quote(String text) {
        return "\"" + text.replace("\\", "\\\\").replace("\"", "\\\"") + "\"";
    }
}
