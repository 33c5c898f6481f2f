// Tests the list of conversions, both of one programme and of all programmes, and the page of a conversion.
// The tests in test/browser check how these pages look.

import { deepEqual, doesNotMatch, equal, match, ok } from "node:assert/strict";
import { test } from "node:test";
import { openJobs, runLines } from "#modules/jobs/use-cases/jobs.test-support.ts";
import { addConversion } from "../../../../test/support/rows.ts";
import { expireParked } from "../../conversions/end-windows.ts";
import { recordConversion } from "../../conversions/record.ts";
import { DAY_MS, HOUR_MS } from "../../domain/time.ts";
import { type Conversion, findByOrders } from "../../store/queries/conversions.ts";
import { type Browser, START_MS } from "../test-site.test-support.ts";
import { follow, openShop, plain, workOff } from "./shop.test-support.ts";

const MARKUP = `<script>alert("x")</script>`;

async function ordersOn(browser: Browser, address: string): Promise<string[]> {
	const { text, status } = await browser.open(address);
	equal(status, 200, address);
	return [...text.matchAll(/class="order-id mono" href="[^"]*" title="([^"]*)"/g)].map(
		([, order = ""]) => order,
	);
}

function formOf(fields: Record<string, string>, conversions: readonly Conversion[] = []): URLSearchParams {
	const form = new URLSearchParams(fields);
	for (const { public_id } of conversions) form.append("conversion", public_id);
	return form;
}

test("filters, search and sorting in the address select the conversions that are listed and exported", async (t) => {
	const { owner, base, add } = await openShop(t);
	match((await owner.open(base)).text, /No conversions yet[\s\S]*\/integration"/);
	const rows: readonly (readonly [string, Partial<Conversion>])[] = [
		["late-report", { basket_value: "9.50", occurred_at_ms: START_MS + HOUR_MS, event_type: "LEAD" }],
		["A 1", { basket_value: "7.00", occurred_at_ms: START_MS + 3 * HOUR_MS, status: "APPROVED" }],
		["a-12", { basket_value: "10.00", occurred_at_ms: START_MS + 2 * HOUR_MS }],
		["tried-1", { basket_value: "500.00", test: 1 }],
	];
	const ids = new Map<string, string>();
	for (const [order_id, change] of rows) ids.set(order_id, (await add({ order_id, ...change })).public_id);
	const all = ["a-12", "A 1", "late-report"];
	for (const [query, found] of [
		["", all],
		["orderId=+&status=&eventType=&test=&from=&to=&zone=&cursor=-", all],
		["sort=recorded-asc", all.toReversed()],
		["sort=sale-desc", ["A 1", "a-12", "late-report"]],
		["sort=basket-asc", ["A 1", "late-report", "a-12"]],
		["status=APPROVED", ["A 1"]],
		["eventType=LEAD", ["late-report"]],
		["orderId=+A-1+", ["a-12"]],
		["orderId=a+1", ["A 1"]],
		["orderId=1", ["tried-1", "a-12", "A 1"]],
		[`orderId=${ids.get("a-12")?.toLowerCase()}`, ["a-12"]],
		["orderId=nobody", []],
		["test=all", ["tried-1", ...all]],
		["test=yes", ["tried-1"]],
		["from=2026-03-02", []],
		["from=2026-03-01&to=2026-03-01", all],
		["from=2026-03-01&to=2026-03-01&dates=sale&sort=sale-asc", ["late-report", "a-12", "A 1"]],
	] as const) {
		deepEqual(await ordersOn(owner, `${base}?${query}`), found, query);
		const file = (await owner.open(`${base}/export.csv?${query}`)).text.trimEnd().split("\r\n");
		deepEqual(
			file.slice(1).map((line) => line.split(",")[0]),
			found,
			query,
		);
	}
	const sorted = (await owner.open(`${base}?sort=basket-desc&status=RECORDED`)).text;
	match(
		sorted,
		/aria-sort="descending"[^>]*><a class="sort-link" href="[^"]*status=RECORDED&amp;sort=basket-asc">Basket/,
	);
	match(sorted, new RegExp(`href="${base}/export\\.csv\\?status=RECORDED&amp;sort=basket-desc"`));
});

test("the next page continues after the previous one in every sort order", async (t) => {
	const { site, owner, base, add } = await openShop(t);
	for (let index = 0; index < 60; index++)
		await add({ order_id: `A-${index}`, basket_value: `${(index * 7) % 60}.00` });
	const staff = await site.signIn(await site.addStaff());
	for (const [browser, address] of [
		[owner, base],
		[owner, `${base}?sort=basket-asc`],
		[staff, "/conversions"],
	] as const) {
		const { text } = await browser.open(address);
		const next = /href="([^"]+)" rel="next"/.exec(text)?.[1]?.replaceAll("&amp;", "&") ?? "";
		const pages = [await ordersOn(browser, address), await ordersOn(browser, next)];
		deepEqual([pages[0]?.length, new Set(pages.flat()).size], [50, 60], address);
	}
});

test("unusual spaces in an order id are shown as code points such as [U+00A0]", async (t) => {
	const { owner, base, add } = await openShop(t);
	const noBreak = await add({ order_id: "A\u00a01" });
	const double = await add({ order_id: "A  1" });
	await add({ order_id: "A 1" });
	const list = (await owner.open(base)).text;
	for (const shown of [">A[U+00A0]1<", ">A[U+0020][U+0020]1<", ">A 1<"]) ok(list.includes(shown), shown);
	for (const [{ public_id }, shown, copied] of [
		[noBreak, "A[U+00A0]1", "A\u00a01"],
		[double, "A[U+0020][U+0020]1", "A  1"],
	] as const) {
		const { text } = await owner.open(`${base}/${public_id}`);
		ok(text.includes(`Order ${shown}`) && text.includes(`<code>${shown}</code>`), text);
		ok(text.includes(`data-copy="${copied}"`), "the copy button copies the order id unchanged");
	}
});

test("days are in the network's time zone, which the fields name", async (t) => {
	const { site, owner, base, add } = await openShop(t);
	// Clocks in Berlin are set back on 25 October, so that day has 25 hours.
	await add({ order_id: "first of 25", created_at_ms: Date.UTC(2026, 9, 24, 22, 30) });
	await add({ order_id: "last of 25", created_at_ms: Date.UTC(2026, 9, 25, 22, 30) });
	await add({ order_id: "first of 26", created_at_ms: Date.UTC(2026, 9, 25, 23, 30) });
	const day = "from=2026-10-25&to=2026-10-25";
	for (const zone of ["", "&zone=Europe%2FBerlin"]) {
		deepEqual(await ordersOn(owner, `${base}?${day}${zone}`), ["first of 26", "last of 25"], zone);
		match((await owner.open(`${base}?${day}${zone}`)).text, /From \(UTC\)/);
	}
	await site.setZone("Europe/Berlin");
	await site.store.db.updateTable("people").set({ zone: "America/New_York" }).execute();
	deepEqual(await ordersOn(owner, `${base}?${day}`), ["last of 25", "first of 25"]);
	const { text } = await owner.open(`${base}?${day}`);
	match(text, /From \(Europe\/Berlin\)[\s\S]*To \(Europe\/Berlin\)/);
	match(text, /export\.csv\?from=2026-10-25&amp;to=2026-10-25"/);
	match(
		(await owner.open(`${base}?from=2026-03-02&to=2026-03-01`)).text,
		/id="to-error">The last day is before the first/,
	);
	await site.setZone("Asia/Kolkata");
	deepEqual(await ordersOn(owner, `${base}?from=2026-10-26&to=2026-10-26`), ["first of 26", "last of 25"]);
});

test("staff list and export what was decided in all programmes in a period, in the network's zone", async (t) => {
	const { site, add } = await openShop(t);
	await site.setZone("Europe/Berlin");
	const other = await site.addProgramme("Other shop");
	const decidedAt = (at: string, change = {}) =>
		({ status: "APPROVED", decided_at_ms: Date.parse(at), ...change }) as const;
	await add({ order_id: "IN-FEBRUARY", ...decidedAt("2026-02-28T22:59:59Z") });
	await add({ order_id: "FIRST", ...decidedAt("2026-02-28T23:00:00Z") });
	await addConversion(site.store, other.id, { order_id: "SECOND", ...decidedAt("2026-03-31T21:59:59Z") });
	await add({ order_id: "TRIED", test: 1, ...decidedAt("2026-03-15T12:00:00Z") });
	await add({ order_id: "IN-APRIL", ...decidedAt("2026-03-31T22:00:00Z") });
	await add({ order_id: "OPEN" });
	const staff = await site.signIn(await site.addStaff());
	const march = "dates=decision&from=2026-03-01&to=2026-03-31";
	const namesIn = (text: string) =>
		[...text.matchAll(/IN-FEBRUARY|FIRST|SECOND|TRIED|IN-APRIL|OPEN/g)].map(([name]) => name);
	const ordersOn = async (query: string) => {
		const { status, text } = await staff.open(`/conversions?${query}`);
		equal(status, 200, query);
		return [...new Set(namesIn(text))];
	};
	deepEqual(await ordersOn(march), ["SECOND", "FIRST"], "the latest decision first");
	deepEqual(await ordersOn(`${march}&sort=decision-asc`), ["FIRST", "SECOND"]);
	deepEqual(await ordersOn(`${march}&test=all`), ["SECOND", "TRIED", "FIRST"]);
	deepEqual(await ordersOn("dates=decision"), ["IN-APRIL", "SECOND", "FIRST", "IN-FEBRUARY"]);
	deepEqual(await ordersOn(`${march}&status=REJECTED`), []);
	match((await staff.open(`/conversions?${march}`)).text, /Only decided ones are listed/);
	const file = await staff.open(`/conversions/export.csv?${march}`);
	equal(file.status, 200);
	deepEqual(namesIn(file.text), ["SECOND", "FIRST"]);
});

test("an invalid filter is reported at its field, and nothing is listed, exported or decided", async (t) => {
	const { site, owner, base, add, read } = await openShop(t);
	const secret = await add({ order_id: "SECRET-ORDER" });
	const staff = await site.signIn(await site.addStaff());
	const long = "x".repeat(129);
	for (const [browser, path, field, typed, sentence] of [
		[owner, base, "status", "BOGUS", /Choose one of these/],
		[owner, base, "eventType", "sale", /Choose one of these/],
		[owner, base, "test", "maybe", /Choose one of these/],
		[owner, base, "from", "tomorrow", /Enter a day such as 2026-03-01/],
		[owner, `${base}/export.csv`, "to", "2026-02-30", /Enter a day such as 2026-03-01/],
		[owner, `${base}/export.csv`, "orderId", long, /1 to 128 characters/],
		[staff, "/conversions", "orderId", "1%E2%80%8B0", /a character that cannot be seen/],
		[staff, "/conversions", "dates", "sale", /Open a programme&#39;s own list/],
	] as const) {
		const { status, text } = await browser.open(`${path}?${field}=${typed}&unknown=1`);
		equal(status, 422, field);
		match(text, new RegExp(`id="${field}"[^>]*aria-invalid="true"`));
		match(/id="[a-zA-Z]+-error">([^<]+)/.exec(text)?.[1] ?? "", sentence);
		match(text, /This filter is not understood/);
		doesNotMatch(text, /SECRET-ORDER|name="decision"|export\.csv/);
	}
	await owner.open(base);
	for (const query of ["?status=BOGUS", "?orderId=nobody"]) {
		await owner.submitForm(
			`${base}/decide`,
			formOf({ decision: "approve", all: "yes", back: `${base}${query}` }),
		);
	}
	deepEqual(await site.store.db.selectFrom("jobs").select("id").execute(), []);
	equal((await read(secret)).status, "RECORDED");
});

test("rows show status and amounts, and the totals above them leave out tests", async (t) => {
	const { site, owner, base, add } = await openShop(t);
	const other = await site.addProgramme("Other");
	await add({ order_id: "waiting", basket_value: "234.50", commission: "98.76", network_fee: "30.86" });
	await add({
		order_id: "gone",
		status: "REJECTED",
		reason: "PAYMENT_FAILED",
		decided_by: "review",
		test: 1,
	});
	await add({
		order_id: "parked",
		status: "PARKED",
		source: "pixel",
		event_type: "LEAD",
		basket_value: "5.00",
	});
	const { text } = await owner.open(`${base}?test=all`);
	const words = plain(text);
	match(
		words,
		/3 conversions ?Basket 239\.50 EUR ?Commission: 7\.50 EUR parked, 98\.76 EUR recorded ?1 test not in the sum/,
	);
	match(words, /approves on 2026-03-31.*234\.50 EUR 98\.76 EUR 30\.86 EUR/);
	match(words, /by the review team ?Payment failed/);
	match(words, /Lead · pixel.*waits for the shop(&#39;|')s server until/);
	await add({
		basket_value: "300",
		commission: "30",
		network_fee: "3",
		currency: "JPY",
		programme_id: other.id,
	});
	const staff = await site.signIn(await site.addStaff());
	match(plain((await staff.open("/conversions")).text), /3 conversions ?Basket 300 JPY.*Basket 239\.50 EUR/);
});

test("only staff can list the conversions of all programmes", async (t) => {
	const { site, owner, programme, add } = await openShop(t, MARKUP);
	const other = await site.addProgramme("Other");
	await add({ order_id: "old", created_at_ms: START_MS - 40 * DAY_MS });
	await add({ order_id: "approved", status: "APPROVED", basket_value: "1000.00" });
	await add({ order_id: "foreign", programme_id: other.id });
	const staff = await site.signIn(await site.addStaff());
	for (const [query, found] of [
		["", ["foreign", "approved", "old"]],
		["sort=recorded-asc", ["old", "approved", "foreign"]],
		["status=RECORDED", ["foreign", "old"]],
		["orderId=o", ["foreign", "approved", "old"]],
		["to=2026-02-01", ["old"]],
	] as const) {
		deepEqual(await ordersOn(staff, `/conversions?${query}`), found, query);
	}
	const { text } = await staff.open("/conversions?status=RECORDED");
	ok(text.includes(`href="/programmes/${programme.public_id}/conversions?status=RECORDED"`));
	doesNotMatch(text, /<script>alert|name="all"|value="(?:approve|reverse)"/);
	equal((await owner.open("/conversions")).status, 404);
});

for (const [decision, reason, from, to] of [
	["approve", "", "RECORDED", "APPROVED"],
	["reject", "FRAUD", "RECORDED", "REJECTED"],
	["reverse", "RETURN", "APPROVED", "REVERSED"],
] as const) {
	test(`an owner can ${decision} a conversion once, from the list and from its page, and must confirm it if it cannot be undone`, async (t) => {
		const { owner, base, add, read, audit } = await openShop(t);
		const one = await add({ order_id: "one", status: from });
		const two = await add({ order_id: "two", status: from });
		const listed = `${base}?status=${from}`;
		const ownPage = `${base}/${two.public_id}?back=${encodeURIComponent(listed)}`;
		await owner.open(base);
		for (const [conversion, back] of [
			[one, listed],
			[two, ownPage],
		] as const) {
			const form = { decision, reason, conversion: conversion.public_id, back };
			let answer = await owner.submit(`${base}/decide`, form);
			if (decision !== "approve") {
				equal((await read(conversion)).status, from);
				match(
					answer.text,
					new RegExp(`<h1>Re\\w+ order ${conversion.order_id}\\?</h1>[\\s\\S]*This cannot be undone`),
				);
				ok(answer.text.includes(`href="${back.replaceAll("&", "&amp;")}"`), "the link back to the list");
				const hidden = [...answer.text.matchAll(/type="hidden" name="(\w+)" value="([^"]*)"/g)];
				const asked = Object.fromEntries(hidden.map(([, name, value]) => [name, value]));
				answer = await owner.submit(`${base}/decide`, asked);
			}
			deepEqual([answer.status, answer.location], [303, back]);
			match(await follow(owner, back), new RegExp(`Order ${conversion.order_id} is ${to.toLowerCase()}`));
			const again = await owner.submit(`${base}/decide`, form);
			match(await follow(owner, again.location), /Nothing was changed\. 1 was \w+ before/);
			const { status, decided_by, reason: storedReason } = await read(conversion);
			deepEqual([status, decided_by, storedReason], [to, "shop", reason || null]);
		}
		match(
			(await owner.open(ownPage)).text,
			new RegExp(`href="${base}\\?status=${from}"[^>]*>Back to the list`),
		);
		const detail = reason === "" ? decision : `${decision} (${reason})`;
		deepEqual(
			await audit(),
			[one, two].map(({ public_id }) => ["conversion.decided", public_id, detail]),
		);
	});
}

test("several selected conversions are decided after one confirmation, which shows the sums and what is left out", async (t) => {
	const { site, owner, base, add, read, audit } = await openShop(t);
	const two = [
		await add({ order_id: "one", basket_value: "700.00", commission: "52.50" }),
		await add({ order_id: "<two>", basket_value: "25.68", commission: "1.93" }),
	];
	const tried = await add({ order_id: "tried", test: 1 });
	const gone = await add({ order_id: "gone", status: "REJECTED" });
	const expired = await add({ order_id: "late", status: "EXPIRED" });
	const foreign = await add({ order_id: "FOREIGN", programme_id: (await site.addProgramme("Other")).id });
	await owner.open(base);
	const back = `${base}?sort=basket-desc`;
	const form = formOf({ decision: "reject", reason: "FRAUD", back }, [...two, tried, gone, expired, foreign]);
	const asked = plain((await owner.submitForm(`${base}/decide`, form)).text);
	match(
		asked,
		/Reject 3 conversions\?.*This cannot be undone\. Your server gets a callback with the reason\./,
	);
	match(
		asked,
		/Conversions ?3 ?Basket ?725\.68 EUR ?Commission ?54\.43 EUR ?Tests ?1, not in the sums ?No change needed ?1 ?Left out ?Order late: .*Reason ?Fraud/,
	);
	doesNotMatch(asked, /FOREIGN/);
	for (const conversion of two) equal((await read(conversion)).status, "RECORDED");
	form.set("sure", "yes");
	const done = await owner.submitForm(`${base}/decide`, form);
	deepEqual([done.status, done.location], [303, back]);
	match(
		await follow(owner, back),
		/3 conversions rejected\. 1 was rejected before\. Order late: This conversion/,
	);
	for (const conversion of two) equal((await read(conversion)).status, "REJECTED");
	equal((await read(foreign)).status, "RECORDED");
	equal((await audit()).length, 3);
	deepEqual(await site.store.db.selectFrom("jobs").select("id").execute(), [], "no job was created");
});

test("deciding everything that matches a filter stores the matches of that moment, previews them and decides them in batches", async (t) => {
	const { site, owner, base, add, read } = await openShop(t);
	const rows: Conversion[] = [];
	for (let index = 0; index < 120; index++)
		rows.push(await add({ order_id: `Bulk-${index}`, basket_value: "2.00" }));
	const others = [
		await add({ order_id: "other" }),
		await add({ order_id: "bulk-foreign", programme_id: (await site.addProgramme("Other")).id }),
	];
	match(plain((await owner.open(`${base}?orderId=bulk`)).text), /Select all 120 that match/);
	const fields = {
		decision: "reject",
		reason: "DUPLICATE",
		all: "yes",
		back: `${base}?orderId=bulk&cursor=x`,
	};
	const job = (await owner.submitForm(`${base}/decide`, formOf(fields, others))).location ?? "";
	match(plain((await owner.open(job)).text), /All that matched the filters · 120 lines/);
	others.push(await add({ order_id: "bulk-late" }));
	await workOff(site);
	match(plain((await owner.open(job)).text), /Decide 120 conversions.*Rejected ?120 ?240\.00 EUR/);
	await owner.submit(`${job}/apply`, {});
	await workOff(site);
	const done = (await owner.open(job)).text;
	match(plain(done), /120 conversions decided/);
	match(done, new RegExp(`href="${base}\\?orderId=bulk"`), "the link back to the list");
	for (const conversion of rows) equal((await read(conversion)).status, "REJECTED");
	for (const conversion of others) equal((await read(conversion)).status, "RECORDED");
});

test("staff can only reject, in the name of the review team: one conversion, several of any programmes, or all of one programme", async (t) => {
	const { site, base, add, read, audit } = await openShop(t);
	const other = await site.addProgramme("Other");
	const one = await add({ order_id: "one" });
	const two = await add({ order_id: "two", programme_id: other.id });
	const three = await add({ order_id: "three" });
	const staff = await site.signIn(await site.addStaff());
	doesNotMatch((await staff.open(base)).text, /value="approve"|value="reverse"/);
	for (const decision of ["approve", "reverse"]) {
		for (const all of ["", "yes"]) {
			const refused = await staff.submitForm(
				`${base}/decide`,
				formOf({ decision, reason: "RETURN", sure: "yes", all }, [one]),
			);
			match(await follow(staff, refused.location), /Only the shop&#39;s owners can/);
		}
	}
	equal((await read(one)).status, "RECORDED");
	const form = formOf({ decision: "reject", reason: "FRAUD", back: "/conversions?orderId=o" }, [one, two]);
	match((await staff.submitForm("/conversions/decide", form)).text, /Reject 2 conversions\?/);
	form.set("sure", "yes");
	equal((await staff.submitForm("/conversions/decide", form)).location, "/conversions?orderId=o");
	await staff.submitForm("/conversions/decide", form);
	equal((await audit()).length, 2, "sent twice, done once");
	const all = formOf({ decision: "reject", reason: "FRAUD", all: "yes" });
	const { location } = await staff.submitForm(`${base}/decide`, all);
	await workOff(site);
	await staff.submit(`${location}/apply`, {});
	await workOff(site);
	for (const conversion of [one, two, three]) {
		const { status, decided_by } = await read(conversion);
		deepEqual([status, decided_by], ["REJECTED", "review"]);
	}
});

test("a refused decision explains what to do, leads back to the list and changes nothing", async (t) => {
	const { site, owner, base, add, read, audit } = await openShop(t);
	const one = await add({ order_id: "one" });
	const rejected = await add({ order_id: "rejected", status: "REJECTED" });
	const parked = await add({ order_id: "parked", status: "PARKED" });
	const foreign = await add({ order_id: "FOREIGN", programme_id: (await site.addProgramme("Other")).id });
	const many = Array.from({ length: 101 }, (_, at) => ({ ...one, public_id: `cnv_${at}` }));
	await owner.open(base);
	for (const [fields, conversions, sentence] of [
		[
			{ decision: "approve" },
			[rejected],
			/is rejected and cannot be approved\. Only one that is recorded can/,
		],
		[{ decision: "approve" }, [parked], /parked until the shop&#39;s server confirms the order/],
		[{ decision: "reject", reason: "" }, [one], /Choose a reason first/],
		[{ decision: "reject", reason: "BORED" }, [one, rejected], /There is no such reason\. Choose one/],
		[{ decision: "delete", reason: "FRAUD" }, [one], /Choose what to do: approve, reject or reverse/],
		[{ decision: "reject", reason: "FRAUD" }, [], /Nothing is selected/],
		[{ decision: "approve" }, [foreign], /Nothing is selected/],
		[{ decision: "approve", sure: "yes" }, many, /At most 100 conversions can be decided at once/],
	] as const) {
		const form = formOf({ ...fields, back: `${base}?status=RECORDED` }, conversions);
		const { status, location } = await owner.submitForm(`${base}/decide`, form);
		deepEqual([status, location], [303, `${base}?status=RECORDED`]);
		match(await follow(owner, location), sentence);
	}
	for (const conversion of [one, foreign]) equal((await read(conversion)).status, "RECORDED");
	deepEqual(await audit(), []);
	const elsewhere = { decision: "approve", conversion: one.public_id, back: "https://evil.example/" };
	equal((await owner.submit(`${base}/decide`, elsewhere)).location, base, "only our own paths are accepted");
	doesNotMatch((await owner.open(`${base}/${one.public_id}?back=//evil.example`)).text, /evil/);
	const unknown = await owner.open(`${base}/cnv_00000000000000000000000000`);
	const theirs = await owner.open(`${base}/${foreign.public_id}`);
	deepEqual([theirs.status, theirs.text], [404, unknown.text]);
});

test("the page of a conversion shows what the pixel and the server reported, and what was decided", async (t) => {
	const { site, programme, owner, base } = await openShop(t);
	const say = async (
		orderId: string,
		source: "pixel" | "postback",
		basketValue: string,
		days = 0,
		parks_pixels: 0 | 1 = 1,
	) => {
		const clock = { ...site.deps.clock, nowMs: () => START_MS - days * DAY_MS };
		const report = {
			orderId,
			eventType: "SALE",
			occurredAtMs: null,
			isTest: false,
			source,
			basketValue,
		} as const;
		const recorded = await site.store.transact((trx) =>
			recordConversion(trx, { ...site.deps, clock }, { ...programme, parks_pixels }, report),
		);
		ok(recorded.ok);
		return `${base}/${recorded.value.conversion.public_id}`;
	};
	const expired = await say("expired", "pixel", "1.00", 40);
	const clock = { ...site.deps.clock, nowMs: () => START_MS - 5 * DAY_MS };
	equal(await expireParked({ ...site.deps, clock }, () => false), 1);
	const after = plain((await owner.open(await say("expired", "postback", "100.00"))).text);
	match(after, /The amounts differ.*1\.00.*100\.00/);
	match(
		plain((await owner.open(expired)).text),
		/The server reported this order later, and that sale is a conversion of its own.*Not confirmed in time/,
	);
	const alone = await say("alone", "pixel", "99.00", 0, 0);
	match(plain((await owner.open(alone)).text), /Confirmed by the shop&#39;s server ?Not yet/);
	match((await owner.open(base)).text, /pixel, unconfirmed/);
	await say("alone", "postback", "500.00");
	match(plain((await owner.open(alone)).text), /The amounts differ.*99\.00.*500\.00/);
	const parked = await say("parked", "pixel", "90.00");
	await say("parked", "postback", "90.00");
	const staff = await site.signIn(await site.addStaff("rita@network.example"));
	await staff.open(parked);
	const reject = { decision: "reject", reason: "SELF_REFERRAL", sure: "yes" };
	await staff.submit(`${base}/decide`, { ...reject, conversion: parked.split("/").at(-1) ?? "" });
	const { text } = await owner.open(parked);
	match(
		plain(text),
		/Waits for the shop&#39;s server to confirm it.*Confirmed by.*by the review team: Self referral/,
	);
	doesNotMatch(text, /rita@|name="decision"/, "neither the name of the reviewer nor a button to decide");
	match((await staff.open(parked)).text, /rita@network\.example/);
});

test("the page of an imported conversion says where and when it was decided, and that no callback was sent", async (t) => {
	const { site, programme, base, owner } = await openShop(t);
	const header = "programme,order_id,status,sold_at,decided_at,amount,reason";
	const line = `${programme.public_id},OLD-1,rejected,2025-02-01,2025-02-09,20,FRAUD`;
	await runLines(openJobs(site.store), "conversions", [header, line], "apply");
	const [conversion] = await findByOrders(site.store.db, [{ programme_id: programme.id, order_id: "OLD-1" }]);
	const text = plain((await owner.open(`${base}/${conversion?.public_id}`)).text);
	match(text, /in the software it was imported from.*Imported as rejected: Fraud.*decided on 2025-02-09/);
	match(text, /Imports send no callbacks/);
});

test("the page of a conversion explains why no callback was sent", async (t) => {
	const { site, owner, base, add } = await openShop(t, MARKUP);
	for (const [status, moves, sentence] of [
		["PARKED", ["park"], /Parked and expired conversions send no callbacks/],
		["EXPIRED", ["park", "expire"], /Parked and expired conversions send no callbacks/],
		["RECORDED", ["park", "confirm"], /Your server confirmed the order/],
		["RECORDED", ["record"], /after a Postback URL is saved and a signing secret exists/],
		["APPROVED", ["park", "confirm", "approve"], /after a Postback URL is saved and a signing secret exists/],
	] as const) {
		const conversion = await add({ status, order_id: `${MARKUP} ${moves.join()}` });
		for (const move of moves) {
			const { id: conversion_id, programme_id } = conversion;
			const row = { programme_id, conversion_id, move, to_status: status, at_ms: START_MS };
			await site.store.db.insertInto("moves").values(row).execute();
		}
		const { text } = await owner.open(`${base}/${conversion.public_id}`);
		match(text, sentence);
		doesNotMatch(text, /<script>alert/);
	}
	const { text } = await owner.open(base);
	match(text, /&lt;script&gt;alert/);
	doesNotMatch(text, /<script>alert/);
});
