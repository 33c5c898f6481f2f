import { deepEqual, doesNotMatch, equal, match } from "node:assert/strict";
import { test } from "node:test";
import type { Verdict } from "../domain/verdict.ts";
import type { Notice } from "../store/notices.ts";
import type { Programme } from "../store/programmes.ts";
import { composeNoticeMail } from "./notice-mail.ts";

const OPENED_AT_MS = Date.UTC(2026, 0, 15, 12, 5);
const NETWORK = { brand: "Service", publicUrl: "https://ringback.example" };

const PROGRAMME: Programme = {
	id: 1,
	public_id: "prg_1",
	name: "Sample shop",
	currency: "EUR",
	commission_rate: "8.0000",
	fee_rate: "2.0000",
	approval_days_min: 0,
	approval_days_max: 90,
	approval_days: 30,
	parks_pixels: 1,
	parked_days: 30,
	endpoint_id: 1,
	endpoint_epoch: 0,
	last_mailed_at_ms: null,
	first_signed_at_ms: null,
	first_pixel_at_ms: null,
	first_callback_at_ms: null,
	created_at_ms: OPENED_AT_MS,
};

function notice(change: Partial<Notice> = {}): Notice {
	return {
		id: 1,
		public_id: "ntc_1",
		receiver_id: 1,
		kind: "callbacks_failing",
		opened_at_ms: OPENED_AT_MS,
		updated_at_ms: OPENED_AT_MS,
		ended_at_ms: null,
		failures: 1,
		mailed_failures: 0,
		last_delivery_id: 9,
		last_verdict: "refused",
		last_http_status: 404,
		mail_due_at_ms: OPENED_AT_MS,
		mailed_at_ms: null,
		mailed_to: null,
		...change,
	};
}

test("the first failure: what failed, why, when, and where to look", () => {
	const { subject, text } = composeNoticeMail(PROGRAMME, [notice()], NETWORK);
	equal(subject, '1 callback failed: "Sample shop"');
	match(text, /^Programme: "Sample shop" \(prg_1\)$/m);
	match(text, /^1 callback to your shop finally failed\. The last one, at 2026-01-15 12:05 UTC: .*HTTP 404/m);
	match(text, /^https:\/\/ringback\.example$/m);
	match(
		text,
		/\nThis mail was sent by the affiliate network ringback\.example at https:\/\/ringback\.example\n$/,
	);
});

test("a digest tells what is new, and how many there are since it began", () => {
	const digest = notice({ failures: 250, mailed_failures: 1, updated_at_ms: OPENED_AT_MS + 900_000 });
	const { subject, text } = composeNoticeMail(PROGRAMME, [digest], NETWORK);
	equal(subject, '249 callbacks failed: "Sample shop"');
	match(text, /^249 callbacks to your shop finally failed \(250 since 2026-01-15 12:05 UTC\)\./m);
	match(text, /The last one, at 2026-01-15 12:20 UTC/);
});

const CAUSES: readonly [Verdict, number | null, RegExp][] = [
	["retry", null, /no answer came in seven attempts over a day and a half\./],
	["retry", 503, /seven attempts .* last answered HTTP 503/],
	["refused", 401, /answered HTTP 401, .* deliberate refusal/],
	["redirect", 302, /redirect \(HTTP 302\), which we do not follow\. Enter the final URL/],
	["forbidden address", null, /private or internal address\. It must be public/],
];

for (const [last_verdict, last_http_status, expected] of CAUSES) {
	test(`the cause is told so that one can act on it: ${last_verdict}, HTTP ${last_http_status}`, () => {
		const { text } = composeNoticeMail(PROGRAMME, [notice({ last_verdict, last_http_status })], NETWORK);
		match(text, expected);
		doesNotMatch(text, /null|undefined/);
	});
}

test("a shop that works again is the subject, and the failures before it are in the text", () => {
	const ended = notice({ ended_at_ms: OPENED_AT_MS + 60_000, failures: 2 });
	const again = notice({
		kind: "callbacks_working_again",
		failures: 0,
		last_verdict: null,
		last_http_status: null,
		opened_at_ms: OPENED_AT_MS + 60_000,
	});
	const { subject, text } = composeNoticeMail(PROGRAMME, [ended, again], NETWORK);
	equal(subject, 'Callbacks work again: "Sample shop"');
	match(text, /^2 callbacks to your shop finally failed/m);
	match(text, /^Since 2026-01-15 12:06 UTC your shop answers callbacks again\.$/m);
});

test("a line break in the programme's name adds no header and no line", () => {
	const programme = { ...PROGRAMME, name: "Shop\r\nBcc: everybody@example.org" };
	const { subject, text } = composeNoticeMail(programme, [notice()], NETWORK);
	doesNotMatch(subject, /[\r\n]/);
	deepEqual(text.split("\n").slice(0, 1), ['Programme: "Shop Bcc: everybody[at]example[.]org" (prg_1)']);
});
