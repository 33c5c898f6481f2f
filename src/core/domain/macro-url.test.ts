import { deepEqual, equal, match } from "node:assert/strict";
import { test } from "node:test";
import { expectCheap, REPETITIONS, repeatTo } from "../../../test/support/hostile-texts.ts";
import { fillMacros, parseMacroUrl } from "./macro-url.ts";
import { composePartnerEvent, PARTNER_FIELDS, readPartnerEvent } from "./partner-event.ts";

const VALUES = readPartnerEvent(
	"conversion.approved",
	composePartnerEvent({
		conversionId: "cnv_1",
		programId: "prg_1",
		partnerId: "ptn_1",
		linkId: null,
		eventType: "SALE",
		basketValue: null,
		commission: "7.50",
		currency: "EUR",
		reason: null,
		creditedBy: "CODE",
		subIds: ["a b&c=d", "ü/?#'()*!", ""],
		test: false,
		clickedAtMs: null,
		occurredAtMs: 0,
	}),
	0,
);

test("a URL with macros in its query is accepted as it was entered", () => {
	const url = "https://tracker.example/postback?cid={sub1}&payout={commission}&status={status}";
	const parsed = parseMacroUrl(url);
	equal(parsed.ok && parsed.value.href, url);
	const all = `https://tracker.example/?${PARTNER_FIELDS.map((field) => `${field}={${field}}`).join("&")}`;
	equal(parseMacroUrl(all).ok, true);
});

test("a macro in the host or the path is refused", () => {
	for (const url of [
		"https://{sub1}.tracker.example/postback",
		"https://tracker.example/{sub1}?a=1",
		"https://tracker.example/%7Bsub1%7D?a=1",
		"https://{sub1}@tracker.example/?a=1",
	]) {
		const parsed = parseMacroUrl(url);
		equal(!parsed.ok && parsed.fault.code, "postback_url_macro_place", url);
	}
});

test("an unknown macro is refused, and the sentence lists the known ones", () => {
	for (const query of ["a={orderId}", "a={sub1}&b={SUB1}", "a={sub1", "a=sub1}", "a=%7Bsub1%7D", "a={}"]) {
		const parsed = parseMacroUrl(`https://tracker.example/?${query}`);
		equal(!parsed.ok && parsed.fault.code, "postback_url_unknown_macro", query);
		match(parsed.ok ? "" : parsed.fault.detail, /\{event\}, \{conversionId\}.*\{sentAt\}/);
	}
});

test("a sub ID as it is called in links is refused with the name of its macro", () => {
	const parsed = parseMacroUrl("https://tracker.example/?cid={s2}");
	equal(!parsed.ok && parsed.fault.detail, '"{s2}" is not a macro. The macro of this sub ID is {sub2}.');
});

test("placeholders of other networks, and URLs that are wrong in another way, are refused", () => {
	const codes = [
		"https://t.example/?a=[status]",
		"http://t.example/?a={sub1}",
		"https://t.example/?a={sub1}#x",
	].map((url) => {
		const parsed = parseMacroUrl(url);
		return parsed.ok ? "accepted" : parsed.fault.code;
	});
	deepEqual(codes, ["postback_url_malformed", "postback_url_not_https", "postback_url_has_fragment"]);
});

test("values are percent-encoded, and a missing value is empty", () => {
	equal(
		fillMacros("/p?a={sub1}&b={sub2}&c={sub3}&d={linkId}&e={test}&f={event}", VALUES),
		"/p?a=a%20b%26c%3Dd&b=%C3%BC%2F%3F%23%27%28%29%2A%21&c=&d=&e=false&f=conversion.approved",
	);
});

test("a value that looks like a macro is not replaced a second time", () => {
	equal(fillMacros("/p?a={sub1}", { ...VALUES, sub1: "{sub2}" }), "/p?a=%7Bsub2%7D");
});

test("a URL of half a megabyte is refused by its length at once", async () => {
	for (const part of REPETITIONS) {
		const url = `https://tracker.example/?a=${repeatTo(512 * 1024, part)}b`;
		await expectCheap(JSON.stringify(part), 50, () => {
			const parsed = parseMacroUrl(url);
			equal(!parsed.ok && parsed.fault.code, "postback_url_too_long");
		});
	}
});
