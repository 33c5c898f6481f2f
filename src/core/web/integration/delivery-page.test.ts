// Tests the page of a callback, and its row in the list.

import { deepEqual, equal, match, ok } from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { describe, type TestContext, test } from "node:test";
import { SUBJECT } from "../../../../test/support/rows.ts";
import { type AnswerExcerpt, excerptAnswer } from "../../domain/answer-excerpt.ts";
import { rebuildRequest } from "../../domain/callback-request.ts";
import { composeEvent } from "../../domain/event.ts";
import { HOUR_MS } from "../../domain/time.ts";
import type { Outcome } from "../../domain/verdict.ts";
import { runCallbacks } from "./callback-run.test-support.ts";
import { curlCommand, type DeliveryFate, describeNext, requestText } from "./delivery-page.ts";
import { issue, openShop, type Shop, URL_ENTERED } from "./integration-shop.test-support.ts";

const NOW_MS = Date.UTC(2026, 2, 1, 12);
const ANSWER: AnswerExcerpt = excerptAnswer({}, Buffer.from(""), false);
const REFUSED: Outcome = { kind: "network-error", stage: "connect", code: "ECONNREFUSED" };
const answered = (status: number): Outcome => ({ kind: "answered", status });

interface Sent extends Shop {
	/** Sends all due callbacks, and stores this outcome for each of them. */
	send(outcome: Outcome, excerpt?: AnswerExcerpt | null): Promise<void>;
	page(): Promise<string>;
	/** Returns the callback's row in the list. */
	row(): Promise<string>;
}

async function openSent(t: TestContext): Promise<Sent> {
	const shop = await openShop(t);
	const { browser, path, site, programme } = shop;
	await issue(browser, path);
	await browser.submit(`${path}/postback-url`, { postbackUrl: URL_ENTERED });
	await browser.submit(`${path}/test`, {});
	const delivery = await site.store.db.selectFrom("deliveries").select("public_id").executeTakeFirstOrThrow();
	const open = async (address: string) => (await browser.open(address)).text;
	return {
		...shop,
		async send(outcome, excerpt = null) {
			equal((await runCallbacks(site, programme, outcome, excerpt)).length, 1);
		},
		page: () => open(`/programmes/${programme.public_id}/deliveries/${delivery.public_id}`),
		async row() {
			const [, list = ""] = (await open(path)).split('id="deliveries-live"');
			return list.split("<tr").find((part) => part.includes(delivery.public_id)) ?? "";
		},
	};
}

test("a failed attempt shows the shop's answer, escaped", async (t) => {
	const { send, page } = await openSent(t);
	const headers = {
		"content-type": "text/html",
		server: "<b>nginx</b>",
		"retry-after": '120" onload="x',
	};
	const body = Buffer.from('<script>alert("1")</script>\n\u202eFatal error\u0000');
	await send(answered(503), excerptAnswer(headers, body, true));
	const text = await page();
	match(text, /Your server says that it is not available/);
	match(text, /What your server answered \(at most the first 2 KB are stored\)/);
	match(text, /&lt;script&gt;alert\(&quot;1&quot;\)&lt;\/script&gt;\n\\xe2\\x80\\xaeFatal error\\x00/);
	match(text, /<dt>Content-Type<\/dt><dd><span class="mono">text\/html</);
	match(text, /<dt>Server<\/dt><dd><span class="mono">&lt;b&gt;nginx&lt;\/b&gt;</);
	match(text, /<dt>Retry-After<\/dt><dd><span class="mono">120&quot; onload=&quot;x</);
	ok(!/<script>alert|<b>nginx|" onload=/.test(text));
});

test("a viewer sees no signature and no request", async (t) => {
	const { send, page, site, programme } = await openSent(t);
	await send(answered(503), ANSWER);
	const { signature = null, public_id } = await site.store.db
		.selectFrom("attempts")
		.innerJoin("deliveries", "deliveries.id", "attempts.delivery_id")
		.select(["attempts.signature", "deliveries.public_id"])
		.executeTakeFirstOrThrow();
	ok(signature !== null && (await page()).includes(signature), "owners see it");
	const viewer = await site.signIn(await site.addPerson(programme, "viewer"));
	const { text } = await viewer.open(`/programmes/${programme.public_id}/deliveries/${public_id}`);
	ok(!text.includes(signature) && !text.includes("curl"));
});

test("after an attempt without an answer, the list and the page still show the last HTTP status", async (t) => {
	const { send, page, row, site } = await openSent(t);
	await send(REFUSED);
	match(await row(), /—<\/span> <span class="secondary">Connection refused</);
	site.moveClock(HOUR_MS);
	await send(answered(503), ANSWER);
	match(await row(), />503</);
	site.moveClock(HOUR_MS);
	await send(REFUSED);
	for (const text of [await row(), await page()]) {
		match(text, />503 <span class="secondary">then: Connection refused</);
	}
	site.moveClock(3 * HOUR_MS);
	await send(answered(204));
	match(await row(), />204</);
});

test("a 401 answer links to the signature check of its attempt", async (t) => {
	const { send, page, browser } = await openSent(t);
	await send(answered(401), { ...ANSWER, body: '{"error":"invalid signature"}' });
	const text = await page();
	match(text, /Paste what your server received \(path, headers and raw body/);
	const [, href = ""] = /href="([^"]+)"[^>]*>Check its signature/.exec(text) ?? [];
	const { text: form } = await browser.open(href.replaceAll("&amp;", "&"));
	match(form, /name="target"[^>]*value="\/postback\?shop=1"/, "where it went");
	match(form, /It is compared with <a [^>]+>attempt 1<\/a>/);
	match(text, /We take it as a deliberate refusal and do not retry/);
});

test("a failed attempt says when the callback is sent again, or why it is not", async () => {
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

describe("the shown request of an attempt", () => {
	const attempt = {
		url: "https://shop.example/it's?a=1&b=2",
		form: "json" as const,
		nonce: "00ff",
		signature: "ab".repeat(32),
		started_at_ms: Date.UTC(2026, 2, 1, 12, 0, 0, 999),
	};
	const subject = { ...SUBJECT, orderId: 'it\'s "1" $HOME `x`' };
	const event = { event: "conversion.approved", eventBody: composeEvent(subject), kind: "shop" } as const;
	const request = rebuildRequest(attempt, event, "Acme");
	if (request === null) throw new Error("nothing was rebuilt");

	test("has headers with the brand, a timestamp in seconds and the time of sending in its body", () => {
		deepEqual(
			request.headers.map(([name]) => name),
			["Content-Type", "User-Agent", "X-Acme-Event", "X-Acme-Timestamp", "X-Acme-Nonce", "X-Acme-Signature"],
		);
		equal(request.headers[3]?.[1], "1772366400");
		match(request.body, /"sentAt":"2026-03-01T12:00:00\.999Z"\}$/);
		match(requestText(request), /^POST \/it's\?a=1&b=2 HTTP\/1\.1\nHost: shop\.example\nContent-Type/);
	});

	test("is unchanged after a shell reads its curl command, for every order ID", () => {
		const command = curlCommand(request).replace(/^curl/, "printf '%s\\n'");
		const printed = execFileSync("sh", ["-c", command], { encoding: "utf8" }).split("\n");
		ok(printed.includes(attempt.url));
		ok(printed.includes(request.body));
	});

	test("is not shown if the nonce or the URL of the attempt is unknown", () => {
		equal(rebuildRequest({ ...attempt, nonce: null }, event, "Acme"), null);
		equal(rebuildRequest({ ...attempt, url: null }, event, "Acme"), null);
	});
});
