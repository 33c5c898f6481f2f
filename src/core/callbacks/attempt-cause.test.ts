import { deepEqual, equal, match, ok } from "node:assert/strict";
import { describe, test } from "node:test";
import { type AttemptOutcome, explainAttempt, technicalDetail } from "./attempt-cause.ts";

const answered = (status: number): AttemptOutcome => ({
	result: "answered",
	http_status: status,
	detail: null,
});
const network = (detail: string): AttemptOutcome => ({ result: "network-error", http_status: null, detail });
const timeout = (detail: string | null): AttemptOutcome => ({ result: "timeout", http_status: null, detail });
const FORBIDDEN: AttemptOutcome = { result: "forbidden-address", http_status: null, detail: null };

/** Outcomes of attempts, each with the expected title, meaning and advice. */
const CASES: readonly [outcome: AttemptOutcome, title: string, meaning: RegExp, advice: RegExp][] = [
	[answered(301), "HTTP 301", /redirect/, /final URL/],
	[answered(400), "HTTP 400", /rejected/, /5xx/],
	[answered(401), "HTTP 401", /signature/, /what your server received.*Check a signature/],
	[answered(403), "HTTP 403", /firewall/, /POST/],
	[answered(404), "HTTP 404", /this path/, /letter by letter/],
	[answered(418), "HTTP 418", /rejected/, /5xx/],
	[answered(429), "HTTP 429", /fewer requests/, /rate limit/],
	[answered(500), "HTTP 500", /error/, /log/],
	[answered(502), "HTTP 502", /proxy/, /application runs/],
	[answered(600), "HTTP 600", /error/, /log/],
	[network("ENOTFOUND (look-up)"), "Name not found", /no address/, /spelling/],
	[network("ENODATA (look-up)"), "Name not found", /no address/, /DNS record/],
	[network("ETIMEOUT (look-up)"), "Name look-up failed", /no usable answer/, /name servers/],
	[network("ECONNREFUSED (look-up)"), "Name look-up failed", /no usable answer/, /name servers/],
	[network("TOO_MANY_ADDRESSES (look-up)"), "Too many addresses", /64/, /fewer/],
	[network("ECONNREFUSED (connect)"), "Connection refused", /Nothing listens/, /Start the server/],
	[network("EHOSTUNREACH (connect)"), "Unreachable", /No connection/, /firewall/],
	[network("ETIMEDOUT (connect)"), "Unreachable", /No connection/, /firewall/],
	[network("ECONNRESET (connect)"), "Unreachable", /No connection/, /firewall/],
	[network("CERT_HAS_EXPIRED (tls)"), "Certificate expired", /expired/, /Renew/],
	[
		network("ERR_TLS_CERT_ALTNAME_INVALID (tls)"),
		"Certificate of another host",
		/this host/,
		/one that does/,
	],
	[
		network("DEPTH_ZERO_SELF_SIGNED_CERT (tls)"),
		"Certificate not trusted",
		/self-signed/,
		/public authority/,
	],
	[network("UNABLE_TO_VERIFY_LEAF_SIGNATURE (tls)"), "Certificate not trusted", /issuer/, /full chain/],
	[network("ERR_SSL_WRONG_VERSION_NUMBER (tls)"), "No TLS", /not speak TLS/, /port/],
	[network("ECONNRESET (tls)"), "TLS failed", /handshake/, /TLS 1\.2/],
	[network("ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE (tls)"), "TLS failed", /handshake/, /TLS 1\.2/],
	[
		network("CLOSED_WITHOUT_ANSWER (exchange)"),
		"Closed without an answer",
		/connected.*closed the connection/,
		/restart/,
	],
	[network("BROKEN_ANSWER (exchange)"), "Broken answer", /valid HTTP/, /what listens/],
	[network("HPE_INVALID_CONSTANT (exchange)"), "Broken answer", /valid HTTP/, /what listens/],
	[network("UND_ERR_HEADERS_OVERFLOW (exchange)"), "Answer too large", /16 KB/, /cookies/],
	[network("ANSWER_TOO_LARGE (exchange)"), "Answer too large", /16 KB/, /cookies/],
	[network("EWHATEVER (exchange)"), "Connection broke", /connected/, /log/],
	[network(""), "Network error", /failed/, /reached/],
	[timeout("TIMEOUT (look-up)"), "Name look-up failed", /5 seconds/, /name servers/],
	[timeout("TIMEOUT (connect)"), "No connection in 5 s", /5 seconds/, /firewall/],
	[timeout("TIMEOUT (tls)"), "No TLS in 5 s", /accepted the connection.*5 seconds/, /HTTPS/],
	[timeout("TIMEOUT (exchange)"), "No answer in 5 s", /connected and sent.*5 seconds/, /Answer first/],
	[timeout(null), "No answer in 5 s", /5 seconds/, /Answer first/],
	[FORBIDDEN, "Private address", /Nothing was sent.*private or internal/, /internet/],
];

describe("the cause of a failed attempt", () => {
	for (const [outcome, title, meaning, advice] of CASES) {
		test(`${outcome.result} ${outcome.http_status ?? outcome.detail ?? ""}: ${title}`, () => {
			const cause = explainAttempt(outcome);
			equal(cause.title, title);
			match(cause.meaning, meaning);
			match(cause.advice, advice);
		});
	}

	test("a success has no explanation", () => {
		deepEqual(explainAttempt(answered(204)), { title: "HTTP 204", meaning: "", advice: "" });
	});

	test("a failure after the TLS handshake is not explained as an unreachable server", () => {
		for (const [outcome] of CASES.filter(([{ detail }]) => detail?.endsWith("(exchange)"))) {
			const { meaning, advice } = explainAttempt(outcome);
			ok(!/reach|firewall lets us in|certificate/i.test(meaning + advice), outcome.detail ?? "");
		}
	});

	test("the advice never promises another attempt, because only the delivery knows whether one follows", () => {
		for (const [outcome] of CASES) ok(!/again/.test(explainAttempt(outcome).advice), outcome.result);
	});

	test("the advice never asks the shop to check our request", () => {
		for (const [outcome] of CASES) ok(!/request below/.test(explainAttempt(outcome).advice));
	});

	test("a forbidden address and errors of our own resolver are never shown", () => {
		const forbidden = { ...FORBIDDEN, detail: "10.0.0.1 is private" };
		const hidden = [forbidden, network("ECONNREFUSED (look-up)"), network("EREFUSED (look-up)")];
		for (const outcome of hidden) {
			equal(technicalDetail(outcome), null, outcome.detail ?? "");
			const { title, meaning, advice } = explainAttempt(outcome);
			ok(!/10\.0\.0\.1|REFUSED/.test(title + meaning + advice));
		}
		for (const shown of ["ENOTFOUND (look-up)", "ECONNREFUSED (connect)"]) {
			equal(technicalDetail(network(shown)), shown);
		}
	});
});
