import { deepEqual, doesNotMatch, equal, match } from "node:assert/strict";
import { test } from "node:test";
import { follow, openShop, plain } from "#core/web/conversions/shop.test-support.ts";

test("an owner refunds a part on the conversion's page, which lists the refund and what is left", async (t) => {
	const { site, programme, owner, base, add, read } = await openShop(t);
	const conversion = await add({ order_id: "A-1" });
	const page = `${base}/${conversion.public_id}`;
	const before = (await owner.open(page)).text;
	match(before, /Refund a part/);
	const refundId = /id="refund-id"[^>]* value="(ref_\w{26})"/.exec(before)?.[1] ?? "";
	const form = { amount: "30,00", reason: "RETURN", refundId };
	const sent = await owner.submit(`${page}/refund`, form);
	equal(sent.status, 303);
	const after = plain(await follow(owner, sent.location));
	match(after, /30\.00 EUR was refunded\. 70\.00 EUR is left, with a commission of 5\.25 EUR/);
	match(after, /Basket 70\.00 EUR Refunded 30\.00 EUR of 100\.00 EUR Commission 5\.25 EUR/);
	match(after, /Partly refunded: Return 2026-03-01[^·]* · 30\.00 EUR refunded, 70\.00 EUR left · \S+@/);
	match(after, new RegExp(`${refundId} 30\\.00 EUR 70\\.00 EUR Return \\S+@`));
	const again = await owner.submit(`${page}/refund`, form);
	match(plain(await follow(owner, again.location)), /This refund was entered before\. Nothing was changed/);
	const { basket_value, commission, network_fee, refunded_value, status } = await read(conversion);
	deepEqual(
		[basket_value, commission, network_fee, refunded_value, status],
		["70.00", "5.25", "1.40", "30.00", "RECORDED"],
	);
	deepEqual(
		(await site.audit("conversion.refunded")).map(({ subject, detail, programme_id }) => [
			subject,
			detail,
			programme_id,
		]),
		[[conversion.public_id, `${refundId}: 30.00 EUR (RETURN)`, programme.id]],
	);
	const rest = await owner.submit(`${page}/refund`, { amount: "70", reason: "CANCELLED", refundId: "rest" });
	const reversed = plain(await follow(owner, rest.location));
	match(reversed, /70\.00 EUR was refunded\. Nothing is left, so the conversion is reversed/);
	match(reversed, /the shop: Cancelled 2026-03-01[^·]* · 70\.00 EUR refunded, 0\.00 EUR left/);
	doesNotMatch(reversed, /Refund a part/);
});

test("a refund that is not possible is refused at its field, in plain words, and changes nothing", async (t) => {
	const { owner, base, add, read } = await openShop(t);
	const conversion = await read(await add());
	const page = `${base}/${conversion.public_id}`;
	const form = { amount: "30.00", reason: "RETURN", refundId: "R-1" };
	for (const [change, status, field, text] of [
		[{ amount: "" }, 422, "refund-amount", /Enter the amount that was refunded/],
		[{ amount: "0" }, 422, "refund-amount", /must be more than zero/],
		[{ amount: "-1" }, 422, "refund-amount", /without a minus sign/],
		[{ amount: "1.005" }, 422, "refund-amount", /has too many decimals for EUR/],
		[
			{ amount: "100.01" },
			409,
			"refund-amount",
			/Only 100\.00 EUR is left of this conversion\. Refund at most that/,
		],
		[{ reason: "" }, 422, "refund-reason", /Choose a reason first/],
		[{ refundId: " " }, 422, "refund-id", /The refund ID must have 1 to 128 characters/],
	] as const) {
		const refused = await owner.submit(`${page}/refund`, { ...form, ...change });
		equal(refused.status, status, refused.text);
		match(refused.text, new RegExp(`id="${field}-error">[^<]*`));
		match(plain(refused.text), text);
	}
	deepEqual(await read(conversion), conversion);
	await owner.submit(`${page}/refund`, form);
	const used = await owner.submit(`${page}/refund`, { ...form, amount: "31.00" });
	equal(used.status, 409);
	match(plain(used.text), /R-1 of this conversion was entered before, with 30\.00 EUR/);
});

test("only those who may decide for the shop refund, and only what can be refunded", async (t) => {
	const { site, programme, owner, base, add, read } = await openShop(t);
	const conversion = await read(await add());
	const form = { amount: "30.00", reason: "RETURN", refundId: "R-1" };
	for (const role of ["developer", "viewer"] as const) {
		const browser = await site.signIn(await site.addPerson(programme, role));
		doesNotMatch((await browser.open(`${base}/${conversion.public_id}`)).text, /Refund a part/);
		equal((await browser.submit(`${base}/${conversion.public_id}/refund`, form)).status, 403);
	}
	const staff = await site.signIn(await site.addStaff());
	doesNotMatch((await staff.open(`${base}/${conversion.public_id}`)).text, /Refund a part/);
	const refused = await staff.submit(`${base}/${conversion.public_id}/refund`, form);
	equal(refused.status, 403);
	deepEqual(await read(conversion), conversion);
	for (const change of [
		{ status: "REJECTED" },
		{ status: "PARKED", source: "pixel" },
		{ source: "pixel" },
		{ basket_value: "0.00" },
	] as const) {
		const other = await read(await add(change));
		const page = `${base}/${other.public_id}`;
		doesNotMatch((await owner.open(page)).text, /Refund a part/);
		const impossible = await owner.submit(`${page}/refund`, form);
		equal(impossible.status, 409);
		deepEqual(await read(other), other);
	}
	equal((await owner.submit(`${base}/cnv_01KZ0000000000000000000000/refund`, form)).status, 404);
	const byPixel = await add({ source: "pixel" });
	match(
		(await owner.open(`${base}/${byPixel.public_id}`)).text,
		/Only a pixel has reported this order.*It can be refunded once.*or the shop has approved it/s,
	);
	const approved = await add({ source: "pixel", status: "APPROVED" });
	match((await owner.open(`${base}/${approved.public_id}`)).text, /Refund a part/);
	equal((await owner.submit(`${base}/${approved.public_id}/refund`, form)).status, 303);
});
