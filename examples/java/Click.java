// Keeps the click ID of a partner's link: PORT=3000 java Click.java (17 or later), behind your TLS
// proxy. In production: the same two steps in your framework.
import com.sun.net.httpserver.HttpServer;
import java.net.InetSocketAddress;
import java.util.regex.*;

public class Click {
    static final String COOKIE = "Path=/; Max-Age=2592000; HttpOnly; Secure; SameSite=Lax";
    static final Pattern IN_QUERY = Pattern.compile("(?:^|&)rbclick=([\\w.-]{1,400})(?:&|$)");
    static final Pattern IN_COOKIES = Pattern.compile("(?:^|; *)rbclick=([\\w.-]+)");

    static String find(Pattern pattern, String text) {
        Matcher found = pattern.matcher(text == null ? "" : text);
        return found.find() ? found.group(1) : null;
    }

    public static void main(String[] args) throws Exception {
        int port = Integer.parseInt(System.getenv().getOrDefault("PORT", "3000"));
        HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", port), 0);
        server.createContext("/", exchange -> {
            // On every page: keep the click ID, if the visitor comes by a partner's link.
            String clicked = find(IN_QUERY, exchange.getRequestURI().getRawQuery());
            if (clicked != null) {
                String cookie = "rbclick=" + clicked + "; " + COOKIE;
                exchange.getResponseHeaders().add("Set-Cookie", cookie);
            }
            // At the checkout: send it with the signed sale, as "clickId" beside "orderId".
            String kept = find(IN_COOKIES, exchange.getRequestHeaders().getFirst("Cookie"));
            String clickId = clicked == null ? kept : clicked;
            byte[] page = ("clickId: " + (clickId == null ? "none" : clickId) + "\n").getBytes();
            exchange.sendResponseHeaders(200, page.length);
            exchange.getResponseBody().write(page);
            exchange.close();
        });
        server.start();
    }
}
