import { deepEqual, doesNotMatch, equal, match } from "node:assert/strict";
import { test } from "node:test";
import { DAY_MS } from "../../domain/time.ts";
import { follow, openShop, submitForm } from "../conversions/shop.test-support.ts";
import { START_MS } from "../test-site.test-support.ts";

const rowsOf = (text: string) =>
	[...text.matchAll(/name="conversion" value="(\w+)"/g)].map((found) => found[1]);

test("staff see all programmes' open conversions, newest first, and filter by programme, status, amount and age", async (t) => {
	const { site, programme, add } = await openShop(t, `<b>"Shop"`);
	const other = await site.addProgramme("Other");
	const old = await add({ order_id: "<i>old", basket_value: "5.00", created_at_ms: START_MS - 40 * DAY_MS });
	const large = await add({ order_id: "large", basket_value: "1000.00" });
	const approved = await add({ order_id: "approved", status: "APPROVED", basket_value: "20.00" });
	const foreign = await add({ order_id: "foreign", programme_id: other.id, basket_value: "30.00" });
	const staff = await site.signIn(await site.addStaff());
	const list = async (query: string) => rowsOf((await staff.open(`/review?${query}`)).text);
	const { text } = await staff.open("/review");
	deepEqual(rowsOf(text), [foreign.public_id, large.public_id, old.public_id]);
	match(text, /&lt;b&gt;&quot;Shop&quot;/);
	match(text, /&lt;i&gt;old/);
	doesNotMatch(text, /<b>"Shop|<i>old/);
	deepEqual(await list("status="), [foreign.public_id, approved.public_id, large.public_id, old.public_id]);
	deepEqual(await list("status=APPROVED"), [approved.public_id]);
	deepEqual(await list(`programme=${programme.public_id}`), [large.public_id, old.public_id]);
	deepEqual(await list("programme=prg_nobody"), []);
	deepEqual(await list("minBasket=30"), [foreign.public_id, large.public_id]);
	for (const typed of ["30.01", "30,01", "30,1"])
		deepEqual(await list(`minBasket=${typed}`), [large.public_id]);
	deepEqual(await list("age=over-month"), [old.public_id]);
	deepEqual(await list("age=day"), [foreign.public_id, large.public_id]);
	const rest = [foreign.public_id, large.public_id, old.public_id];
	deepEqual(await list("orderId=+&programme=&minBasket=&age=&after=-"), rest);
});

for (const [field, typed, sentence] of [
	["minBasket", "1,000", /without thousands separators: 1000\.00 or 1000,00/],
	["age", "x", /Choose one of these/],
	["status", "y", /There is no such status/],
	["programme", "<x>", /There is no such programme/],
	["orderId", "x".repeat(129), /1 to 128 characters/],
] as const) {
	test(`a filter of Review that is not understood (${field}) is told at its field, and nothing is listed`, async (t) => {
		const { site, add } = await openShop(t);
		await add({ order_id: "SECRET-ORDER" });
		const staff = await site.signIn(await site.addStaff());
		const { status, text } = await staff.open(`/review?${field}=${encodeURIComponent(typed)}`);
		equal(status, 422);
		match(text, new RegExp(`id="${field}"[^>]*aria-invalid="true"`));
		match(/id="[a-zA-Z]+-error">([^<]+)/.exec(text)?.[1] ?? "", sentence);
		doesNotMatch(text, /SECRET-ORDER|name="decision"/);
	});
}

test("staff find an order of any programme by any part of its id, and are led to those decided already", async (t) => {
	const { site, programme, add } = await openShop(t);
	const other = await site.addProgramme("Other");
	const exact = await add({ order_id: "A-1" });
	const longer = await add({ order_id: "A-12", programme_id: other.id });
	const approved = await add({ order_id: "A-11", status: "APPROVED" });
	await add({ order_id: "B-1" });
	const staff = await site.signIn(await site.addStaff());
	const list = async (query: string) => rowsOf((await staff.open(`/review?${query}`)).text);
	for (const typed of ["A-1", "a-1"])
		deepEqual(await list(`orderId=${typed}`), [longer.public_id, exact.public_id]);
	deepEqual(await list("orderId=-12"), [longer.public_id]);
	deepEqual(await list(`orderId=${longer.public_id.toLowerCase()}`), [longer.public_id]);
	deepEqual(await list("orderId=A-1&status="), [approved.public_id, longer.public_id, exact.public_id]);
	deepEqual(await list(`orderId=A-1&programme=${programme.public_id}`), [exact.public_id]);
	const { text } = await staff.open("/review?orderId=A-11&status=RECORDED");
	match(text, /No recorded conversion with this ID/);
	const wider = /href="([^"]+)">Look in every status/.exec(text)?.[1]?.replaceAll("&amp;", "&") ?? "";
	deepEqual(rowsOf((await staff.open(wider)).text), [approved.public_id]);
});

test("an order id with a space in it is found with it, and what is pasted along around it does not count", async (t) => {
	const { site, add } = await openShop(t);
	const spaced = await add({ order_id: "1 001" });
	const plain = await add({ order_id: "1001" });
	const staff = await site.signIn(await site.addStaff());
	for (const typed of ["1+0", "1+001", "+1+001+"]) {
		deepEqual(rowsOf((await staff.open(`/review?orderId=${typed}`)).text), [spaced.public_id], typed);
	}
	deepEqual(rowsOf((await staff.open("/review?orderId=1%C2%A0")).text), [plain.public_id, spaced.public_id]);
	match((await staff.open(`/review?orderId=${"x".repeat(129)}`)).text, /The order id must have/);
	match((await staff.open("/review?orderId=1%E2%80%8B0")).text, /holds a character that cannot be seen/);
});

test("Review says how many match and what they come to, by currency", async (t) => {
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
	const { text } = await staff.open("/review");
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
	await staff.open("/review");
	const form = () => {
		const fields = new URLSearchParams({ reason: "FRAUD", back: "?age=day" });
		for (const { public_id } of [one, two, paid, before]) fields.append("conversion", public_id);
		return fields;
	};
	const rejected = await submitForm(staff, "/review/reject", form());
	deepEqual([rejected.status, rejected.location], [303, "/review?age=day"]);
	const said = await follow(staff, rejected.location);
	match(
		said,
		/2 rejected\. 1 was rejected before\. Order paid: This conversion is approved and cannot be rejected/,
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
	await submitForm(staff, "/review/reject", form());
	equal((await audit()).length, 2, "sent twice, done once");
});

test("without a reason, a selection or the form's token nothing is rejected", async (t) => {
	const { site, add, read } = await openShop(t);
	const one = await add();
	const staff = await site.signIn(await site.addStaff());
	await staff.open("/review");
	const unreasoned = await staff.submit("/review/reject", { conversion: one.public_id, reason: "" });
	equal(unreasoned.status, 422);
	match(unreasoned.text, /id="reason"[^>]*aria-invalid="true"[\s\S]*Choose a reason first/);
	match(unreasoned.text, new RegExp(`value="${one.public_id}"[^>]* checked`), "what was ticked stays so");
	const empty = await staff.submit("/review/reject", { reason: "FRAUD" });
	equal(empty.status, 422);
	match(empty.text, /Nothing is selected[\s\S]*value="FRAUD" selected/);
	equal((await staff.open("/review/reject")).location, "/review");
	const fields = { conversion: one.public_id, reason: "FRAUD" };
	equal((await staff.submit("/review/reject", fields, { csrf: null })).status, 403);
	equal((await read(one)).status, "RECORDED");
});

test("a conversion that was opened from Review leads back to it, filters and all, also after a decision", async (t) => {
	const { site, add, base, owner } = await openShop(t);
	await add({ order_id: "G-1" });
	const staff = await site.signIn(await site.addStaff());
	const list = await staff.open("/review?age=day&orderId=g-");
	const href = /class="order-id mono" href="([^"]+)"/.exec(list.text)?.[1]?.replaceAll("&amp;", "&") ?? "";
	const back = /href="\/review\?orderId=g-&amp;age=day"[^>]*>Back to Review</;
	match((await staff.open(href)).text, back);
	const own = href.replace(/\?.*/, "");
	const asked = await staff.submit(`${own}/decide`, {
		decision: "reject",
		reason: "FRAUD",
		review: "?age=day&orderId=g-",
	});
	match(asked.text, /name="review" value="\?age=day&amp;orderId=g-"/);
	const decided = await staff.submit(`${own}/decide`, {
		decision: "reject",
		reason: "FRAUD",
		review: "?age=day&orderId=g-",
		sure: "yes",
	});
	match(await follow(staff, decided.location), back);
	match((await owner.open(href)).text, new RegExp(`href="${base}"[^>]*>Back to the list<`));
});

test("pages go on where the last one ended", async (t) => {
	const { site, add } = await openShop(t);
	for (let index = 0; index < 60; index++) await add();
	const staff = await site.signIn(await site.addStaff());
	const first = await staff.open("/review");
	equal(rowsOf(first.text).length, 50);
	const older = /href="([^"]+)" rel="next"/.exec(first.text)?.[1]?.replaceAll("&amp;", "&") ?? "";
	const second = await staff.open(older);
	equal(new Set([...rowsOf(first.text), ...rowsOf(second.text)]).size, 60);
});
