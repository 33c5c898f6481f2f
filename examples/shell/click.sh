#!/bin/sh
# Keeps the click ID of a partner's link, as a CGI program of your web server.
find() { # the value of rbclick in $1, whose parts stand between the characters $2
  printf '%s' "$1" | tr "$2" '\n' | sed -n 's/^ *rbclick=\([A-Za-z0-9_.-]\{1,\}\)$/\1/p' | head -n 1
}

# On every page: keep the click ID, if the visitor comes by a partner's link.
clicked=$(find "$QUERY_STRING" '&')
[ ${#clicked} -le 400 ] || clicked=
if [ -n "$clicked" ]; then
  attributes='Path=/; Max-Age=2592000; HttpOnly; Secure; SameSite=Lax'
  printf 'Set-Cookie: rbclick=%s; %s\r\n' "$clicked" "$attributes"
fi
printf 'Content-Type: text/plain\r\n\r\n'

# At the checkout: sh sender.sh ORDER-1001 49.90 "$click_id"
click_id=${clicked:-$(find "$HTTP_COOKIE" ';')}
printf 'clickId: %s\n' "${click_id:-none}"
