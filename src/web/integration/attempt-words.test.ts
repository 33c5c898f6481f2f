import { deepEqual, equal, match, ok } from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { describe, test } from "node:test";
import type { KeptAnswer } from "../../domain/kept-answer.ts";
import { rebuildRequest } from "../../domain/sent-request.ts";
import type { AttemptResult } from "../../store/tables/deliveries.ts";
import {
	type Circumstances,
	type DeliveryFate,
	describeAttempt,
	describeCircumstances,
	describeNext,
} from "./attempt-words.ts";
import { curlCommand, requestText } from "./delivery-page.ts";

const NOW_MS = Date.UTC(2026, 2, 1, 12);

test("the tone tells a success and a failure apart", () => {
	const tone = (result: AttemptResult, status: number | null) =>
		describeAttempt({ result, http_status: status, detail: null }).tone;
	deepEqual([tone("answered", 204), tone("answered", 500), tone("timeout", null)], ["good", "bad", "bad"]);
});

describe("what is known of an attempt besides", () => {
	const ANSWER: KeptAnswer = {
		location: null,
		contentType: null,
		server: null,
		retryAfter: null,
		body: "",
		isCut: false,
	};
	const describeFor = async (status: number | null, change: Partial<Circumstances> = {}) =>
		String(
			(await describeCircumstances(status, {
				startedAtMs: NOW_MS,
				url: "https://shop.example/hooks/postback?shop=1",
				answer: ANSWER,
				secretsSinceMs: [],
				...change,
			})) ?? "",
		);
	const redirected = (location: string | null) => describeFor(302, { answer: { ...ANSWER, location } });

	for (const [location, shown] of [
		["https://www.shop.example/hooks", /leads to <span[^>]*>https:\/\/www\.shop\.example\/hooks</],
		["/hooks/postback/?shop=1", /leads to <span[^>]*>https:\/\/shop\.example\/hooks\/postback\/\?shop=1</],
		["../login", /leads to <span[^>]*>https:\/\/shop\.example\/login</],
		["http://shop.example/hooks", /not HTTPS/],
		["javascript:alert(1)", /not HTTPS/],
		["https://[", /leads to <span[^>]*>https:\/\/\[</],
		["/caf\\xe9…", /leads to <span[^>]*>\/caf\\xe9…</],
		['"> <script>', /&quot;&gt; &lt;script&gt;/],
		['"><script>', /%22%3E%3Cscript%3E/],
		[null, /did not say where to/],
	] as const) {
		test(`a redirect says where to: ${location}`, async () => {
			const words = await redirected(location);
			match(words, shown);
			ok(!words.includes("<script") && !words.includes("href"), words);
		});
	}

	test("a 401 soon after the secret was replaced points to the old one; a day later it does not", async () => {
		const DAY_MS = 86_400_000;
		const after = (...secretsSinceMs: number[]) => describeFor(401, { secretsSinceMs });
		match(await after(NOW_MS - 60_000, NOW_MS - 9 * DAY_MS), /replaced.*T11:59:00.*the old one/s);
		match(await after(NOW_MS - 60_000), /issued.*T11:59:00/s);
		equal(await after(NOW_MS - DAY_MS - 1, NOW_MS - 9 * DAY_MS), "");
		equal(await after(NOW_MS + 1, NOW_MS - 9 * DAY_MS), "", "it was replaced only afterwards");
		match(await after(NOW_MS + 1, NOW_MS - 1, NOW_MS - 9 * DAY_MS), /replaced/);
		equal(await describeFor(403, { secretsSinceMs: [NOW_MS - 1] }), "");
	});

	test("Retry-After is named, and that it changes nothing", async () => {
		const answer = { ...ANSWER, retryAfter: "120" };
		match(await describeFor(503, { answer }), /Retry-After: <span[^>]*>120<.*fixed/);
		equal(await describeFor(503), "");
		equal(await describeFor(503, { answer: null }), "");
		equal(await describeFor(null, { answer: null }), "");
	});
});

test("what comes next is told by the delivery: when it is sent again, or that and why it is not", async () => {
	const pending = { state: "pending", lastVerdict: "retry", dueAtMs: NOW_MS + 60_000 } as const;
	const next = async (fate: DeliveryFate) => String((await describeNext(fate, NOW_MS, true)) ?? "");
	match(await next(pending), /sent again on <time[^>]+datetime="2026-03-01T12:01:00/);
	match(await next({ ...pending, dueAtMs: NOW_MS }), /again now/);
	const ended = { ...pending, dueAtMs: null };
	match(await next({ ...ended, state: "failed" }), /the last of 7 attempts/);
	match(await next({ ...ended, state: "failed", lastVerdict: "refused" }), /deliberate refusal.*not retry/);
	match(await next({ ...ended, state: "failed", lastVerdict: "redirect" }), /not retried/);
	match(await next({ ...ended, state: "failed", lastVerdict: "forbidden address" }), /not retried/);
	equal(await next({ ...ended, state: "delivered", lastVerdict: "delivered" }), "");
	equal(await next({ ...ended, state: "cancelled" }), "");
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

	test("is not made up for an attempt of which nonce or URL are not known", () => {
		equal(rebuildRequest({ ...attempt, nonce: null }, event, "Acme"), null);
		equal(rebuildRequest({ ...attempt, url: null }, event, "Acme"), null);
	});
});
