#!/bin/sh
# Reports a sale: sh sender.sh ORDER-1001 49.90 [CLICK_ID [COUPON_CODE]] (needs curl and openssl)
# Ends with 0: on record. 1: refused, correct the sale. 2: a setting or an argument is missing.
# 75: keep the sale and run it again later; an order is never recorded twice, the answer is then
# DUPLICATE. 78: a setting is wrong (key, secret, clock, brand, address): correct it, run it again.
# While it runs, others on this machine can see the secret in its arguments.
secret=${RINGBACK_SIGNING_SECRET%%,*} # NEW,OLD while it is being replaced: the first one signs
if [ -z "$RINGBACK_API_KEY" ] || [ -z "$secret" ] || [ $# -lt 2 ] || [ $# -gt 4 ]; then
  echo 'Set RINGBACK_API_KEY and RINGBACK_SIGNING_SECRET; give order and amount.' >&2 && exit 2
fi
case $RINGBACK_API_KEY$secret in
  *[[:space:]]*)
    echo 'RINGBACK_API_KEY or RINGBACK_SIGNING_SECRET has a line break or white space in it.' >&2
    exit 2 ;;
esac
service=${RINGBACK_URL:-https://ringback.example}
path=/v1/conversions

quote() { printf '"%s"' "$(printf '%s' "$1" | sed 's/[\\"]/\\&/g')"; }
# Amounts are strings. The bytes hashed here are exactly those sent below.
more=${3:+,\"clickId\":$(quote "$3")}${4:+,\"couponCode\":$(quote "$4")}
body="{\"orderId\":$(quote "$1"),\"basketValue\":$(quote "$2")$more}"
timestamp=$(date +%s)
nonce=$(openssl rand -hex 16)
digest=$(printf '%s' "$body" | openssl dgst -sha256 | sed 's/^.* //')
signature=$(printf 'POST\n%s\n%s\n%s\n%s' "$path" "$timestamp" "$nonce" "$digest" |
  openssl dgst -sha256 -hmac "$secret" | sed 's/^.* //')

answer=$(printf '%s' "$body" | curl -sS --max-time 10 \
  -w '\n%{http_code} %{content_type}' "$service$path" \
  -H "Authorization: Bearer $RINGBACK_API_KEY" \
  -H 'Content-Type: application/json' \
  -H "X-Service-Timestamp: $timestamp" \
  -H "X-Service-Nonce: $nonce" \
  -H "X-Service-Signature: $signature" \
  --data-binary @-) || exit 75
status=$(printf '%s' "$answer" | tail -n 1)
printf '%s %s\n' "${status%% *}" "$(printf '%s' "$answer" | sed '$d')"
case $status in
  '200 application/json'* | '201 application/json'*) exit 0 ;;
  401* | 3??*) exit 78 ;;
  408* | 429*) exit 75 ;;
  4??' application/problem+json'*) exit 1 ;;
  *) exit 75 ;; # also for a proxy's page
esac
