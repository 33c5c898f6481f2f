// Who is calling, and is it really them: in the order in which a call is checked.

import { TIMESTAMP_TOLERANCE_SECONDS } from "../../domain/signature.ts";
import type { ExplainedCode, ProblemWords } from "./explained-code.ts";

const SIGN_ANEW =
	"Fix it, then sign the request again (new timestamp, new nonce, new signature) and send it. Repeated unchanged, it gets the same answer.";

export const CALLER_WORDS = {
	missing_api_key: {
		example: { detail: "Send the programme's API key in the header Authorization: Bearer <API key>." },
		causes: [
			"The variable that holds the key is empty where the code runs: it is set in your shell and not in the service or container.",
			"The key is sent in another header, or without the word `Bearer` in front of it.",
			"A proxy between your server and us removes `Authorization`.",
		],
		cure: [
			"Send `Authorization: Bearer rbk_…` with every request below `/v1/`.",
			"Log the names of the headers (not the key) right before the request is sent.",
		],
		retry: SIGN_ANEW,
	},
	unknown_api_key: {
		example: {
			detail: "This API key is not known here. Check that it was copied whole, or issue a new one.",
		},
		causes: [
			"The key was copied without its beginning or its end, or with a line break.",
			"It is the signing secret (`rbs_…`) instead of the API key (`rbk_…`).",
			"It belongs to another installation: a test system, or another network.",
		],
		cure: [
			"Compare the first characters with the list under Integration → *Keys and snippets*.",
			"If the key is lost, issue a new one there: a key is shown only once.",
		],
		retry: SIGN_ANEW,
	},
	revoked_api_key: {
		example: { detail: "This API key has been revoked. Issue a new one." },
		causes: [
			"Somebody revoked the key under Integration → *Keys and snippets*, and a server still uses it.",
			"One of several servers still has the old key.",
		],
		cure: [
			"Issue a new key and give it to every server that sends requests. The signing secret stays the same.",
		],
		retry: "Send what was refused again with the new key, signed anew. A revoked key cannot be restored.",
	},
	missing_signature_header: {
		example: { detail: "The header X-Service-Nonce is missing. A signed request has all three." },
		causes: [
			"The code sends the API key alone. Every request is signed as well, GET requests too.",
			"The headers carry another network's name. Here they begin with `X-Service-`.",
			"A proxy or gateway removes headers that it does not know.",
		],
		cure: [
			"Send all three: `X-Service-Timestamp`, `X-Service-Nonce` and `X-Service-Signature`.",
			"Start from the [sender in your language](/docs#requests-to-us), which sends them.",
		],
		retry: SIGN_ANEW,
	},
	malformed_timestamp: {
		example: { detail: "X-Service-Timestamp must be Unix time in seconds: digits only." },
		causes: [
			"A date or an ISO time is sent instead of Unix time.",
			"The number has decimals: in some languages `time()` returns a fraction.",
		],
		cure: ["Send whole seconds since 1970, for example `1772442000`, and sign the same digits."],
		retry: SIGN_ANEW,
	},
	stale_timestamp: {
		example: {
			detail: `X-Service-Timestamp is more than ${TIMESTAMP_TOLERANCE_SECONDS} seconds away from our clock (1772366400). Set the sender's clock, and sign at the moment of sending.`,
		},
		causes: [
			"The sender's clock is wrong. In containers and virtual machines the host's clock counts.",
			"The request was signed, then waited in a queue, and was sent later.",
			"A repeated request carries the timestamp of the first try.",
			"The timestamp is in milliseconds.",
		],
		cure: [
			"Synchronise the clock with NTP. `detail` has our time in seconds: compare it with `date +%s` on your server.",
			"Sign right before sending. Put the order into your queue, not the signed request.",
		],
		retry: SIGN_ANEW,
	},
	malformed_nonce: {
		example: {
			detail: 'X-Service-Nonce must be 8 to 128 letters, digits, "-" or "_": best 32 random hex digits.',
		},
		causes: [
			"The nonce is base64, with `+`, `/` or `=` in it.",
			"It is a counter with fewer than eight digits.",
		],
		cure: ["Send 16 random bytes as hex, or a UUID."],
		retry: SIGN_ANEW,
	},
	no_signing_secret: {
		example: { detail: "This programme has no signing secret. It comes with the first API key: issue one." },
		causes: ["The programme's signing secret was never issued, or it has been removed."],
		cure: ["Issue an API key under Integration → *Keys and snippets*: the first one comes with the secret."],
		retry: SIGN_ANEW,
	},
	bad_signature: {
		example: {
			detail:
				"X-Service-Signature does not match. Sign method, path with query, timestamp, nonce and the SHA-256 of the body bytes exactly as sent; here they were POST /v1/conversions with a body digest of f01a5df356f9d8ffde1dc37b2ac55f09d7d11dea57d79b5ec50dbeb6e90d7e32.",
		},
		causes: [
			"The body was serialised twice: once to sign it, once more by the HTTP library to send it. Spaces, order or escapes differ.",
			"The path was signed without its query, or with the host in front of it.",
			"The secret is wrong: it belongs to another programme, has ended, or was read with a line break at its end.",
			"The signature is base64, or the parts are not joined by single line feeds.",
		],
		cure: [
			"Hash the body that you send and compare it with the digest in `detail`. If they differ, it is the body.",
			"Compare method and path with those in `detail`. If they differ, it is the path.",
			"If both are the same, it is the secret, the timestamp, the nonce or how they are joined. Paste the request into Integration → *Check a signature*: it names the part.",
		],
		retry: SIGN_ANEW,
	},
	replayed_nonce: {
		example: {
			detail: "This nonce was used before. Sign every request, also a repeated one, with a new nonce.",
		},
		causes: [
			"An HTTP library or a proxy repeated the request by itself after a lost answer.",
			"Your own retry sends the stored request again instead of signing it anew.",
			"The nonce comes from a generator that starts with the same value in every process.",
		],
		cure: [
			"Make the nonce, the timestamp and the signature inside the retry loop.",
			"Turn off automatic retries of the HTTP library, or let them sign.",
		],
		retry:
			"The first request was probably accepted. Send it again, signed anew: a sale that was accepted is answered `DUPLICATE`, a decision the same as the first time. Nothing is recorded twice.",
	},
} as const satisfies Partial<Record<ExplainedCode, ProblemWords>>;
