// Sorting, sums, and deciding about many: ticked on the list, or all that the filters find.

import { deepEqual, doesNotMatch, equal, match, ok } from "node:assert/strict";
import { test } from "node:test";
import { until } from "../../../test/support/until.ts";
import { HOUR_MS } from "../../domain/time.ts";
import type { Conversion } from "../../store/queries/conversions.ts";
import { START_MS } from "../test-site.test-support.ts";
import { follow, openShop, submitForm, workOff } from "./shop.test-support.ts";

function ordersOf(text: string): string[] {
	return [...text.matchAll(/class="order-id mono" href="[^"]*" title="([^"]*)"/g)].map(
		([, order]) => order ?? "",
	);
}

function plain(text: string): string {
	return text
		.replace(/<[^>]+>/g, "")
		.replaceAll("\u00a0", " ")
		.replace(/\s+/g, " ");
}

function formOf(fields: Record<string, string>, conversions: readonly Conversion[] = []): URLSearchParams {
	const form = new URLSearchParams(fields);
	for (const { public_id } of conversions) form.append("conversion", public_id);
	return form;
}

test("the list is sorted by sale, recording or basket, either way, by its headings", async (t) => {
	const { owner, base, add } = await openShop(t);
	const rows = [
		["late-report", 1, "9.50"],
		["small", 3, "7.00"],
		["large", 2, "10.00"],
	] as const;
	for (const [order_id, hour, basket_value] of rows) {
		await add({ order_id, basket_value, occurred_at_ms: START_MS + hour * HOUR_MS });
	}
	for (const [sort, expected] of [
		["", ["large", "small", "late-report"]],
		["recorded-asc", ["late-report", "small", "large"]],
		["sale-desc", ["small", "large", "late-report"]],
		["sale-asc", ["late-report", "large", "small"]],
		["basket-desc", ["large", "late-report", "small"]],
		["basket-asc", ["small", "late-report", "large"]],
	] as const) {
		const { text, status } = await owner.open(`${base}?sort=${sort}`);
		equal(status, 200);
		deepEqual(ordersOf(text), expected, sort);
	}
	const { text } = await owner.open(`${base}?sort=basket-desc&status=RECORDED`);
	match(
		text,
		/aria-sort="descending"[^>]*><a class="sort-link" href="[^"]*status=RECORDED&amp;sort=basket-asc">Basket/,
	);
	match(text, /name="sort" value="basket-desc"/);
	match(text, new RegExp(`href="${base}/export\\.csv\\?status=RECORDED&amp;sort=basket-desc"`));
	const exported = await owner.open(`${base}/export.csv?sort=basket-asc`);
	deepEqual(
		exported.text
			.trimEnd()
			.split("\r\n")
			.slice(1)
			.map((line) => line.split(",")[0]),
		["small", "late-report", "large"],
	);
});

test("a page of a sorted list goes on where the one before ended", async (t) => {
	const { owner, base, add } = await openShop(t);
	for (let index = 0; index < 60; index++) {
		await add({ order_id: `A-${index}`, basket_value: `${(index * 7) % 60}.00` });
	}
	const first = await owner.open(`${base}?sort=basket-asc`);
	const next = /href="([^"]+)" rel="next">Next/.exec(first.text)?.[1]?.replaceAll("&amp;", "&") ?? "";
	const orders = [...ordersOf(first.text), ...ordersOf((await owner.open(next)).text)];
	deepEqual(
		orders,
		Array.from({ length: 60 }, (_, index) => `A-${index}`).toSorted(
			(one, other) => ((Number(one.slice(2)) * 7) % 60) - ((Number(other.slice(2)) * 7) % 60),
		),
	);
});

test("a list says how many match and what they come to, and shows when each was sold", async (t) => {
	const { owner, base, add } = await openShop(t);
	for (let index = 0; index < 60; index++) {
		await add({
			order_id: `G-${index}`,
			basket_value: "1000.01",
			commission: "80.00",
			occurred_at_ms: START_MS - HOUR_MS,
		});
	}
	await add({ order_id: "other", status: "REJECTED", basket_value: "5.00" });
	const all = await owner.open(base);
	match(plain(all.text), /61 conversions ?Basket 60005\.60 EUR ?Commission 4807\.50 EUR/);
	match(all.text, />Sold<\/a>/);
	match(plain(all.text), /2026-03-01 11:00:00 UTC ?2026-03-01 12:00:00 UTC/);
	match(
		plain((await owner.open(`${base}?orderId=g-&status=RECORDED`)).text),
		/60 conversions ?Basket 60000\.60 EUR/,
	);
	match(plain(all.text), /Select all 61 that match the filters/);
	match(all.text, /data-all-matching="All 61 that match · 60\u00a0005\.60 EUR"/);
	match(all.text, /data-basket="1000\.01" data-currency="EUR"/);
	doesNotMatch((await owner.open(`${base}?status=REJECTED`)).text, /name="all"/, "the page has them all");
});

test("tests are hidden until asked for, counted and decided like others, and stay out of every sum", async (t) => {
	const { site, owner, base, add } = await openShop(t);
	const live = [
		await add({ order_id: "one", basket_value: "10.00", commission: "1.00" }),
		await add({ order_id: "two", basket_value: "20.00", commission: "2.00" }),
	];
	const tried = await add({ order_id: "tried", basket_value: "500.00", commission: "50.00", test: 1 });
	const all = await owner.open(`${base}?test=all`);
	match(plain(all.text), /3 conversions ?Basket 30\.00 EUR ?Commission 3\.00 EUR ?1 test not in the sum/);
	equal([...all.text.matchAll(/data-basket="500\.00" data-currency="EUR" data-test/g)].length, 1);
	equal([...all.text.matchAll(/ data-test /g)].length, 1);
	for (const hidden of ["", "?test=no"]) {
		const { text } = await owner.open(`${base}${hidden}`);
		match(plain(text), /2 conversions ?Basket 30\.00 EUR/);
		doesNotMatch(text, /tried/);
	}
	match((await owner.open(`${base}?orderId=tri`)).text, /data-test/, "whoever looks for it finds it");
	const testsOnly = plain((await owner.open(`${base}?test=yes`)).text);
	match(testsOnly, /1 conversion ?1 test not in the sum/);
	doesNotMatch(testsOnly, /Basket 500/);

	// The number that staff see at the programme is that of the list it leads to.
	const staff = await site.signIn(await site.addStaff());
	const programmes = (await staff.open("/programmes")).text;
	const [, href = "", waiting] = /href="([^"]*status=RECORDED[^"]*)">(\d+)</.exec(programmes) ?? [];
	equal(waiting, "2");
	equal(ordersOf((await staff.open(href.replaceAll("&amp;", "&"))).text).length, 2);
	const overview = (await owner.open(base.replace("conversions", "overview"))).text;
	match(overview, /conversions\?status=RECORDED&amp;test=no/);
	match(plain((await staff.open("/conversions")).text), /2 conversions ?Basket 30\.00 EUR/);

	const { location } = await submitForm(
		owner,
		`${base}/decide`,
		formOf({ decision: "approve" }, [...live, tried]),
	);
	const preview = plain((await owner.open(location ?? "")).text);
	match(preview, /Sums leave tests out\..*Approve ?31 test ?30\.00 EUR ?3\.00 EUR/);
	match(preview, /Approve 3 conversions/);
});

test("a list of more than is counted one by one takes the overview's count and sums", async (t) => {
	const { site, programme, owner, base, add } = await openShop(t);
	await add({ order_id: "tried", test: 1 });
	const { test: _, id: __, ...row } = await add({ order_id: "first", basket_value: "1.00" });
	const many = Array.from({ length: 5_001 }, (_one, index) => ({
		...row,
		public_id: `cnv_${index}`,
		order_id: `M-${index}`,
		test: 0 as const,
	}));
	for (let start = 0; start < many.length; start += 1_000) {
		await site.store.db
			.insertInto("conversions")
			.values(many.slice(start, start + 1_000))
			.execute();
	}
	equal(programme.currency, "EUR");
	await until(async () =>
		/5 002 conversions ?Basket 5002\.00 EUR/.test(plain((await owner.open(base)).text)),
	);
	match((await owner.open(base)).text, /All 5\u00a0002 that match · 5\u00a0002\.00 EUR"/);
	match(
		plain((await owner.open(`${base}?test=all`)).text),
		/More than \d+.* conversions ?Narrow the filters/,
	);
});

test("two ticked conversions: one page with the money and what cannot be undone, then done and back on the list", async (t) => {
	const { owner, base, add, read } = await openShop(t);
	const two = [
		await add({ order_id: "one", basket_value: "700.00", commission: "52.50" }),
		await add({ order_id: "two", basket_value: "25.68", commission: "1.93" }),
	];
	await owner.open(base);
	const back = "?status=RECORDED&sort=basket-desc";
	const asked = await submitForm(
		owner,
		`${base}/decide`,
		formOf({ decision: "reject", reason: "FRAUD", back }, two),
	);
	equal(asked.status, 303);
	const preview = await owner.open(asked.location ?? "");
	const words = plain(preview.text);
	match(words, /Reject 2 conversions\?/);
	match(words, /Selected on the list · 2 conversions/);
	match(words, /Reject ?2 ?725\.68 EUR ?54\.43 EUR/);
	match(words, /Rejections cannot be undone\. Your shop gets a callback for each change/);
	doesNotMatch(words, /\bfile\b|\b[Ll]ine\b|\brows?\b/i);
	doesNotMatch(preview.text, /hx-trigger/);
	match(preview.text, new RegExp(`href="${base}\\?status=RECORDED&amp;sort=basket-desc"`), "the way back");
	for (const conversion of two) equal((await read(conversion)).status, "RECORDED");
	const done = await owner.submit(`${asked.location}/apply`, {});
	deepEqual([done.status, done.location], [303, `${base}${back}`]);
	match(await follow(owner, done.location), /2 conversions rejected\./);
	for (const conversion of two) equal((await read(conversion)).status, "REJECTED");
});

test("what is cancelled changes nothing and leads back to the list with its filters", async (t) => {
	const { owner, base, add, read } = await openShop(t);
	const two = [await add({ order_id: "one" }), await add({ order_id: "two" })];
	await owner.open(base);
	const back = "?status=RECORDED";
	const { location } = await submitForm(owner, `${base}/decide`, formOf({ decision: "approve", back }, two));
	match(plain((await owner.open(location ?? "")).text), /An approval cannot be taken back/);
	const cancelled = await owner.submit(`${location}/discard`, {});
	equal(cancelled.location, `${base}${back}`);
	match(await follow(owner, cancelled.location), /Nothing was changed/);
	for (const conversion of two) equal((await read(conversion)).status, "RECORDED");
});

test("of ticked ones that cannot all be decided, the page says which and why, before and after", async (t) => {
	const { owner, base, add, read } = await openShop(t);
	const open = await add({ order_id: "open" });
	const rejected = await add({ order_id: "gone", status: "REJECTED" });
	await owner.open(base);
	const form = formOf({ decision: "approve" }, [open, rejected]);
	const { location } = await submitForm(owner, `${base}/decide`, form);
	const words = plain((await owner.open(location ?? "")).text);
	match(words, /Approve 1 conversion\?/);
	match(words, /1 conversion will be left out\. The list below says why/);
	match(words, /This conversion is rejected and cannot be approved/);
	const done = await owner.submit(`${location}/apply`, {});
	equal(done.location, location, "there is something to read");
	match(plain(await follow(owner, done.location)), /1 changed; 1 left out/);
	deepEqual([(await read(open)).status, (await read(rejected)).status], ["APPROVED", "REJECTED"]);
});

test("all that match are frozen at that moment, previewed and decided in batches", async (t) => {
	const { site, owner, base, add, read } = await openShop(t);
	const rows: Conversion[] = [];
	for (let index = 0; index < 620; index++) {
		rows.push(await add({ order_id: `Bulk-${index}`, basket_value: "2.00", commission: "0.10" }));
	}
	const elsewhere = await add({ order_id: "other" });
	const foreign = await add({
		order_id: "bulk-foreign",
		programme_id: (await site.addProgramme("Other")).id,
	});
	const list = await owner.open(`${base}?orderId=bulk`);
	match(plain(list.text), /Select all 620 that match/);
	const back = "?orderId=bulk&cursor=whatever";
	const [ticked] = rows;
	ok(ticked !== undefined);
	const { location } = await submitForm(
		owner,
		`${base}/decide`,
		formOf({ decision: "reject", reason: "DUPLICATE", all: "yes", back }, [ticked]),
	);
	match(plain((await owner.open(location ?? "")).text), /All that matched the filters · 620 conversions/);
	const late = await add({ order_id: "bulk-late" });
	await workOff(site);
	const preview = plain((await owner.open(location ?? "")).text);
	match(preview, /Reject 620 conversions\?/);
	match(preview, /Reject ?620 ?1240\.00 EUR ?62\.00 EUR/);
	await owner.submit(`${location}/apply`, {});
	await workOff(site);
	match(plain((await owner.open(location ?? "")).text), /Every decision was applied/);
	for (const conversion of rows) equal((await read(conversion)).status, "REJECTED");
	for (const conversion of [elsewhere, foreign, late]) equal((await read(conversion)).status, "RECORDED");
	match((await owner.open(location ?? "")).text, new RegExp(`href="${base}\\?orderId=bulk"`));
});

test("all of a filter that is not understood, or that finds nothing, is nothing", async (t) => {
	const { site, owner, base, add, read } = await openShop(t);
	const one = await add({ order_id: "one" });
	await owner.open(base);
	for (const [back, status] of [
		["?status=BOGUS", 422],
		["?orderId=nobody", 422],
	] as const) {
		const form = formOf({ decision: "approve", all: "yes", back });
		equal((await submitForm(owner, `${base}/decide`, form)).status, status, back);
	}
	equal((await site.store.db.selectFrom("bulk_jobs").selectAll().execute()).length, 0);
	equal((await read(one)).status, "RECORDED");
});

test("staff can reject all that match, and approve none", async (t) => {
	const { site, base, add, read } = await openShop(t);
	const staff = await site.signIn(await site.addStaff());
	const two = [await add({ order_id: "one" }), await add({ order_id: "two" })];
	await staff.open(base);
	const approve = await submitForm(staff, `${base}/decide`, formOf({ decision: "approve", all: "yes" }));
	equal(approve.status, 403);
	const form = formOf({ decision: "reject", reason: "FRAUD", all: "yes" });
	const { location } = await submitForm(staff, `${base}/decide`, form);
	await staff.submit(`${location}/apply`, {});
	for (const conversion of two) {
		const { status, decided_by } = await read(conversion);
		deepEqual([status, decided_by], ["REJECTED", "review"]);
	}
});

test("a conversion's page leads back to the list with its filters, also after a decision there", async (t) => {
	const { owner, base, add } = await openShop(t);
	const one = await add({ order_id: "one" });
	const list = await owner.open(`${base}?status=RECORDED&sort=sale-asc`);
	const href = /class="order-id mono" href="([^"]+)"/.exec(list.text)?.[1]?.replaceAll("&amp;", "&") ?? "";
	match(href, /\?list=/);
	const page = await owner.open(href);
	match(page.text, new RegExp(`href="${base}\\?status=RECORDED&amp;sort=sale-asc">Back to the list`));
	const fields = { decision: "approve", list: "?status=RECORDED&sort=sale-asc" };
	const decided = await owner.submit(`${base}/${one.public_id}/decide`, fields);
	equal(decided.location, href, "on the same page");
	const foreign = await owner.open(`${base}/${one.public_id}?list=https://evil.example/`);
	match(foreign.text, new RegExp(`href="${base}">Back to the list`));
});
