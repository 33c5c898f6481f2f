"""Reports a sale: python3 sender.py ORDER-1001 49.90 [CLICK_ID [COUPON_CODE]]

Ends with 0: on record. 1: refused, correct the sale. 2: a setting or an argument is missing.
75: keep the sale and run it again later; an order is never recorded twice, the answer is then
DUPLICATE. 78: a setting is wrong (key, secret, clock, brand, address): correct it and run it again.
"""
import hashlib, hmac, json, os, secrets, sys, time
from urllib.error import HTTPError
from urllib.request import HTTPRedirectHandler, Request, build_opener


def stop(code, reason):
    print(reason, file=sys.stderr)
    sys.exit(code)


service = os.environ.get("RINGBACK_URL", "https://ringback.example")
api_key = os.environ.get("RINGBACK_API_KEY")
# NEW,OLD while the secret is being replaced: the first one signs.
secret = os.environ.get("RINGBACK_SIGNING_SECRET", "").split(",")[0]
if not api_key or not secret or len(sys.argv) not in (3, 4, 5):
    stop(2, "Set RINGBACK_API_KEY and RINGBACK_SIGNING_SECRET; give order and amount.")
if any(letter.isspace() for letter in api_key + secret):
    stop(2, "RINGBACK_API_KEY or RINGBACK_SIGNING_SECRET has a line break or white space in it.")
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


def send():
    request = Request(service + path, data=body, headers=headers)
    try:
        return build_opener(NoRedirects).open(request, timeout=10)
    except HTTPError as refusal:
        return refusal


try:
    response = send()
    answer = response.read().decode(errors="replace")
except Exception as problem:  # uncaught, it would end the program with 1, as a refusal does
    stop(75, f"No answer from {service}: {problem}")
print(response.code, answer)
status, kind = response.code, response.headers.get_content_type()
if status in (200, 201) and kind == "application/json":
    sys.exit(0)
if status == 401 or 300 <= status < 400:
    sys.exit(78)
is_refused = 400 <= status < 500 and status not in (408, 429) and kind == "application/problem+json"
sys.exit(1 if is_refused else 75)  # 75 also for a proxy's page
