import { deepEqual, doesNotMatch, equal, match } from "node:assert/strict";
import { test } from "node:test";
import { DAY_MS } from "../../domain/time.ts";
import { START_MS } from "../test-site.test-support.ts";
import { follow, openShop, submitForm } from "./shop.test-support.ts";

/** What staff find under /conversions. */
const rowsOf = (text: string) =>
	[...text.matchAll(/name="conversion" value="(\w+)"/g)].map((found) => found[1]);

test("staff see all programmes' conversions, newest first, and filter by programme, status and day", async (t) => {
	const { site, programme, add } = await openShop(t, `<b>"Shop"`);
	const other = await site.addProgramme("Other");
	const old = await add({ order_id: "<i>old", created_at_ms: START_MS - 40 * DAY_MS });
	const large = await add({ order_id: "large", basket_value: "1000.00" });
	const approved = await add({ order_id: "approved", status: "APPROVED" });
	const foreign = await add({ order_id: "foreign", programme_id: other.id });
	const staff = await site.signIn(await site.addStaff());
	const { text } = await staff.open("/conversions");
	match(text, /&lt;b&gt;&quot;Shop&quot;/);
	match(text, /&lt;i&gt;old/);
	doesNotMatch(text, /<b>"Shop|<i>old/);
	const all = [foreign, approved, large, old];
	const own = `programme=${programme.public_id}`;
	const day = (atMs: number) => new Date(atMs).toISOString().slice(0, 10);
	for (const [query, found] of [
		["", all],
		["orderId=+&programme=&status=&cursor=-", all],
		["sort=recorded-asc", all.toReversed()],
		["status=RECORDED", [foreign, large, old]],
		["status=APPROVED", [approved]],
		[own, [approved, large, old]],
		[`${own}&sort=basket-desc&status=RECORDED`, [large, old]],
		[`to=${day(START_MS - DAY_MS)}`, [old]],
		[`from=${day(START_MS - DAY_MS)}`, [foreign, approved, large]],
	] as const) {
		const listed = rowsOf((await staff.open(`/conversions?${query}`)).text);
		deepEqual(
			listed,
			found.map(({ public_id }) => public_id),
			query,
		);
	}
});

test("the address that Review had leads to the list, with what can be rejected unless told otherwise", async (t) => {
	const { site, owner } = await openShop(t);
	const staff = await site.signIn(await site.addStaff());
	for (const [query, location] of [
		["", "?status=RECORDED"],
		["?orderId=A-1&programme=prg_1&minBasket=5&age=day", "?programme=prg_1&orderId=A-1&status=RECORDED"],
		["?status=", "?status="],
	]) {
		const moved = await staff.open(`/review${query}`);
		deepEqual([moved.status, moved.location], [301, `/conversions${location}`]);
	}
	for (const path of ["/review", "/conversions"]) equal((await owner.open(path)).status, 404);
});

for (const [field, typed, sentence] of [
	["dates", "sale", /Choose a programme first/],
	["status", "y", /Choose one of these/],
	["programme", "<x>", /There is no such programme/],
	["programme", "prg_nobody", /There is no such programme/],
	["orderId", "x".repeat(129), /1 to 128 characters/],
] as const) {
	test(`a filter over all programmes that is not understood (${field}=${typed.slice(0, 9)}) is told at its field, and nothing is listed`, async (t) => {
		const { site, add } = await openShop(t);
		await add({ order_id: "SECRET-ORDER" });
		const staff = await site.signIn(await site.addStaff());
		const { status, text } = await staff.open(`/conversions?${field}=${encodeURIComponent(typed)}`);
		equal(status, 422);
		match(text, new RegExp(`id="${field}"[^>]*aria-invalid="true"`));
		match(/id="[a-zA-Z]+-error">([^<]+)/.exec(text)?.[1] ?? "", sentence);
		doesNotMatch(text, /SECRET-ORDER|name="decision"/);
	});
}

test("staff find an order of any programme by any part of its id", async (t) => {
	const { site, programme, add } = await openShop(t);
	const other = await site.addProgramme("Other");
	const exact = await add({ order_id: "A-1" });
	const longer = await add({ order_id: "A-12", programme_id: other.id });
	const approved = await add({ order_id: "A-11", status: "APPROVED" });
	await add({ order_id: "B-1" });
	const staff = await site.signIn(await site.addStaff());
	const list = async (query: string) => rowsOf((await staff.open(`/conversions?${query}`)).text);
	for (const typed of ["A-1", "a-1"])
		deepEqual(await list(`orderId=${typed}&status=RECORDED`), [longer.public_id, exact.public_id]);
	deepEqual(await list("orderId=-12"), [longer.public_id]);
	deepEqual(await list(`orderId=${longer.public_id.toLowerCase()}`), [longer.public_id]);
	deepEqual(await list("orderId=A-1"), [approved.public_id, longer.public_id, exact.public_id]);
	deepEqual(await list(`orderId=A-1&programme=${programme.public_id}`), [
		approved.public_id,
		exact.public_id,
	]);
});

test("an order id with a space in it is found with it, and what is pasted along around it does not count", async (t) => {
	const { site, add } = await openShop(t);
	const spaced = await add({ order_id: "1 001" });
	const plain = await add({ order_id: "1001" });
	const staff = await site.signIn(await site.addStaff());
	for (const typed of ["1+0", "1+001", "+1+001+"]) {
		deepEqual(rowsOf((await staff.open(`/conversions?orderId=${typed}`)).text), [spaced.public_id], typed);
	}
	deepEqual(rowsOf((await staff.open("/conversions?orderId=1%C2%A0")).text), [
		plain.public_id,
		spaced.public_id,
	]);
	match((await staff.open(`/conversions?orderId=${"x".repeat(129)}`)).text, /The order id must have/);
	match((await staff.open("/conversions?orderId=1%E2%80%8B0")).text, /holds a character that cannot be seen/);
});

test("the list of all programmes says how many match and what they come to, by currency", async (t) => {
	const { site, add } = await openShop(t);
	const other = await site.addProgramme("Other");
	await add({ basket_value: "10.10" });
	await add({ basket_value: "5.00", programme_id: other.id });
	await add({
		basket_value: "300",
		commission: "30",
		network_fee: "3",
		currency: "JPY",
		programme_id: other.id,
	});
	const staff = await site.signIn(await site.addStaff());
	const { text } = await staff.open("/conversions");
	const line = /class="totals"[^>]*>(.*?)<\/p>/s.exec(text)?.[1]?.replace(/<[^>]+>/g, "") ?? "";
	match(line, /^3 conversions/);
	match(line, /Basket 15\.10 EUR/);
	match(line, /Basket 300 JPY/);
	doesNotMatch(text, /name="all"/);
	match(text, /data-selection/);
});

test("rejecting several with a reason tells what happened to each kind, and is written down", async (t) => {
	const { site, add, read, audit } = await openShop(t);
	const other = await site.addProgramme("Other");
	const one = await add({ order_id: "one" });
	const two = await add({ order_id: "two", programme_id: other.id });
	const paid = await add({ order_id: "paid", status: "APPROVED" });
	const before = await add({ order_id: "before", status: "REJECTED", reason: "OTHER", decided_by: "shop" });
	const staff = await site.signIn(await site.addStaff());
	await staff.open("/conversions");
	const form = () => {
		const fields = new URLSearchParams({ reason: "FRAUD", back: "?orderId=o" });
		for (const { public_id } of [one, two, paid, before]) fields.append("conversion", public_id);
		return fields;
	};
	const rejected = await submitForm(staff, "/conversions/reject", form());
	deepEqual([rejected.status, rejected.location], [303, "/conversions?orderId=o"]);
	const said = await follow(staff, rejected.location);
	match(
		said,
		/2 conversions rejected\. 1 was rejected before\. Order paid: This conversion is approved and cannot be rejected/,
	);
	for (const conversion of [one, two]) {
		const { status, reason, decided_by } = await read(conversion);
		deepEqual([status, reason, decided_by], ["REJECTED", "FRAUD", "review"]);
	}
	equal((await read(paid)).status, "APPROVED");
	equal((await read(before)).reason, "OTHER");
	deepEqual(
		(await audit()).map(([, , detail]) => detail),
		["reject (FRAUD)", "reject (FRAUD)"],
	);
	await submitForm(staff, "/conversions/reject", form());
	equal((await audit()).length, 2, "sent twice, done once");
});

test("without a reason, a selection or a page of ours nothing is rejected", async (t) => {
	const { site, add, read } = await openShop(t);
	const one = await add();
	const staff = await site.signIn(await site.addStaff());
	await staff.open("/conversions");
	const unreasoned = await staff.submit("/conversions/reject", { conversion: one.public_id, reason: "" });
	equal(unreasoned.status, 422);
	match(unreasoned.text, /id="reason"[^>]*aria-invalid="true"[\s\S]*Choose a reason first/);
	match(unreasoned.text, new RegExp(`value="${one.public_id}"[^>]* checked`), "what was ticked stays so");
	const empty = await staff.submit("/conversions/reject", { reason: "FRAUD" });
	equal(empty.status, 422);
	match(empty.text, /Nothing is selected[\s\S]*value="FRAUD" selected/);
	equal((await staff.open("/conversions/reject")).location, "/conversions");
	const fields = { conversion: one.public_id, reason: "FRAUD" };
	equal((await staff.submit("/conversions/reject", fields, { headers: {} })).status, 403);
	equal((await read(one)).status, "RECORDED");
});

test("a conversion that was opened from the list of all programmes leads back to it, also after a decision", async (t) => {
	const { site, add, base, owner } = await openShop(t);
	await add({ order_id: "G-1" });
	const staff = await site.signIn(await site.addStaff());
	const list = await staff.open("/conversions?eventType=SALE&orderId=g-");
	const href = /class="order-id mono" href="([^"]+)"/.exec(list.text)?.[1]?.replaceAll("&amp;", "&") ?? "";
	const back = /href="\/conversions\?orderId=g-&amp;eventType=SALE"[^>]*>Back to the list</;
	match((await staff.open(href)).text, back);
	const own = href.replace(/\?.*/, "");
	const decision = { decision: "reject", reason: "FRAUD", network: "?eventType=SALE&orderId=g-" };
	const asked = await staff.submit(`${own}/decide`, decision);
	match(asked.text, /name="network" value="\?eventType=SALE&amp;orderId=g-"/);
	const decided = await staff.submit(`${own}/decide`, { ...decision, sure: "yes" });
	match(await follow(staff, decided.location), back);
	match((await owner.open(href)).text, new RegExp(`href="${base}"[^>]*>Back to the list<`));
});

test("pages go on where the last one ended", async (t) => {
	const { site, add } = await openShop(t);
	for (let index = 0; index < 60; index++) await add();
	const staff = await site.signIn(await site.addStaff());
	const first = await staff.open("/conversions");
	equal(rowsOf(first.text).length, 50);
	const older = /href="([^"]+)" rel="next"/.exec(first.text)?.[1]?.replaceAll("&amp;", "&") ?? "";
	const second = await staff.open(older);
	equal(new Set([...rowsOf(first.text), ...rowsOf(second.text)]).size, 60);
});
