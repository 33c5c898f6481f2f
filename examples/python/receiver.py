"""Receives status callbacks: PORT=3000 python3 receiver.py, behind your TLS proxy.

In production: the same steps in your framework (raw bytes: Django request.body, Flask get_data()).
"""
import hashlib, hmac, json, os, re, sqlite3, sys, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SECRET = os.environ.get("RINGBACK_SIGNING_SECRET") or sys.exit("Set RINGBACK_SIGNING_SECRET.")
MAX_BODY_BYTES = 65_536
TOLERANCE_SECONDS = 300
TABLES = """CREATE TABLE IF NOT EXISTS nonces (nonce PRIMARY KEY, stale_at);
CREATE TABLE IF NOT EXISTS postbacks (conversion, event, body, PRIMARY KEY (conversion, event));"""


class Receiver(BaseHTTPRequestHandler):
    timeout = 10  # seconds for a sender that stops in the middle

    def do_GET(self):
        self.send_error(405)

    def do_POST(self):
        length = self.headers.get("Content-Length", "")
        if not re.fullmatch("[0-9]{1,9}", length):
            return self.send_error(501)  # in chunks: http.server reads none. A 4xx would end it.
        body = self.rfile.read(min(int(length), MAX_BODY_BYTES + 1))  # the bytes as they came
        if len(body) > MAX_BODY_BYTES:
            return self.send_error(413)
        names = ["X-Service-Timestamp", "X-Service-Nonce", "X-Service-Signature"]
        timestamp, nonce, signature = (self.headers.get(name, "") for name in names)
        if not nonce or not re.fullmatch("[0-9]{1,12}", timestamp):
            return self.send_error(401)
        target = self.requestline.split(" ")[1]  # as it came: self.path folds leading slashes
        signed = "\n".join(["POST", target, timestamp, nonce, hashlib.sha256(body).hexdigest()])
        expected = hmac.new(SECRET.encode(), signed.encode("latin-1"), "sha256").hexdigest()
        is_ours = hmac.compare_digest(expected.encode(), signature.lower().encode())
        if not is_ours or abs(int(time.time()) - int(timestamp)) > TOLERANCE_SECONDS:
            return self.send_error(401)
        try:
            event = json.loads(body)
            postback = [str(event["conversionId"]), str(event["event"]), body]
            with sqlite3.connect("postbacks.db", timeout=3) as db:
                db.executescript(TABLES)
                # A nonce is kept for as long as its timestamp would be accepted.
                db.execute("DELETE FROM nonces WHERE stale_at < ?", [int(time.time())])
                used = [nonce, int(timestamp) + TOLERANCE_SECONDS]
                if db.execute("INSERT OR IGNORE INTO nonces VALUES (?, ?)", used).rowcount == 0:
                    return self.send_error(401)
                # The same event may come twice: the primary key stores it only once.
                added = db.execute("INSERT OR IGNORE INTO postbacks VALUES (?, ?, ?)", postback)
        except (ValueError, KeyError, TypeError):
            return self.send_error(400)
        except sqlite3.Error:
            return self.send_error(503)  # 5xx: it is sent again. A 4xx would end the delivery.
        self.send_response(204)
        self.end_headers()
        if added.rowcount == 1:  # answered: now the slow work
            print("{event} {conversionId} {orderId} {status}".format(**event), flush=True)


ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT", 3000))), Receiver).serve_forever()
