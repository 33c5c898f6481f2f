"""Reports a sale: python3 sender.py ORDER-1001 49.90

No answer, or 5xx? Run it again: an order is never recorded twice, the answer is then DUPLICATE.
"""
import hashlib, hmac, json, os, secrets, sys, time
from urllib.error import HTTPError
from urllib.request import Request, urlopen

service = os.environ.get("RINGBACK_URL", "https://ringback.example")
api_key = os.environ["RINGBACK_API_KEY"]
secret = os.environ["RINGBACK_SIGNING_SECRET"]
order_id, basket_value = sys.argv[1:]

path = "/v1/conversions"
# Amounts are strings. What is sent below are the very bytes that are hashed here.
body = json.dumps({"orderId": order_id, "basketValue": basket_value}).encode()
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
try:
    with urlopen(Request(service + path, data=body, headers=headers), timeout=10) as response:
        print(response.status, response.read().decode())
except HTTPError as refusal:
    sys.exit(f"{refusal.code} {refusal.read().decode()}")
