"""Receives status callbacks: PORT=3000 python3 receiver.py, behind your TLS proxy.

In production: the same steps in your framework (raw bytes: Django request.body, Flask get_data()).
"""
import hashlib, hmac, json, os, re, sqlite3, sys, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

# One secret, or two with a comma between them while it is being replaced.
SECRETS = [secret for secret in os.environ.get("RINGBACK_SIGNING_SECRET", "").split(",") if secret]
MAX_BODY_BYTES = 65_536
TOLERANCE_SECONDS = 300
TABLES = """CREATE TABLE IF NOT EXISTS nonces (nonce PRIMARY KEY, stale_at);
CREATE TABLE IF NOT EXISTS postbacks (conversion, event, body, PRIMARY KEY (conversion, event));"""


class Receiver(BaseHTTPRequestHandler):
    timeout = 10  # seconds for a sender that stops in the middle

    def refuse(self, status, why):  # the page of your programme shows the reason
        headers = "; ".join("{}: {}".format(*header) for header in self.headers.items())
        print(status, why, self.requestline, headers, file=sys.stderr, flush=True)
        self.send_response(status)
        self.send_header("Content-Type", "text/plain")
        self.end_headers()
        self.wfile.write(why.encode())

    def do_GET(self):
        self.refuse(405, "Only POST is taken here.")

    def do_POST(self):
        length = self.headers.get("Content-Length", "")
        if not re.fullmatch("[0-9]{1,9}", length):
            return self.refuse(501, "http.server reads no chunks.")  # a 4xx would end it
        body = self.rfile.read(min(int(length), MAX_BODY_BYTES + 1))  # the bytes as they came
        if len(body) > MAX_BODY_BYTES:
            return self.refuse(413, "The body is too large.")
        names = ["X-Service-Timestamp", "X-Service-Nonce", "X-Service-Signature"]
        timestamp, nonce, signature = (self.headers.get(name, "") for name in names)
        if not nonce or not re.fullmatch("[0-9]{1,12}", timestamp):
            return self.refuse(401, "The timestamp or the nonce is missing.")
        away = abs(int(time.time()) - int(timestamp))
        if away > TOLERANCE_SECONDS:
            return self.refuse(401, f"The timestamp is {away} s away from this server's clock.")
        target = self.requestline.split(" ")[1]  # as it came: self.path folds leading slashes
        signed = "\n".join(["POST", target, timestamp, nonce, hashlib.sha256(body).hexdigest()])
        macs = [hmac.new(secret.encode(), signed.encode("latin-1"), "sha256") for secret in SECRETS]
        given = signature.lower().encode()
        if not any([hmac.compare_digest(mac.hexdigest().encode(), given) for mac in macs]):
            signed_for = f"{target} and {len(body)} bytes"
            return self.refuse(401, f"No secret here gives this signature for {signed_for}.")
        try:
            event = json.loads(body)
            postback = [str(event["conversionId"]), str(event["event"]), body]
            with sqlite3.connect("postbacks.db", timeout=3) as db:
                db.executescript(TABLES)
                # A nonce is kept for as long as its timestamp would be accepted.
                db.execute("DELETE FROM nonces WHERE stale_at < ?", [int(time.time())])
                used = [nonce, int(timestamp) + TOLERANCE_SECONDS]
                if db.execute("INSERT OR IGNORE INTO nonces VALUES (?, ?)", used).rowcount == 0:
                    return self.refuse(401, "This nonce was used before.")
                # The same event may come twice: the primary key stores it only once.
                added = db.execute("INSERT OR IGNORE INTO postbacks VALUES (?, ?, ?)", postback)
        except (ValueError, KeyError, TypeError):
            return self.refuse(400, "The body has no conversionId or no event.")
        except sqlite3.Error:
            return self.refuse(503, "Not stored.")  # 5xx: it is sent again. A 4xx would end it.
        self.send_response(204)
        self.end_headers()
        # Answered: now the slow work. Events come in any order: use this one only if its status
        # ranks above the one you have (rule 8 of the guide).
        if added.rowcount == 1:
            print("{event} {conversionId} {orderId} {status}".format(**event), flush=True)


if not SECRETS:
    sys.exit("Set RINGBACK_SIGNING_SECRET.")
ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT", 3000))), Receiver).serve_forever()
