import { deepEqual, equal, match, ok } from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { describe, test } from "node:test";
import { curlCommand, rebuildRequest, requestText } from "./attempt-request.ts";
import {
	type AttemptOutcome,
	type DeliveryFate,
	describeAttempt,
	describeNext,
	technicalDetail,
} from "./attempt-words.ts";

describe("an attempt in words", () => {
	const answered = (status: number): AttemptOutcome => ({
		result: "answered",
		http_status: status,
		detail: null,
	});
	const network = (detail: string): AttemptOutcome => ({
		result: "network-error",
		http_status: null,
		detail,
	});
	const cases: readonly [outcome: AttemptOutcome, title: string, advice: RegExp][] = [
		[answered(204), "HTTP 204", /^$/],
		[answered(301), "HTTP 301", /not followed/],
		[answered(401), "HTTP 401", /Check a signature/],
		[answered(418), "HTTP 418", /deliberate refusal/],
		[answered(429), "HTTP 429", /fewer requests/],
		[answered(500), "HTTP 500", /server's log/],
		[answered(600), "HTTP 600", /server's log/],
		[network("ECONNREFUSED (connect)"), "Connection refused", /Nothing listens on that port/],
		[network("ENOTFOUND (look-up)"), "Name not found", /spelling/],
		[network("CERT_HAS_EXPIRED (tls)"), "Certificate expired", /Renew/],
		[network("ERR_TLS_CERT_ALTNAME_INVALID (tls)"), "Certificate of another host", /does not name this host/],
		[network("UNABLE_TO_VERIFY_LEAF_SIGNATURE (tls)"), "Certificate not trusted", /full chain/],
		[network("EWHATEVER (exchange)"), "Network error", /EWHATEVER \(exchange\)/],
		[network(""), "Network error", /unknown error/],
		[{ result: "timeout", http_status: null, detail: null }, "No answer in 5 s", /within 5 seconds/],
		[
			{ result: "forbidden-address", http_status: null, detail: null },
			"Private address",
			/Nothing was sent.*private or internal address/,
		],
		[network("ETIMEOUT (look-up)"), "Name look-up failed", /name servers/],
		[network("ECONNREFUSED (look-up)"), "Name look-up failed", /name servers/],
		[{ result: "interrupted", http_status: null, detail: null }, "Interrupted", /does not count/],
	];
	for (const [outcome, title, advice] of cases) {
		test(`${outcome.result} ${outcome.http_status ?? outcome.detail ?? ""}: ${title}`, () => {
			const words = describeAttempt(outcome);
			equal(words.title, title);
			match(words.advice, advice);
			equal(words.tone === "good", title === "HTTP 204");
		});
	}

	test("a forbidden address and how our resolver failed are never shown, whatever was stored", () => {
		const forbidden = {
			result: "forbidden-address",
			http_status: null,
			detail: "10.0.0.1 is private",
		} as const;
		const hidden = [forbidden, network("ECONNREFUSED (look-up)"), network("EREFUSED (look-up)")];
		for (const outcome of hidden) {
			equal(technicalDetail(outcome), null, outcome.detail ?? "");
			ok(!/10\.0\.0\.1|REFUSED/.test(describeAttempt(outcome).advice));
		}
		for (const shown of ["ENOTFOUND (look-up)", "ECONNREFUSED (connect)"]) {
			equal(technicalDetail(network(shown)), shown);
		}
	});

	test("an attempt itself promises nothing: only its delivery knows whether another follows", () => {
		for (const [outcome] of cases) ok(!/again/.test(describeAttempt(outcome).advice), outcome.result);
	});

	test("another try is promised while the delivery is pending, with its time, and not after the last", async () => {
		const nowMs = Date.UTC(2026, 2, 1, 12);
		const pending = { state: "pending", lastVerdict: "retry", dueAtMs: nowMs + 60_000 } as const;
		const next = async (fate: DeliveryFate) => String((await describeNext(fate, nowMs)) ?? "");
		match(await next(pending), /sent again on <time[^>]+datetime="2026-03-01T12:01:00/);
		match(await next({ ...pending, dueAtMs: nowMs }), /again now/);
		match(await next({ ...pending, dueAtMs: nowMs }), /again now/);
		const ended = { ...pending, dueAtMs: null };
		match(await next({ ...ended, state: "failed" }), /the last of 7 attempts/);
		for (const fate of [
			{ ...ended, state: "delivered", lastVerdict: "delivered" },
			{ ...ended, state: "failed", lastVerdict: "refused" },
			{ ...ended, state: "cancelled" },
		] as const) {
			equal(await next(fate), "");
		}
	});
});

describe("the request of an attempt", () => {
	const attempt = {
		url: "https://shop.example/it's?a=1&b=2",
		nonce: "00ff",
		signature: "ab".repeat(32),
		started_at_ms: Date.UTC(2026, 2, 1, 12, 0, 0, 999),
	};
	const event = { event: "conversion.approved", eventBody: `{"orderId":"it's \\"1\\" $HOME \`x\`"}` };
	const request = rebuildRequest(attempt, event, "Acme");
	if (request === null) throw new Error("nothing was rebuilt");

	test("has the headers of the brand, whole seconds and the moment of sending", () => {
		deepEqual(
			request.headers.map(([name]) => name),
			["Content-Type", "User-Agent", "X-Acme-Event", "X-Acme-Timestamp", "X-Acme-Nonce", "X-Acme-Signature"],
		);
		equal(request.headers[3]?.[1], "1772366400");
		match(request.body, /"sentAt":"2026-03-01T12:00:00\.999Z"\}$/);
		match(requestText(request), /^POST \/it's\?a=1&b=2 HTTP\/1\.1\nHost: shop\.example\nContent-Type/);
	});

	test("as curl survives the shell, whatever the order id holds", () => {
		const command = curlCommand(request).replace(/^curl/, "printf '%s\\n'");
		const printed = execFileSync("sh", ["-c", command], { encoding: "utf8" }).split("\n");
		ok(printed.includes(attempt.url));
		ok(printed.includes(request.body));
	});

	test("is not made up for an attempt that was interrupted", () => {
		equal(rebuildRequest({ ...attempt, nonce: null }, event, "Acme"), null);
		equal(rebuildRequest({ ...attempt, url: null }, event, "Acme"), null);
	});
});
