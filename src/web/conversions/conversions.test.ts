import { deepEqual, doesNotMatch, equal, match, ok } from "node:assert/strict";
import { test } from "node:test";
import { expireParked } from "../../conversions/end-windows.ts";
import { recordConversion } from "../../conversions/record.ts";
import { EVENT_TYPES, STATUSES } from "../../domain/conversion.ts";
import { updateProgramme } from "../../store/queries/programmes.ts";
import { START_MS } from "../test-site.test-support.ts";
import { follow, openShop, submitForm } from "./shop.test-support.ts";

const MARKUP = `<script>alert("x")</script>`;
test("an empty list says the next step", async (t) => {
	const { owner, base, programme } = await openShop(t);
	const page = await owner.open(base);
	equal(page.status, 200);
	match(page.text, /<h1>Conversions<\/h1>/);
	match(page.text, /No conversions yet/);
	match(page.text, new RegExp(`href="/programmes/${programme.public_id}/integration"`));
});

test("a row shows status, amounts, when it approves, who decided and why", async (t) => {
	const { owner, base, add } = await openShop(t);
	await add({ order_id: "waiting", basket_value: "1234.50", commission: "98.76", network_fee: "30.86" });
	await add({
		order_id: "gone",
		status: "REJECTED",
		reason: "PAYMENT_FAILED",
		decided_by: "review",
		test: 1,
	});
	await add({ order_id: "parked", status: "PARKED", source: "pixel", event_type: "LEAD" });
	const { text } = await owner.open(`${base}?test=all`);
	match(text, /1<span class="thousands">234<\/span>\.50 <span class="faint">EUR/);
	match(text, /98\.76/);
	match(text, /30\.86/);
	match(text, /approves on <time[^>]*>2026-03-31/);
	match(text, /Payment failed · by the review team/);
	match(text, /Lead · pixel/);
	match(text, /waits until/);
	equal(text.match(/class="test-mark"/g)?.length, 1);
});

test("filters, search and pages are part of the address", async (t) => {
	const { owner, base, add } = await openShop(t);
	for (let index = 0; index < 60; index++) {
		await add({ order_id: `A-${index}`, status: index % 2 === 0 ? "APPROVED" : "RECORDED" });
	}
	const first = await owner.open(`${base}?status=APPROVED`);
	equal(first.text.match(/name="conversion"/g)?.length, 30);
	doesNotMatch(first.text, /rel="next"/);
	const all = await owner.open(base);
	equal(all.text.match(/name="conversion"/g)?.length, 50);
	const older = /href="([^"]+)" rel="next"/.exec(all.text)?.[1]?.replaceAll("&amp;", "&") ?? "";
	const second = await owner.open(older);
	equal(second.text.match(/name="conversion"/g)?.length, 10);
	match(second.text, /Newest/);
	const found = await owner.open(`${base}?orderId=A-1`);
	equal(found.text.match(/name="conversion"/g)?.length, 11);
	const spaced = await owner.open(`${base}?orderId=+a-1+`);
	equal(spaced.text.match(/name="conversion"/g)?.length, 11, "in any case, and without the spaces around it");
	const none = await owner.open(`${base}?orderId=B`);
	match(none.text, /No conversion matches/);
	// As a form sends it: what is empty is no filter. A cursor that no list of ours wrote is the beginning.
	for (const nothing of ["orderId=+&status=&eventType=&test=&from=&to=&zone=", "cursor=-", "cursor=cnv_0"]) {
		equal((await owner.open(`${base}?${nothing}`)).text.match(/name="conversion"/g)?.length, 50, nothing);
	}
	match((await owner.open(`${base}?from=2026-03-02`)).text, /No conversion matches/);
	equal(
		(await owner.open(`${base}?from=2026-03-01&to=2026-03-01`)).text.match(/name="conversion"/g)?.length,
		50,
	);
});

for (const [field, typed, sentence] of [
	["status", "BOGUS", /Choose one of these/],
	["eventType", "sale", /Choose one of these/],
	["test", "maybe", /Choose one of these/],
	["from", "tomorrow", /Enter a day such as 2026-03-01/],
	["to", "2026-02-30", /Enter a day such as 2026-03-01/],
	["orderId", "x".repeat(129), /1 to 128 characters/],
] as const) {
	test(`a filter that is not understood (${field}) is told at its field, and neither listed nor exported`, async (t) => {
		const { owner, base, add } = await openShop(t);
		await add({ order_id: "SECRET-ORDER" });
		for (const path of [base, `${base}/export.csv`]) {
			const { status, text, headers } = await owner.open(`${path}?eventType=&${field}=${typed}&orderid=1`);
			equal(status, 422, path);
			match(headers.get("content-type") ?? "", /text\/html/);
			match(text, new RegExp(`id="${field}"[^>]*aria-invalid="true"`));
			match(/id="[a-zA-Z]+-error">([^<]+)/.exec(text)?.[1] ?? "", sentence);
			match(text, /This filter is not understood/);
			doesNotMatch(text, /SECRET-ORDER|name="decision"|export\.csv/);
			equal(text.match(/aria-invalid/g)?.length, 1);
		}
		const kept = await owner.open(`${base}?${field}=${typed}`);
		if (field === "orderId") match(kept.text, new RegExp(`value="${typed}"[^>]*maxlength="128"`));
	});
}

test("days are those of the zone that comes with them, and of UTC where none does", async (t) => {
	const { owner, base, add } = await openShop(t);
	// In Berlin the clocks are put back on 25 October: that day has 25 hours.
	const moments = {
		"half past midnight of 15 Nov in Berlin": Date.UTC(2026, 10, 14, 23, 30),
		"half an hour before, 14 Nov": Date.UTC(2026, 10, 14, 22, 30),
		"the last half hour of 25 Oct": Date.UTC(2026, 9, 25, 22, 30),
		"half past midnight of 26 Oct": Date.UTC(2026, 9, 25, 23, 30),
		"the first half hour of 25 Oct": Date.UTC(2026, 9, 24, 22, 30),
	};
	for (const [order_id, created_at_ms] of Object.entries(moments).toSorted(
		([, one], [, next]) => one - next,
	)) {
		await add({ order_id, created_at_ms });
	}
	const list = async (query: string) => {
		const { text } = await owner.open(`${base}?${query}`);
		return [...text.matchAll(/title="([^"]+)">\1<\/a>/g)].map((found) => found[1]);
	};
	const berlin = "zone=Europe%2FBerlin";
	deepEqual(await list(`from=2026-11-15&${berlin}`), ["half past midnight of 15 Nov in Berlin"]);
	deepEqual(await list("from=2026-11-15"), []);
	deepEqual(await list(`from=2026-11-14&to=2026-11-14&${berlin}`), ["half an hour before, 14 Nov"]);
	deepEqual(await list("from=2026-11-14&zone=America%2FLos_Angeles"), [
		"half past midnight of 15 Nov in Berlin",
		"half an hour before, 14 Nov",
	]);
	deepEqual(await list(`from=2026-10-25&to=2026-10-25&${berlin}`), [
		"the last half hour of 25 Oct",
		"the first half hour of 25 Oct",
	]);
	deepEqual(await list("from=2026-10-25&to=2026-10-25"), [
		"half past midnight of 26 Oct",
		"the last half hour of 25 Oct",
	]);
	const named = await owner.open(`${base}?from=2026-11-15&${berlin}`);
	match(named.text, /From<span class="zone-mark"> \(Europe\/Berlin\)/);
	match(named.text, /name="zone" value="Europe\/Berlin"/);
	match(named.text, /export\.csv\?from=2026-11-15&amp;zone=Europe%2FBerlin/);
	for (const query of ["", "?from=2026-11-15&zone=Europe%2FAtlantis", "?from=2026-11-15&zone="]) {
		match((await owner.open(base + query)).text, /From<span class="zone-mark"> \(UTC\)/, query);
	}
	doesNotMatch((await owner.open(`${base}?${berlin}`)).text, /Clear/, "a zone alone is no filter");
});

test("markup in a programme's name and an order id is text on every page", async (t) => {
	const { owner, base, add } = await openShop(t, MARKUP);
	const conversion = await add({ order_id: MARKUP });
	const other = await add({ order_id: `${MARKUP} 2` });
	const form = new URLSearchParams([
		["conversion", conversion.public_id],
		["conversion", other.public_id],
		["decision", "approve"],
	]);
	await owner.open(base);
	const job = await submitForm(owner, `${base}/decide`, form);
	const decided = await owner.submit(`${base}/${conversion.public_id}/decide`, { decision: "approve" });
	for (const path of [
		base,
		`${base}?orderId=${encodeURIComponent(MARKUP)}`,
		decided.location,
		`${base}/bulk`,
		job.location,
	]) {
		const { text, status } = await owner.open(path ?? "");
		equal(status, 200);
		doesNotMatch(text, /<script>alert/, `${path}`);
		match(text, /&lt;script&gt;alert/, `${path}`);
	}
});

for (const [decision, reason, from, to] of [
	["approve", "", "RECORDED", "APPROVED"],
	["reject", "FRAUD", "RECORDED", "REJECTED"],
	["reverse", "RETURN", "APPROVED", "REVERSED"],
] as const) {
	test(`an owner can ${decision} a conversion from the list and from its page; twice changes nothing`, async (t) => {
		const { owner, base, add, read, audit } = await openShop(t);
		const one = await add({ order_id: "one", status: from });
		const two = await add({ order_id: "two", status: from });
		await owner.open(base);
		const fields = { decision, reason, sure: "yes" };
		const listed = await owner.submit(`${base}/${one.public_id}/decide`, {
			...fields,
			back: `?status=${from}`,
		});
		deepEqual([listed.status, listed.location], [303, `${base}?status=${from}`]);
		match(await follow(owner, listed.location), new RegExp(`Order one is ${to.toLowerCase()}`));
		const direct = await owner.submit(`${base}/${two.public_id}/decide`, fields);
		deepEqual([direct.status, direct.location], [303, `${base}/${two.public_id}`]);
		const again = await owner.submit(`${base}/${two.public_id}/decide`, fields);
		match(await follow(owner, again.location), /before\. Nothing was changed/);
		for (const conversion of [one, two]) {
			const { status, decided_by, reason: kept } = await read(conversion);
			deepEqual([status, decided_by, kept], [to, "shop", reason === "" ? null : reason]);
		}
		const detail = reason === "" ? decision : `${decision} (${reason})`;
		deepEqual(await audit(), [
			["conversion.decided", one.public_id, detail],
			["conversion.decided", two.public_id, detail],
		]);
	});
}

test("one ticked conversion is approved at once", async (t) => {
	const { owner, base, add, read } = await openShop(t);
	const one = await add({ order_id: "one" });
	await owner.open(base);
	const fields = { decision: "approve", conversion: one.public_id, back: "?status=RECORDED" };
	const approved = await owner.submit(`${base}/decide`, fields);
	deepEqual([approved.status, approved.location], [303, `${base}?status=RECORDED`]);
	equal((await read(one)).status, "APPROVED");
});

for (const [decision, reason, to] of [
	["reject", "FRAUD", "REJECTED"],
	["reverse", "PAYMENT_FAILED", "REVERSED"],
] as const) {
	test(`to ${decision} one conversion is asked about first, from the list and from its page, and done when sure`, async (t) => {
		const { owner, base, add, read, audit } = await openShop(t);
		const listed = await add({ order_id: "<listed>" });
		const opened = await add({ order_id: "opened" });
		await owner.open(base);
		const fields = { decision, reason };
		const fromList = await owner.submit(`${base}/decide`, {
			...fields,
			conversion: listed.public_id,
			back: "?status=RECORDED",
		});
		const fromPage = await owner.submit(`${base}/${opened.public_id}/decide`, fields);
		for (const [question, order] of [
			[fromList, "&lt;listed&gt;"],
			[fromPage, "opened"],
		] as const) {
			equal(question.status, 200);
			match(
				question.text,
				new RegExp(`<h1>${decision === "reject" ? "Reject" : "Reverse"} order ${order}\\?</h1>`),
			);
			match(question.text, /This cannot be undone/);
			match(question.text, reason === "FRAUD" ? /Fraud/ : /Payment failed/);
		}
		for (const conversion of [listed, opened]) equal((await read(conversion)).status, "RECORDED");
		deepEqual(await audit(), []);
		for (const [question, conversion, back] of [
			[fromList, listed, `${base}?status=RECORDED`],
			[fromPage, opened, `${base}/${opened.public_id}`],
		] as const) {
			match(question.text, new RegExp(`href="${back.replace("?", "\\?")}"`), "the way back");
			const action = /<form method="post" action="([^"]+decide)"/.exec(question.text)?.[1] ?? "";
			const hidden = [...question.text.matchAll(/type="hidden" name="(\w+)" value="([^"]*)"/g)];
			const sure = await owner.submit(
				action,
				Object.fromEntries(hidden.map(([, name, value]) => [name, value])),
			);
			deepEqual([sure.status, sure.location], [303, back]);
			equal((await read(conversion)).status, to);
		}
		const again = await owner.submit(`${base}/${opened.public_id}/decide`, fields);
		match(await follow(owner, again.location), /before\. Nothing was changed/, "nothing to ask any more");
	});
}

test("a decision that is refused keeps ticks and reason, says what to do in plain words, and changes nothing", async (t) => {
	const { owner, base, add, read, audit } = await openShop(t);
	const rejected = await add({ order_id: "rejected", status: "REJECTED" });
	const parked = await add({ order_id: "parked", status: "PARKED" });
	const one = await add({ order_id: "one" });
	const two = await add({ order_id: "two" });
	await owner.open(base);
	for (const [conversion, sentence] of [
		[rejected, "This conversion is rejected and cannot be approved. Only one that is recorded can."],
		[
			parked,
			"This conversion is parked until the shop&#39;s server confirms the order. It can be approved after that.",
		],
	] as const) {
		const refused = await owner.submit(`${base}/${conversion.public_id}/decide`, { decision: "approve" });
		equal(refused.status, 409);
		ok(refused.text.includes(sentence), refused.text);
	}
	for (const [fields, sentence, isAtField] of [
		[{ decision: "reject", reason: "" }, /Choose a reason first/, true],
		[{ decision: "reject", reason: "BORED" }, /There is no such reason\. Choose one/, true],
		[{ decision: "delete", reason: "FRAUD" }, /Choose what to do: approve, reject or reverse/, false],
	] as const) {
		for (const [path, ids] of [
			[`${base}/${one.public_id}/decide`, []],
			[`${base}/decide`, [one]],
			[`${base}/decide`, [one, two]],
		] as const) {
			const form = new URLSearchParams({ ...fields, back: "?status=RECORDED" });
			for (const { public_id } of ids) form.append("conversion", public_id);
			const { status, text } = await submitForm(owner, path, form);
			equal(status, 422);
			match(text, sentence);
			equal(/id="reason"[^>]*aria-invalid="true"/.test(text), isAtField);
			doesNotMatch(text, /RETURN, CANCELLED|POST \/v1/);
			deepEqual(tickedOf(text), ids.map(({ public_id }) => public_id).toReversed());
			if (fields.reason === "FRAUD") match(text, /value="FRAUD" selected/);
			if (ids.length > 0) match(text, /<option value="RECORDED" selected/, "the filter stays");
		}
	}
	const nothing = await owner.submit(`${base}/decide`, { decision: "reject", reason: "FRAUD" });
	equal(nothing.status, 422);
	match(nothing.text, /Nothing is selected[\s\S]*value="FRAUD" selected/);
	equal((await read(one)).status, "RECORDED");
	equal((await read(rejected)).status, "REJECTED");
	deepEqual(await audit(), []);
	// The address of a form that was refused, opened again.
	equal((await owner.open(`${base}/decide`)).location, base);
	equal((await owner.open(`${base}/${one.public_id}/decide`)).location, `${base}/${one.public_id}`);
});

function tickedOf(text: string): string[] {
	return [...text.matchAll(/name="conversion" value="(\w+)"[^>]* checked/g)].map((found) => found[1] ?? "");
}

test("to reject and to reverse, browsers ask for a reason; to approve they do not", async (t) => {
	const { owner, base, add } = await openShop(t);
	const one = await add();
	for (const path of [base, `${base}/${one.public_id}`]) {
		const { text } = await owner.open(path);
		match(text, /<select id="reason" name="reason" required>/);
		match(text, /value="approve" formnovalidate>/);
		doesNotMatch(text, /value="(?:reject|reverse)"[^>]*formnovalidate/);
	}
});

test("staff may reject in the review team's name, and neither approve nor reverse", async (t) => {
	const { site, base, add, read } = await openShop(t);
	const staff = await site.signIn(await site.addStaff());
	const conversion = await add();
	const list = await staff.open(base);
	match(list.text, /value="reject"/);
	doesNotMatch(list.text, /value="approve"|value="reverse"/);
	for (const decision of ["approve", "reverse"]) {
		const answer = await staff.submit(`${base}/${conversion.public_id}/decide`, {
			decision,
			reason: "RETURN",
		});
		equal(answer.status, 403);
		match(answer.text, /Only the shop&#39;s owners can/);
		equal((await read(conversion)).status, "RECORDED");
	}
	const sure = { decision: "reject", reason: "FRAUD", sure: "yes" };
	await staff.submit(`${base}/${conversion.public_id}/decide`, sure);
	const { status, decided_by } = await read(conversion);
	deepEqual([status, decided_by], ["REJECTED", "review"]);
});

test("a conversion's page shows its facts, history, mismatch and deliveries; who reviewed it stays inside", async (t) => {
	const { site, programme, owner, base, read } = await openShop(t);
	const report = { orderId: "P-1", eventType: "SALE", occurredAtMs: null, isTest: false } as const;
	const parked = await site.store.transact((trx) =>
		recordConversion(trx, site.deps, programme, { ...report, source: "pixel", basketValue: "90.00" }),
	);
	ok(parked.ok);
	await site.store.transact((trx) =>
		recordConversion(trx, site.deps, programme, { ...report, source: "postback", basketValue: "100.00" }),
	);
	const conversion = await read(parked.value.conversion);
	const href = `${base}/${conversion.public_id}`;
	const staffPerson = await site.addStaff("rita@network.example");
	const staff = await site.signIn(staffPerson);
	await staff.open(href);
	await staff.submit(`${href}/decide`, { decision: "reject", reason: "SELF_REFERRAL", sure: "yes" });
	const { text } = await owner.open(href);
	match(text, /Order P-1/);
	match(text, /The amounts differ.*90\.00.*100\.00/s);
	match(text, /class="timeline"/);
	match(
		text,
		/Waits for the shop&#39;s server to confirm it.*Confirmed by the shop&#39;s server.*by the review team: Self referral/s,
	);
	doesNotMatch(text, /rita@network\.example/);
	match((await staff.open(href)).text, /rita@network\.example/);
	match(text, /Nothing was sent/);
	doesNotMatch(text, /name="decision"/, "nothing can be done to it any more");
});

test("a sale that is reported after its pixel expired reads as recorded now, and its page tells the whole story", async (t) => {
	const { site, programme, owner, base } = await openShop(t);
	const report = { orderId: "P-1", eventType: "SALE", occurredAtMs: null, isTest: false } as const;
	const daysAgo = (days: number) => {
		const nowMs = () => START_MS - days * 86_400_000;
		return { ...site.deps, clock: { ...site.deps.clock, nowMs } };
	};
	const say = (days: number, source: "pixel" | "postback", basketValue: string) =>
		site.store.transact((trx) =>
			recordConversion(trx, daysAgo(days), programme, { ...report, source, basketValue }),
		);
	await say(40, "pixel", "1.00");
	equal(await expireParked(daysAgo(5), () => false), 1);
	const recorded = await say(0, "postback", "100.00");
	ok(recorded.ok);
	const { text } = await owner.open(`${base}/${recorded.value.conversion.public_id}`);
	match(text, /The amounts differ.*1\.00.*100\.00/s);
	match(text, /Not confirmed in time.*Reported by the shop&#39;s server as a new sale/s);
	match(text, /Reported by<\/dt>\s*<dd[^>]*>a signed request from the shop&#39;s server/);
	match(text, /Recorded<\/dt>\s*<dd[^>]*><time [^>]*datetime="2026-03-01T12:00/);
	const list = await owner.open(base);
	match(list.text, /datetime="2026-03-01T12:00/);
	doesNotMatch(list.text, /datetime="2026-01/, "when the pixel was called is nobody's question here");
});

test("a page says whether the shop's server stands behind what a pixel recorded", async (t) => {
	const { site, programme, owner, base, read } = await openShop(t);
	await updateProgramme(site.store.db, programme.id, { parks_pixels: 0 });
	const open = { ...programme, parks_pixels: 0 } as const;
	const report = { orderId: "P-1", eventType: "SALE", occurredAtMs: null, isTest: false } as const;
	const say = (source: "pixel" | "postback", basketValue: string) =>
		site.store.transact((trx) => recordConversion(trx, site.deps, open, { ...report, source, basketValue }));
	const pixel = await say("pixel", "99999.00");
	ok(pixel.ok);
	const href = `${base}/${(await read(pixel.value.conversion)).public_id}`;
	match((await owner.open(href)).text, /Confirmed by the shop&#39;s server<\/dt>\s*<dd[^>]*>Not yet/);
	match((await owner.open(base)).text, /pixel, unconfirmed/);
	await say("postback", "500.00");
	const { text } = await owner.open(href);
	match(text, /Confirmed by the shop&#39;s server<\/dt>\s*<dd[^>]*><time/);
	match(text, /The amounts differ.*99999\.00.*500\.00/s);
	doesNotMatch((await owner.open(base)).text, /unconfirmed/);
});

test("deliveries of a conversion lead to their own pages", async (t) => {
	const { site, owner, base, programme, add } = await openShop(t);
	const conversion = await add();
	await site.store.db
		.insertInto("events")
		.values({
			id: 5,
			programme_id: programme.id,
			receiver_id: programme.id,
			conversion_id: conversion.id,
			name: "conversion.recorded",
			body: "{}",
		})
		.execute();
	await site.store.db
		.insertInto("deliveries")
		.values({
			id: 5,
			public_id: "dlv_5",
			programme_id: programme.id,
			receiver_id: programme.id,
			state: "failed",
			run: 1,
			attempts: 7,
			last_http_status: 503,
			created_at_ms: START_MS,
		})
		.execute();
	const { text } = await owner.open(`${base}/${conversion.public_id}`);
	match(text, new RegExp(`href="/programmes/${programme.public_id}/deliveries/dlv_5">conversion.recorded`));
	match(text, /Failed.*>7<.*>503</s);
});

test("a delivery has the same words on its conversion's page as on Integration", async (t) => {
	const { site, owner, base, programme, add } = await openShop(t);
	const conversion = await add();
	const delivery = {
		id: 5,
		programme_id: programme.id,
		receiver_id: programme.id,
		run: 1,
		created_at_ms: START_MS,
	} as const;
	await site.store.db
		.insertInto("events")
		.values({
			id: 5,
			programme_id: programme.id,
			receiver_id: programme.id,
			conversion_id: conversion.id,
			name: "conversion.recorded",
			body: "{}",
		})
		.execute();
	await site.store.db
		.insertInto("deliveries")
		.values({ ...delivery, public_id: "dlv_5", state: "pending", attempts: 2, last_http_status: 503 })
		.execute();
	await site.store.db
		.insertInto("attempts")
		.values({
			delivery_id: 5,
			seq: 2,
			programme_id: programme.id,
			run: 1,
			result: "timeout",
			started_at_ms: START_MS,
		})
		.execute();
	await site.store.db
		.insertInto("queue")
		.values({
			id: 5,
			receiver_id: programme.id,
			due_at_ms: START_MS + 60_000,
			endpoint_epoch: 0,
			run: 1,
			counted: 2,
			seq: 2,
		})
		.execute();
	const cells = async (path: string) => {
		const { text } = await owner.open(path);
		const row = text.split("<tr").find((part) => part.includes("deliveries/dlv_5")) ?? "";
		const words = ["Retrying", "503", "then: No answer in 5 s", "2026-03-01 12:01:00 UTC"];
		return words.filter((word) => row.includes(word));
	};
	const integration = `/programmes/${programme.public_id}/integration`;
	equal((await cells(`${base}/${conversion.public_id}`)).length, 4);
	deepEqual(await cells(integration), await cells(`${base}/${conversion.public_id}`));
});

for (const [status, moves, sentence] of [
	["PARKED", ["park"], /Parked and expired conversions send no callbacks/],
	["EXPIRED", ["park", "expire"], /Parked and expired conversions send no callbacks/],
	["RECORDED", ["park", "confirm"], /Your server confirmed the order/],
	["RECORDED", ["record"], /Only changes after the Postback URL was saved/],
	["APPROVED", ["park", "confirm", "approve"], /Only changes after the Postback URL was saved/],
] as const) {
	test(`why nothing was sent: ${moves.join(", ")}`, async (t) => {
		const { site, owner, base, add } = await openShop(t);
		const conversion = await add({ status });
		for (const move of moves) {
			const { id: conversion_id, programme_id } = conversion;
			const row = { programme_id, conversion_id, move, to_status: status, at_ms: START_MS };
			await site.store.db.insertInto("moves").values(row).execute();
		}
		const { text } = await owner.open(`${base}/${conversion.public_id}`);
		match(text, /Nothing was sent/);
		match(text, sentence);
		equal(/Postback URL/.test(text), /Postback URL/.test(sentence.source));
	});
}

test("inside an owner's own programme, another shop's conversions are as unknown as those of nobody", async (t) => {
	const { site, add, read } = await openShop(t);
	const conversion = await add({ order_id: "SECRET-ORDER" });
	const other = await site.addProgramme("Other");
	const stranger = await site.signIn(await site.addOwner(other));
	const base = `/programmes/${other.public_id}/conversions`;
	await stranger.open(base);
	const page = (id: string) => stranger.open(`${base}/${id}`);
	const decide = (id: string) => stranger.submit(`${base}/${id}/decide`, { decision: "approve" });
	for (const ask of [page, decide]) {
		const theirs = await ask(conversion.public_id);
		const unknown = await ask("cnv_00000000000000000000000000");
		deepEqual([theirs.status, theirs.text], [404, unknown.text]);
	}
	const selected = { decision: "approve", conversion: conversion.public_id };
	equal((await stranger.submit(`${base}/decide`, selected)).status, 404);
	equal((await read(conversion)).status, "RECORDED");
});

test("every status and event type has its words", async (t) => {
	const { owner, base, add } = await openShop(t);
	for (const status of STATUSES) for (const event_type of EVENT_TYPES) await add({ status, event_type });
	const { text } = await owner.open(base);
	equal(text.match(/name="conversion"/g)?.length, STATUSES.length * EVENT_TYPES.length);
	doesNotMatch(text, /undefined|\[object/);
});
