// Lists every clause of the contract's sections 1 to 9 in order (docs/contract.md). A test names the clauses
// that it proves at the start of its title ("contract 7 timeout, 8 five seconds: …"), and this file checks
// that none is missing.

import { deepEqual, ok } from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

/** Short summary of each clause of the contract, by its label. */
const CLAUSES: Readonly<Record<string, string>> = {
	"1 one POST per change": "one signed POST is sent per status change",
	"1 optional": "the callback is optional, the integration works without it",
	"1 setup": "the shop enters an HTTPS URL and saves it; no programmatic interface is involved",
	"1 rule 1": "it must use HTTPS",
	"1 rule 2": "it must point to a public address, when saved and at every delivery",
	"1 rule 3": "redirects are not followed",
	"1 rule 4": "when no secret exists for the programme, nothing is sent",
	"1 rule 5": "only changes after the URL is saved are sent, never retroactively",
	"1 delivery list": "every delivery is listed with its attempts and the last HTTP status",
	"1 owner notified": "when a delivery finally fails, the shop owner is notified",
	"1 test conversion": "a test conversion can be sent; its events carry test: true",

	"2.1 headers": "the six headers sent with each delivery",
	"2.1 Content-Type": "application/json",
	"2.1 User-Agent": "service-postback/1",
	"2.1 X-Service-Event": "the event's name, equal to the body field event",
	"2.1 X-Service-Timestamp": "Unix time in seconds, decimal digits only",
	"2.1 X-Service-Nonce": "hex string, unique per attempt",
	"2.1 X-Service-Signature": "hex-encoded HMAC-SHA256",
	"2.1 same trio": "the trio that the shop uses to sign its own requests",
	"2.1 brand prefix": "the prefix carries the service's brand name",
	"2.1 body": "all fields are present in every delivery",
	"2.1 conversionId": "identifier of the conversion",
	"2.1 orderId": "the shop's order identifier",
	"2.1 programId": "identifier of the programme",
	"2.1 status": "the status at the moment the event happened",
	"2.1 eventType": "kind of conversion event, an upper-case word",
	"2.1 basketValue": "decimal amount as a string",
	"2.1 commission": "decimal amount as a string",
	"2.1 networkFee": "decimal amount as a string",
	"2.1 currency": "currency code",
	"2.1 amounts": "all amounts are strings, never JSON numbers",
	"2.1 reason": "set for rejections and reversals, null otherwise",
	"2.1 test": "true for events of test conversions",
	"2.1 occurredAt": "ISO 8601 UTC with milliseconds, the time of the sale",
	"2.1 sentAt": "ISO 8601 UTC with milliseconds, the time of this attempt",

	"3 recorded": "none to recorded, conversion.recorded is sent",
	"3 approved": "recorded to approved, after the window or by the shop, conversion.approved is sent",
	"3 rejected": "recorded to rejected, by the shop or by review, conversion.rejected is sent",
	"3 reversed": "to reversed when the shop reports it, conversion.reversed is sent",
	"3 parked": "a pixel conversion can be held until a server postback confirms it",
	"3 rule 1": "confirming a parked conversion sends no conversion.recorded; the answer carries the result",
	"3 rule 2": "each event is sent once per conversion",

	"4.1 method": "POST",
	"4.1 URL": "the Postback URL entered by the shop",
	"4.1 headers and body": "as in section 2.1",
	"4.1 response": "any 2xx within 5 seconds; the response body is not used",
	"4.1 query string": "path plus query string of the entered URL is what is signed",
	"4.2": "no programmatic interface for the URL or the deliveries",
	"4.3": "a receiver that does as 4.3 says takes every delivery",
	"4.3 rule 5": "a delivery can arrive twice, with the same conversionId and event",

	"5 signed": "every delivery is signed with the programme's signing secret",
	"5 first key": "the secret is issued together with the programme's first API key",
	"5 no secret": "without a secret no delivery is made",
	"5 same scheme": "the scheme is the same as for the shop's own requests",
	"5 canonical string": "five parts joined by a line feed",
	"5 signature": "hex of HMAC-SHA256 over the canonical string",
	"5 freshness": "a timestamp within 300 seconds is accepted",
	"5 replay": "nonces may be remembered, repeats may be rejected",
	"5 fresh retry": "every retry has a new timestamp and a new nonce",

	"6 recorded": "sent when recorded, also by the shop's postback and for tests",
	"6 approved": "sent when approved, by the window or by the shop",
	"6 rejected": "sent when the shop or the review team rejected",
	"6 reversed": "sent when the shop reported a reversal",
	"6 event name": "in the body field event and in the header X-Service-Event",
	"6 once": "each event is sent once per conversion",
	"6 parked": "no event for a parked conversion that a postback confirms",
	"6 test": "test conversions produce events with test: true",

	"7 2xx": "success, delivery complete",
	"7 timeout": "no answer within 5 seconds is a failure, retried",
	"7 network error": "failure, retried",
	"7 5xx": "failure, retried",
	"7 408": "failure, retried",
	"7 429": "failure, retried",
	"7 other 4xx": "a deliberate refusal, stops at once",
	"7 private address": "refused at save and at every delivery",
	"7 redirect": "not followed",
	"7 owner notified": "told of a final failure; attempts and last HTTP status are visible",

	"8 five seconds": "time allowed for the receiver to answer",
	"8 timestamp tolerance": "300 seconds either way",
	"8 nonce memory": "five minutes",
	"8 retry delays": "1 minute, 5 minutes, 30 minutes, 2 hours, 6 hours, 24 hours",
	"8 seven attempts": "up to seven, over roughly a day and a half",
	"8 only these failures": "retries happen only for the failure kinds of section 7",

	"9 User-Agent": "service-postback/1",
	"9 only marker": "the trailing /1 is the only version marker in the delivery",
};

/**
 * Clauses that only a receiver can fulfil, with the library's test file and the beginning of the test's
 * title.
 */
const RECEIVER_CLAUSES: Readonly<Record<string, readonly [name: string, title: string]>> = {
	"4.3 rule 1, a timestamp that is not digits or stale": ["verify", "the first thing wrong is the reason"],
	"4.3 rule 2, the signature over the raw body": ["tampering", "any one bit flipped in the body is refused"],
	"4.3 rule 3, repeated nonces": ["verify", "a second request with the same nonce is refused"],
	"4.3 rule 4, 2xx before slow work": ["receiver", "a genuine delivery is stored, then answered 204"],
	"4.3 rule 5, deduplicate": ["receiver", "a repeat is answered 204 and not worked on"],
	"4.3 rule 6, 5xx for temporary problems": ["receiver", "503 when storing fails"],
	"4.3 rule 7, hash the raw body": ["tampering", "any one bit flipped in the body is refused"],
};

const ROOT = join(import.meta.dirname, "../..");

test("every clause of the contract that concerns the service has a test that names it", () => {
	const named = new Set(readNamedClauses());
	const missing = Object.keys(CLAUSES).filter((clause) => !named.has(clause));
	deepEqual(missing, []);
});

test("every test of these suites names an existing clause", () => {
	const unknown = readNamedClauses().filter((clause) => !(clause in CLAUSES));
	deepEqual(unknown, []);
});

test("every clause that concerns the receiver alone points to a test of the library", () => {
	for (const [clause, [name, title]] of Object.entries(RECEIVER_CLAUSES)) {
		const source = readFileSync(join(ROOT, `receiver/src/${name}.test.ts`), "utf8");
		ok(source.includes(`test("${title}`), clause);
	}
});

function readNamedClauses(): string[] {
	const files = readdirSync(import.meta.dirname).filter((name) => /^section-[1-9].*\.test\.ts$/.test(name));
	return files.flatMap((name) => {
		const source = readFileSync(join(import.meta.dirname, name), "utf8");
		const titles = [...source.matchAll(/\btest\(\s*["'`]([^:]*)/g)].map(([, title = ""]) => title);
		return titles.flatMap((title) => title.replace(/^contract /, "").split(", "));
	});
}
