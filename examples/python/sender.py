"""Reports a sale: python3 sender.py ORDER-1001 49.90 [CLICK_ID [COUPON_CODE]]

No answer, or 5xx? Run it again: an order is never recorded twice, the answer is then DUPLICATE.
"""
import hashlib, hmac, json, os, secrets, sys, time
from urllib.error import HTTPError, URLError
from urllib.request import HTTPRedirectHandler, Request, build_opener

service = os.environ.get("RINGBACK_URL", "https://ringback.example")
api_key = os.environ.get("RINGBACK_API_KEY")
secret = os.environ.get("RINGBACK_SIGNING_SECRET")
if not api_key or not secret or len(sys.argv) not in (3, 4, 5):
    sys.exit("Set RINGBACK_API_KEY and RINGBACK_SIGNING_SECRET; give order and amount.")
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
except URLError as problem:
    sys.exit(f"No answer from {service}: {problem.reason}. Run it again.")
print(response.code, response.read().decode(errors="replace"))
is_json = response.headers.get_content_type() == "application/json"  # and no page of a proxy
sys.exit(0 if response.code in (200, 201) and is_json else 1)
