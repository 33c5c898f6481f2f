import { deepEqual, doesNotMatch, equal, match, ok } from "node:assert/strict";
import { test } from "node:test";
import { receiverId } from "../../../test/support/receiver-ids.ts";
import { explainFailure, type LastFailure } from "../callbacks/failure-cause.ts";
import type { ShownNotice } from "../store/queries/notices.ts";
import { composeNoticeMail, type NoticeMailView } from "./notice-mail.ts";

const OPENED_AT_MS = Date.UTC(2026, 0, 15, 12, 5);
const NETWORK = { publicUrl: "https://ringback.example" };
const HOME = "https://ringback.example/programmes/prg_1";

function notice(change: Partial<ShownNotice> = {}): ShownNotice {
	return {
		id: 1,
		public_id: "ntc_1",
		receiver_id: receiverId(1),
		kind: "callbacks_failing",
		opened_at_ms: OPENED_AT_MS,
		told_at_ms: OPENED_AT_MS,
		ended_at_ms: null,
		ended_by: null,
		failed_attempts: 1,
		failures: 1,
		mailed_failures: 0,
		last_failed_at_ms: OPENED_AT_MS,
		last_delivery_id: 9,
		last_result: "answered",
		last_verdict: "refused",
		last_http_status: 404,
		last_detail: null,
		mail_due_at_ms: OPENED_AT_MS,
		mailed_at_ms: null,
		mailed_to: null,
		mail_refused_to: null,
		lastDeliveryPublicId: "dlv_9",
		lastEvent: "conversion.recorded",
		lastOrderId: "A-1001",
		lastConversionId: "cnv_1001",
		...change,
	};
}

const RECOVERY = notice({
	kind: "callbacks_working_again",
	failed_attempts: 0,
	failures: 0,
	opened_at_ms: OPENED_AT_MS + 60_000,
	last_failed_at_ms: null,
	last_delivery_id: null,
	last_result: null,
	last_verdict: null,
	last_http_status: null,
	lastDeliveryPublicId: null,
	lastEvent: null,
	lastOrderId: null,
	lastConversionId: null,
});

function compose(notices: readonly ShownNotice[], change: Partial<NoticeMailView> = {}) {
	const view: NoticeMailView = {
		owner: { kind: "shop", name: "Sample shop", public_id: "prg_1" },
		notices,
		undelivered: { waiting: 0, failed: 1, nextDueAtMs: null },
		nowMs: OPENED_AT_MS,
		zone: "UTC",
		...change,
	};
	return composeNoticeMail(view, NETWORK);
}

test("the mail about the first final failure says what failed, why, when and what to do, and links to the callback", () => {
	const { subject, text } = compose([notice()]);
	equal(subject, '1 callback failed permanently: "Sample shop"');
	match(text, /^Programme: "Sample shop" \(prg_1\)$/m);
	match(text, /^1 callback to your shop failed permanently; there are no more retries\.$/m);
	match(
		text,
		/^The last permanent failure: 2026-01-15 12:05 UTC, order "A-1001" \(conversion\.recorded\): HTTP 404\. /m,
	);
	match(text, /^What to do:\nCheck the URL letter by letter/m);
	match(
		text,
		/^The callback that failed last:\nhttps:\/\/ringback\.example\/programmes\/prg_1\/deliveries\/dlv_9$/m,
	);
	ok(text.includes(`\nResend it:\n${HOME}/overview#failed\n`));
	ok(text.endsWith(`\n${HOME}/overview#notices`));
	doesNotMatch(text, /not resent:|Before that/, "nothing is said twice");
	match(text, /^No callback is waiting\.$/m);
});

test("a mail about failing callbacks says since when, how often, what is pending and when the next attempt is", () => {
	const early = notice({
		failed_attempts: 5,
		failures: 0,
		last_failed_at_ms: OPENED_AT_MS + 120_000,
		last_verdict: "retry",
		last_http_status: 500,
	});
	const undelivered = { waiting: 5, failed: 0, nextDueAtMs: OPENED_AT_MS + 360_000 };
	const { subject, text } = compose([early], { undelivered });
	equal(subject, 'Callbacks are failing: "Sample shop"');
	match(
		text,
		/^Callbacks to your shop have been failing since 2026-01-15 12:05 UTC: 5 attempts in a row failed\.$/m,
	);
	match(
		text,
		/^The last failed attempt: 2026-01-15 12:07 UTC, order .*: HTTP 500\. Your server had an error\.$/m,
	);
	match(text, /^Waiting: 5 callbacks; the next attempt is at 2026-01-15 12:11 UTC\.$/m);
	match(text, /^What to do:\nCheck your server's log at this time\.$/m);
	ok(text.includes(`\n${HOME}/integration?state=pending#deliveries\n`));
	doesNotMatch(text, /failed permanently|state=failed|null|undefined/);
});

test("times are written in the reader's zone, which is named", () => {
	const undelivered = { waiting: 5, failed: 0, nextDueAtMs: OPENED_AT_MS + 360_000 };
	const ended = notice({ ended_at_ms: OPENED_AT_MS + 60_000, ended_by: "success", mailed_failures: 0 });
	const { text } = compose([ended, RECOVERY], { undelivered, zone: "Asia/Kolkata" });
	match(
		text,
		/failed from 2026-01-15 17:35 \(Asia\/Kolkata\) to 2026-01-15 17:36 \(Asia\/Kolkata\): 1 attempt failed\.$/m,
	);
	match(text, /^The last permanent failure: 2026-01-15 17:35 \(Asia\/Kolkata\), order/m);
	match(text, /^Since 2026-01-15 17:36 \(Asia\/Kolkata\) your server accepts callbacks again\.$/m);
	match(text, /the next attempt is at 2026-01-15 17:41 \(Asia\/Kolkata\)\.$/m);
	doesNotMatch(text, /UTC/);
});

test("a digest says what is new, and how many failures there are since the beginning", () => {
	const { subject, text } = compose([
		notice({ failures: 250, mailed_failures: 1, last_failed_at_ms: OPENED_AT_MS + 900_000 }),
	]);
	equal(subject, '249 callbacks failed permanently: "Sample shop"');
	match(text, /^249 callbacks to your shop failed permanently \(250 since 2026-01-15 12:05 UTC\);/m);
	match(text, /^The last permanent failure: 2026-01-15 12:20 UTC/m);
});

test("a recovery mail describes the failure before it, and says that every callback was delivered", () => {
	const ended = notice({
		ended_at_ms: OPENED_AT_MS + 60_000,
		ended_by: "success",
		failures: 0,
		failed_attempts: 6,
		last_failed_at_ms: OPENED_AT_MS + 50_000,
	});
	const undelivered = { waiting: 0, failed: 0, nextDueAtMs: null };
	const { subject, text } = compose([ended, RECOVERY], { undelivered });
	equal(subject, 'Callbacks recovered: "Sample shop"');
	match(
		text,
		/^Callbacks to your shop failed from 2026-01-15 12:05 UTC to 2026-01-15 12:06 UTC: 6 attempts/m,
	);
	match(text, /^The last failed attempt: 2026-01-15 12:05 UTC,/m);
	match(text, /^Since 2026-01-15 12:06 UTC your server accepts callbacks again\.$/m);
	match(text, /^No callback is undelivered\.$/m);
	doesNotMatch(text, /What to do|state=/);
});

test("a recovery mail says how many callbacks are still undelivered, and where to resend them", () => {
	const undelivered = { waiting: 3, failed: 2, nextDueAtMs: OPENED_AT_MS + 300_000 };
	const { subject, text } = compose([RECOVERY], { undelivered });
	equal(subject, 'Callbacks recovered, 2 callbacks not delivered: "Sample shop"');
	match(
		text,
		/^Still undelivered:\nWaiting: 3 callbacks; .*\nFailed permanently and not resent: 2 callbacks\.$/m,
	);
	match(text, /^Failed callbacks are not retried automatically: resend them, or set them aside\.$/m);
	ok(text.includes(`\nResend all 2:\n${HOME}/overview#failed\n`));
	doesNotMatch(text, /deliveries\/|null|undefined/);
});

test("a shop that fails on and off gets a readable mail with the newest failure in full and the others counted", () => {
	const flaps = Array.from({ length: 50 }, () => [
		notice({ failures: 2, ended_at_ms: OPENED_AT_MS, ended_by: "success" }),
		RECOVERY,
	]).flat();
	const { text } = compose(flaps);
	match(text, /^47 earlier notices .*\n94 callbacks to your shop failed permanently then\.$/m);
	equal([...text.matchAll(/^2 callbacks to your shop failed permanently/gm)].length, 3);
	ok(text.length < 3_000, `${text.length}`);
});

test("the present state comes first, then what to do, then earlier failures, each once", () => {
	const before = notice({
		ended_at_ms: OPENED_AT_MS + 60_000,
		ended_by: "success",
		failures: 2,
		mailed_failures: 0,
	});
	const now = notice({
		opened_at_ms: OPENED_AT_MS + 120_000,
		last_http_status: 500,
		last_verdict: "retry",
		failures: 0,
	});
	const undelivered = { waiting: 1, failed: 2, nextDueAtMs: OPENED_AT_MS + 360_000 };
	const { text } = compose([before, RECOVERY, now], { undelivered });
	const parts = [
		"have been failing since 2026-01-15 12:07",
		"Waiting: 1",
		"What to do:",
		"Resend all 2:",
		"Before that:",
	];
	const places = [...parts, "failed from 2026-01-15 12:05"].map((part) => text.indexOf(part));
	ok(!places.includes(-1), text);
	deepEqual(
		places,
		places.toSorted((a, b) => a - b),
	);
	doesNotMatch(text, /accepts callbacks again/, "that it ended is said with what it ended");
	for (const line of text.split("\n").filter((line) => line !== "")) equal(text.split(line).length, 2, line);
});

test("a count beyond the limit is shown as more than the limit", () => {
	const { text } = compose([notice()], { undelivered: { waiting: 1_000, failed: 1_000, nextDueAtMs: 1 } });
	match(text, /^Waiting: 1000 or more callbacks; the next attempt is being made now\.$/m);
	match(text, /^Failed permanently and not resent: 1000 or more callbacks\.$/m);
});

test("a delivery that was removed by retention leaves no broken link", () => {
	const { text } = compose([
		notice({ lastDeliveryPublicId: null, lastOrderId: null, lastConversionId: null, lastEvent: null }),
	]);
	doesNotMatch(text, /null|undefined|deliveries\/|order "/);
});

const CAUSES: readonly [what: string, last: Partial<LastFailure>, cause: RegExp][] = [
	["no answer", { last_result: "timeout", last_verdict: "retry" }, /did not answer within 5 seconds/],
	["a 5xx", answered(503, "retry"), /^HTTP 503\. /],
	["a 401", answered(401, "refused"), /^HTTP 401\. .*signature.* do not retry\.$/],
	["a 404", answered(404, "refused"), /^HTTP 404\. .* deliberate refusal/],
	["a redirect", answered(302, "redirect"), /^HTTP 302\. .*redirect.*not followed/],
	["no name", broken("ENOTFOUND (look-up)"), /DNS/],
	["no listener", broken("ECONNREFUSED (connect)"), /^Connection refused\. /],
	["an old certificate", broken("CERT_HAS_EXPIRED (tls)"), /^Certificate expired\. /],
	["a cut", broken("ECONNRESET (exchange)"), /^Connection broke\. /],
	[
		"a private address",
		{ last_result: "forbidden-address", last_verdict: "forbidden address" },
		/private or internal address/,
	],
];

function answered(status: number, verdict: LastFailure["last_verdict"]): Partial<LastFailure> {
	return { last_result: "answered", last_verdict: verdict, last_http_status: status };
}

function broken(detail: string): Partial<LastFailure> {
	return { last_result: "network-error", last_verdict: "retry", last_detail: detail };
}

for (const [what, last, cause] of CAUSES) {
	test(`the cause is described so that the reader can act on it: ${what}`, () => {
		const none = { last_result: null, last_verdict: null, last_http_status: null, last_detail: null };
		const explained = explainFailure({ ...none, ...last });
		match(explained.cause, cause);
		match(explained.advice, /\w.*\.$/);
		const { text } = compose([notice({ ...none, ...last })]);
		ok(text.includes(explained.cause) && text.includes(explained.advice));
		doesNotMatch(text, /null|undefined/);
	});
}

test("a line break or an address in a name or an order adds no header, no line and no link", () => {
	const owner = { kind: "shop", name: "Shop\r\nBcc: everybody@example.org", public_id: "prg_1" } as const;
	const { subject, text } = compose([notice({ lastOrderId: "1\nhttps://evil.example/x" })], { owner });
	doesNotMatch(subject, /[\r\n]/);
	deepEqual(text.split("\n").slice(0, 1), ['Programme: "Shop Bcc: everybody[at]example[.]org" (prg_1)']);
	match(text, /order "1\[U\+000A\]https\[:\]\/\/evil\[\.\]example\/x"/);
});

test("the mail to a partner's people names the conversion instead of the order, and links to the partner's pages", () => {
	const owner = { kind: "partner", name: "Blog", public_id: "ptn_1" } as const;
	const { text } = compose([notice({ lastOrderId: null })], {
		owner,
		undelivered: { waiting: 2, failed: 1, nextDueAtMs: null },
	});
	match(text, /^Partner: "Blog" \(ptn_1\)$/m);
	match(text, /^1 callback to your server failed permanently/m);
	match(text, /, cnv_1001 \(conversion\.recorded\): /);
	doesNotMatch(text, /order|your shop|programme/i);
	deepEqual(text.match(/https:\S+/g), [
		"https://ringback.example/partner/ptn_1/deliveries/dlv_9",
		"https://ringback.example/partner/ptn_1/callbacks?state=failed#deliveries",
		"https://ringback.example/partner/ptn_1/callbacks?state=pending#deliveries",
		"https://ringback.example/partner/ptn_1/callbacks",
	]);
});
