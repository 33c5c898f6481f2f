// Ready to run: how a shop checks that a callback is ours, in the languages shops use. Each answers 204 to a
// good one and 401 to any other, as the contract's section 4.3 asks; each is run by a test.

import { headerNames } from "../../domain/signature.ts";
import { type Language, SECRET_VARIABLE, type SnippetValues } from "./snippet-values.ts";

export function verifySnippet(language: Language, values: Pick<SnippetValues, "brand">): string {
	switch (language) {
		case "node":
			return verifyInNode(values.brand);
		case "php":
			return verifyInPhp(values.brand);
		case "python":
			return verifyInPython(values.brand);
		case "curl":
			return verifyInShell();
		default:
			return language satisfies never;
	}
}

function verifyInNode(brand: string): string {
	const brandField = brand === "Service" ? "" : `brand: "${brand}", `;
	return `// PORT=8080 node receiver.mjs — behind your TLS proxy
import { createServer } from "node:http";
import { verifyPostback } from "@ringback/receiver";

const secret = process.env.${SECRET_VARIABLE};

createServer(async (request, response) => {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  const rawBody = Buffer.concat(chunks); // the bytes as received
  const result = await verifyPostback({
    ${brandField}path: request.url, headers: request.headers, rawBody, secret,
  });
  if (!result.ok) {
    console.warn(result.reason, result.detail);
    return response.writeHead(401).end();
  }
  response.writeHead(204).end(); // first answer, then work
  const { event, conversionId, orderId, status } = result.event;
  // It may come twice: take each conversionId + event once.
  console.log(event, conversionId, orderId, status);
}).listen(process.env.PORT);
`;
}

function verifyInPhp(brand: string): string {
	const names = headerNames(brand);
	const server = (name: string) => `$_SERVER['HTTP_${name.toUpperCase().replaceAll("-", "_")}'] ?? ''`;
	return `<?php // postback.php
$secret = getenv('${SECRET_VARIABLE}');
$timestamp = ${server(names.timestamp)};
$nonce = ${server(names.nonce)};
$signature = strtolower(${server(names.signature)});
$body = file_get_contents('php://input'); // as received: never decode and encode it again

$canonical = implode("\\n", ['POST', $_SERVER['REQUEST_URI'], $timestamp, $nonce, hash('sha256', $body)]);
$isFresh = ctype_digit($timestamp) && abs(time() - (int) $timestamp) <= 300;
if (!$isFresh || !hash_equals(hash_hmac('sha256', $canonical, $secret), $signature)) {
    http_response_code(401);
    exit;
}
http_response_code(204); // first answer, then work
$event = json_decode($body, true); // take each conversionId + event once
error_log("{$event['event']} {$event['conversionId']} {$event['orderId']} {$event['status']}");
`;
}

function verifyInPython(brand: string): string {
	const names = headerNames(brand);
	return `# PORT=8080 python3 receiver.py — behind your TLS proxy
import hashlib, hmac, json, os, time
from http.server import BaseHTTPRequestHandler, HTTPServer

secret = os.environ["${SECRET_VARIABLE}"].encode()


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))  # as received
        timestamp = self.headers["${names.timestamp}"] or ""
        nonce = self.headers["${names.nonce}"] or ""
        signature = (self.headers["${names.signature}"] or "").lower()
        digest = hashlib.sha256(body).hexdigest()
        canonical = "\\n".join(["POST", self.path, timestamp, nonce, digest])
        expected = hmac.new(secret, canonical.encode(), hashlib.sha256).hexdigest()
        is_fresh = timestamp.isascii() and timestamp.isdigit() and abs(time.time() - int(timestamp)) <= 300
        is_ours = is_fresh and hmac.compare_digest(expected.encode(), signature.encode())
        self.send_response(204 if is_ours else 401)
        self.end_headers()  # first answer, then work
        if is_ours:
            event = json.loads(body)  # take each conversionId + event once
            print(event["event"], event["conversionId"], event["orderId"], event["status"], flush=True)


HTTPServer(("127.0.0.1", int(os.environ["PORT"])), Receiver).serve_forever()
`;
}

function verifyInShell(): string {
	return `#!/bin/sh
# To check one callback by hand: put its raw body into body.json, then
# sh verify.sh TIMESTAMP NONCE SIGNATURE '/postback?shop=1' < body.json
timestamp=$1 nonce=$2 signature=$3 target=$4
digest=$(openssl dgst -sha256 | sed 's/^.* //') # of the bytes as received
expected=$(printf 'POST\\n%s\\n%s\\n%s\\n%s' "$target" "$timestamp" "$nonce" "$digest" |
  openssl dgst -sha256 -hmac "$${SECRET_VARIABLE}" | sed 's/^.* //')
age=$(($(date +%s) - timestamp))
if [ "$expected" != "$signature" ]; then echo 'wrong signature' && exit 1; fi
if [ "\${age#-}" -gt 300 ]; then echo 'more than 300 seconds away' && exit 1; fi
echo good
`;
}
