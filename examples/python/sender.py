"""Reports a sale: python3 sender.py ORDER-1001 49.90 [CLICK_ID [COUPON_CODE]]

Ends with 0: on record. 1: refused, correct the sale. 75: keep the sale and run it again later;
an order is never recorded twice, the answer is then DUPLICATE. 78: a setting is wrong (key,
secret, clock, brand, address): correct it and run it again.
"""
import hashlib, hmac, json, os, secrets, sys, time
from urllib.error import HTTPError
from urllib.request import HTTPRedirectHandler, Request, build_opener

service = os.environ.get("RINGBACK_URL", "https://ringback.example")
api_key = os.environ.get("RINGBACK_API_KEY")
# NEW,OLD while the secret is being replaced: the first one signs.
secret = os.environ.get("RINGBACK_SIGNING_SECRET", "").split(",")[0]
if not api_key or not secret or len(sys.argv) not in (3, 4, 5):
    sys.exit("Set RINGBACK_API_KEY and RINGBACK_SIGNING_SECRET; give order and amount.")
if secret.split() != [secret]:
    sys.exit("RINGBACK_SIGNING_SECRET has a line break or white space in it.")
sale = dict(zip(["orderId", "basketValue", "clickId", "couponCode"], sys.argv[1:]))

path = "/v1/conversions"
# Amounts are strings. The bytes hashed here are exactly those sent below.
body = json.dumps(sale).encode()
timestamp = str(int(time.time()))
nonce = secrets.token_hex(16)
signed = "\n".join(["POST", path, timestamp, nonce, hashlib.sha256(body).hexdigest()])
headers = {
    "Authorization": f"Bearer {api_key}",
    "Content-Type": "application/json",
    "X-Service-Timestamp": timestamp,
    "X-Service-Nonce": nonce,
    "X-Service-Signature": hmac.new(secret.encode(), signed.encode(), hashlib.sha256).hexdigest(),
}


class NoRedirects(HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None  # followed, it would carry the API key to another address


try:
    request = Request(service + path, data=body, headers=headers)
    response = build_opener(NoRedirects).open(request, timeout=10)
except HTTPError as refusal:
    response = refusal
except OSError as problem:
    print(f"No answer from {service}: {problem}", file=sys.stderr)
    sys.exit(75)
print(response.code, response.read().decode(errors="replace"))
is_json = response.headers.get_content_type() == "application/json"  # and no page of a proxy
if response.code in (200, 201) and is_json:
    sys.exit(0)
if response.code == 401 or 300 <= response.code < 400:
    sys.exit(78)
sys.exit(1 if 400 <= response.code < 500 and response.code not in (408, 429) else 75)
