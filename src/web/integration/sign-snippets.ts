// Ready to run: how a shop signs its postback to us, in the languages shops use, with the programme's own
// values filled in. Secrets are named as environment variables and never written out. Each is run by a test.

import { headerNames } from "../../domain/signature.ts";
import { API_KEY_VARIABLE, type Language, SECRET_VARIABLE, type SnippetValues } from "./snippet-values.ts";

export function signSnippet(language: Language, values: SnippetValues): string {
	switch (language) {
		case "node":
			return signInNode(values);
		case "php":
			return signInPhp(values);
		case "python":
			return signInPython(values);
		case "curl":
			return signInShell(values);
		default:
			return language satisfies never;
	}
}

function signInNode({ publicUrl, brand }: SnippetValues): string {
	const names = headerNames(brand);
	return `// node postback.mjs ORDER-1001 49.90
import { createHash, createHmac, randomBytes } from "node:crypto";

const apiKey = process.env.${API_KEY_VARIABLE};
const secret = process.env.${SECRET_VARIABLE};
const [orderId, basketValue] = process.argv.slice(2);

const target = "/v1/conversions";
const body = JSON.stringify({ orderId, basketValue }); // amounts are strings
const timestamp = String(Math.floor(Date.now() / 1000));
const nonce = randomBytes(16).toString("hex");
const digest = createHash("sha256").update(body).digest("hex");
const signature = createHmac("sha256", secret)
  .update(["POST", target, timestamp, nonce, digest].join("\\n"))
  .digest("hex");

const response = await fetch("${publicUrl}" + target, {
  method: "POST",
  headers: {
    Authorization: \`Bearer \${apiKey}\`,
    "Content-Type": "application/json",
    "${names.timestamp}": timestamp,
    "${names.nonce}": nonce,
    "${names.signature}": signature,
  },
  body, // exactly the bytes that were hashed
});
console.log(response.status, await response.text());
`;
}

function signInPhp({ publicUrl, brand }: SnippetValues): string {
	const names = headerNames(brand);
	return `<?php // php postback.php ORDER-1001 49.90
$apiKey = getenv('${API_KEY_VARIABLE}');
$secret = getenv('${SECRET_VARIABLE}');
[, $orderId, $basketValue] = $argv;

$target = '/v1/conversions';
$body = json_encode(['orderId' => $orderId, 'basketValue' => $basketValue]); // amounts are strings
$timestamp = (string) time();
$nonce = bin2hex(random_bytes(16));
$canonical = implode("\\n", ['POST', $target, $timestamp, $nonce, hash('sha256', $body)]);
$signature = hash_hmac('sha256', $canonical, $secret);

$curl = curl_init('${publicUrl}' . $target);
curl_setopt_array($curl, [
    CURLOPT_POST => true,
    CURLOPT_RETURNTRANSFER => true,
    CURLOPT_POSTFIELDS => $body, // exactly the bytes that were hashed
    CURLOPT_HTTPHEADER => [
        "Authorization: Bearer $apiKey",
        'Content-Type: application/json',
        "${names.timestamp}: $timestamp",
        "${names.nonce}: $nonce",
        "${names.signature}: $signature",
    ],
]);
$answer = curl_exec($curl);
echo curl_getinfo($curl, CURLINFO_RESPONSE_CODE), ' ', $answer, "\\n";
`;
}

function signInPython({ publicUrl, brand }: SnippetValues): string {
	const names = headerNames(brand);
	return `# python3 postback.py ORDER-1001 49.90
import hashlib, hmac, json, os, secrets, sys, time, urllib.error, urllib.request

api_key = os.environ["${API_KEY_VARIABLE}"]
secret = os.environ["${SECRET_VARIABLE}"]
order_id, basket_value = sys.argv[1:3]

target = "/v1/conversions"
body = json.dumps({"orderId": order_id, "basketValue": basket_value}).encode()  # amounts are strings
timestamp = str(int(time.time()))
nonce = secrets.token_hex(16)
canonical = "\\n".join(["POST", target, timestamp, nonce, hashlib.sha256(body).hexdigest()])
signature = hmac.new(secret.encode(), canonical.encode(), hashlib.sha256).hexdigest()

request = urllib.request.Request(
    "${publicUrl}" + target,
    data=body,  # exactly the bytes that were hashed
    headers={
        "Authorization": f"Bearer {api_key}",
        "Content-Type": "application/json",
        "${names.timestamp}": timestamp,
        "${names.nonce}": nonce,
        "${names.signature}": signature,
    },
)
try:
    with urllib.request.urlopen(request) as response:
        print(response.status, response.read().decode())
except urllib.error.HTTPError as refusal:
    print(refusal.code, refusal.read().decode())
`;
}

function signInShell({ publicUrl, brand }: SnippetValues): string {
	const names = headerNames(brand);
	return `#!/bin/sh
# sh postback.sh ORDER-1001 49.90
target=/v1/conversions
body=$(printf '{"orderId":"%s","basketValue":"%s"}' "$1" "$2")
timestamp=$(date +%s)
nonce=$(openssl rand -hex 16)
digest=$(printf '%s' "$body" | openssl dgst -sha256 | sed 's/^.* //')
signature=$(printf 'POST\\n%s\\n%s\\n%s\\n%s' "$target" "$timestamp" "$nonce" "$digest" |
  openssl dgst -sha256 -hmac "$${SECRET_VARIABLE}" | sed 's/^.* //')

curl -sS -w '%{http_code}\\n' "${publicUrl}$target" \\
  -H "Authorization: Bearer $${API_KEY_VARIABLE}" \\
  -H 'Content-Type: application/json' \\
  -H "${names.timestamp}: $timestamp" \\
  -H "${names.nonce}: $nonce" \\
  -H "${names.signature}: $signature" \\
  --data-binary "$body"
`;
}
