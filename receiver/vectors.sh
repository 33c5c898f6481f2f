#!/usr/bin/env bash
# Computes what vectors.json claims from its inputs, with openssl and none of our code, so that a mistake
# the sender and the receiver share still shows. Without arguments it fills in bodySha256, canonical and
# signature; with --check it changes nothing and fails on any difference. Needs openssl and jq; python3 is
# asked as well where it is installed.
set -euo pipefail
file="$(dirname "$0")/vectors.json"

field() { jq -j --argjson i "$1" --arg name "$2" '.vectors[$i][$name]' "$file"; }

compute() {
	local i=$1 sha canonical key signature
	sha=$(field "$i" bodyBase64 | base64 -d | openssl dgst -sha256 -r | cut -d' ' -f1)
	canonical=$(for name in method target timestamp nonce; do field "$i" "$name" && echo; done && echo "$sha")
	# As hex: an argument cannot carry every byte a secret may hold.
	key=$(field "$i" secret | od -An -v -tx1 | tr -d ' \n')
	signature=$(printf %s "$canonical" | openssl dgst -sha256 -mac HMAC -macopt "hexkey:$key" -r | cut -d' ' -f1)
	jq -n --arg bodySha256 "$sha" --arg canonical "$canonical" --arg signature "$signature" '$ARGS.named'
}

count=$(jq '.vectors | length' "$file")
computed=$(for ((i = 0; i < count; i++)); do compute "$i"; done | jq -s .)

if [ "${1-}" = --check ]; then
	wrong=$(jq -r --argjson computed "$computed" \
		'[.vectors, $computed] | transpose[] | select(.[0] != .[0] + .[1]) | .[0].name' "$file")
	[ -z "$wrong" ] || { echo "openssl disagrees: $wrong" >&2; exit 1; }
else
	filled=$(jq --tab --argjson computed "$computed" \
		'.vectors |= ([., $computed] | transpose | map(add))' "$file")
	printf '%s\n' "$filled" >"$file"
fi

by=openssl
if command -v python3 >/dev/null; then
	by="openssl and python3"
	python3 - "$file" <<'PY'
import base64, hashlib, hmac, json, sys
for v in json.load(open(sys.argv[1], encoding="utf-8"))["vectors"]:
    sha = hashlib.sha256(base64.b64decode(v["bodyBase64"])).hexdigest()
    canonical = "\n".join([v["method"], v["target"], v["timestamp"], v["nonce"], sha])
    signature = hmac.new(v["secret"].encode(), canonical.encode(), "sha256").hexdigest()
    if [sha, canonical, signature] != [v["bodySha256"], v["canonical"], v["signature"]]:
        sys.exit("python3 disagrees: " + v["name"])
PY
fi
echo "$count vectors agree ($by)"
