#!/bin/sh
# Checks one saved callback by hand: sh receiver.sh '/postback?shop=1' headers.txt body.json
# The path with its query as it stands in the Postback URL; the headers as "Name: value" lines; the
# body byte for byte as it came. Says what is wrong and exits with 1. (While openssl runs, others on
# this machine can see its arguments: do not use it on a shared one.)
# One secret, or two with a comma between them while it is being replaced.
: "${RINGBACK_SIGNING_SECRET:?Set RINGBACK_SIGNING_SECRET.}"
target=$1 headers=$2 body=$3

header() {
  tr -d '\r' < "$headers" |
    awk -F ': *' -v name="$1" 'tolower($1) == tolower(name) { print $2; exit }'
}
timestamp=$(header X-Service-Timestamp)
nonce=$(header X-Service-Nonce)
signature=$(header X-Service-Signature | tr 'A-F' 'a-f')

case $timestamp in
  '' | *[!0-9]* | ????????????*) echo 'The timestamp is missing or not all digits.' && exit 1 ;;
esac
[ -n "$nonce" ] || { echo 'The nonce is missing.' && exit 1; }
digest=$(openssl dgst -sha256 < "$body" | sed 's/^.* //')
is_ours='' IFS=,
set -f
for secret in $RINGBACK_SIGNING_SECRET; do
  [ -n "$secret" ] || continue
  expected=$(printf 'POST\n%s\n%s\n%s\n%s' "$target" "$timestamp" "$nonce" "$digest" |
    openssl dgst -sha256 -hmac "$secret" | sed 's/^.* //')
  [ "$expected" != "$signature" ] || is_ours=yes
done
if [ -z "$is_ours" ]; then
  echo 'The signature is of another secret, path, timestamp, nonce or body.' && exit 1
fi
age=$(($(date +%s) - timestamp))
if [ "${age#-}" -gt 300 ]; then
  echo "Signed well, but $age seconds ago: more than 300 away, a receiver answers 401." && exit 1
fi
echo 'Good: from the service, fresh and unaltered.'
