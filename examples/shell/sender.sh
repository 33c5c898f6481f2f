#!/bin/sh
# Reports a sale: sh sender.sh ORDER-1001 49.90 [CLICK_ID [COUPON_CODE]] (needs curl and openssl)
# No answer, or 5xx? Run it again: an order is never recorded twice, the answer is then DUPLICATE.
# While it runs, others on this machine can see the secret in its arguments.
if [ -z "$RINGBACK_API_KEY" ] || [ -z "$RINGBACK_SIGNING_SECRET" ] ||
  [ $# -lt 2 ] || [ $# -gt 4 ]; then
  echo 'Set RINGBACK_API_KEY and RINGBACK_SIGNING_SECRET; give order and amount.' >&2 && exit 2
fi
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
  openssl dgst -sha256 -hmac "$RINGBACK_SIGNING_SECRET" | sed 's/^.* //')

answer=$(printf '%s' "$body" | curl -sS --max-time 10 \
  -w '\n%{http_code} %{content_type}' "$service$path" \
  -H "Authorization: Bearer $RINGBACK_API_KEY" \
  -H 'Content-Type: application/json' \
  -H "X-Service-Timestamp: $timestamp" \
  -H "X-Service-Nonce: $nonce" \
  -H "X-Service-Signature: $signature" \
  --data-binary @-) || exit 1
status=$(printf '%s' "$answer" | tail -n 1)
printf '%s %s\n' "${status%% *}" "$(printf '%s' "$answer" | sed '$d')"
case $status in
  '200 application/json'* | '201 application/json'*) exit 0 ;;
  *) exit 1 ;; # a refusal, or a page of a proxy
esac
