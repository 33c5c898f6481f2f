import { deepEqual, doesNotMatch, equal, match, ok } from "node:assert/strict";
import { test } from "node:test";
import { decideByOrder } from "../../conversions/decide-by-order.ts";
import { recordConversion } from "../../conversions/record.ts";
import { EVENT_TYPES, STATUSES } from "../../domain/conversion.ts";
import { START_MS, type TestSite } from "../test-site.test-support.ts";
import { follow, openScene, submitForm } from "./scene.test-support.ts";

const MARKUP = `<script>alert("x")</script>`;
test("an empty list says the next step", async (t) => {
	const { owner, base, programme } = await openScene(t);
	const page = await owner.open(base);
	equal(page.status, 200);
	match(page.text, /<h1>Conversions<\/h1>/);
	match(page.text, /No conversions yet/);
	match(page.text, new RegExp(`href="/programmes/${programme.public_id}/integration"`));
});

test("a row shows status, amounts, when it approves, who decided and why", async (t) => {
	const { owner, base, add } = await openScene(t);
	await add({ order_id: "waiting", basket_value: "1234.50", commission: "98.76", network_fee: "30.86" });
	await add({
		order_id: "gone",
		status: "REJECTED",
		reason: "PAYMENT_FAILED",
		decided_by: "review",
		test: 1,
	});
	await add({ order_id: "parked", status: "PARKED", source: "pixel", event_type: "LEAD" });
	const { text } = await owner.open(base);
	match(text, /1\u202f234\.50 <span class="faint">EUR/);
	match(text, /98\.76/);
	match(text, /30\.86/);
	match(text, /approves on <time[^>]*>2026-03-31/);
	match(text, /Payment failed · by the review team/);
	match(text, /Lead · pixel/);
	match(text, /waits until/);
	equal(text.match(/class="test-mark"/g)?.length, 1);
});

test("filters, search and pages are part of the address, and nonsense there is left out", async (t) => {
	const { owner, base, add } = await openScene(t);
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
	const none = await owner.open(`${base}?orderId=B`);
	match(none.text, /No conversion matches/);
	for (const nonsense of [
		"status=x",
		"cursor=%00",
		"orderId=%00",
		"from=tomorrow",
		"test=maybe",
		"cursor=cnv_0",
	]) {
		equal((await owner.open(`${base}?${nonsense}`)).text.match(/name="conversion"/g)?.length, 50, nonsense);
	}
	match((await owner.open(`${base}?from=2026-03-02`)).text, /No conversion matches/);
	equal(
		(await owner.open(`${base}?from=2026-03-01&to=2026-03-01`)).text.match(/name="conversion"/g)?.length,
		50,
	);
});

test("markup in a programme's name and an order id is text on every page", async (t) => {
	const { owner, base, add } = await openScene(t, MARKUP);
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
		const { owner, base, add, read, audit } = await openScene(t);
		const one = await add({ order_id: "one", status: from });
		const two = await add({ order_id: "two", status: from });
		await owner.open(base);
		const fields = { decision, reason };
		const listed = await owner.submit(`${base}/decide`, {
			...fields,
			conversion: one.public_id,
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

test("what the API would refuse is refused with the same sentence, and nothing changes", async (t) => {
	const { site, programme, owner, base, add, read, audit } = await openScene(t);
	const rejected = await add({ order_id: "rejected", status: "REJECTED" });
	const recorded = await add({ order_id: "recorded" });
	const api = await site.store.transact((trx) =>
		decideByOrder(
			trx,
			site.deps,
			programme,
			{ orderId: "rejected", eventType: "SALE" },
			{ move: "approve", decidedBy: "shop" },
		),
	);
	ok(!api.ok);
	await owner.open(base);
	const refused = await owner.submit(`${base}/${rejected.public_id}/decide`, { decision: "approve" });
	ok((await follow(owner, refused.location)).includes(api.fault.detail));
	for (const [fields, sentence] of [
		[{ decision: "reject", reason: "" }, /A reason is needed here: one of RETURN/],
		[{ decision: "reject", reason: "BORED" }, /reason must be one of RETURN/],
		[{ decision: "delete", reason: "" }, /decision must be one of approve, reject, reverse/],
		[{ reason: "" }, /decision must be one of/],
	] as const) {
		const answer = await owner.submit(`${base}/${recorded.public_id}/decide`, fields);
		match(await follow(owner, answer.location), sentence);
	}
	const nothing = await owner.submit(`${base}/decide`, { decision: "approve" });
	match(await follow(owner, nothing.location), /Nothing is selected/);
	equal((await read(recorded)).status, "RECORDED");
	equal((await read(rejected)).status, "REJECTED");
	deepEqual(await audit(), []);
});

test("staff may reject in the review team's name, and neither approve nor reverse", async (t) => {
	const { site, base, add, read } = await openScene(t);
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
		match(await follow(staff, answer.location), /Only the shop&#39;s owners can/);
		equal((await read(conversion)).status, "RECORDED");
	}
	await staff.submit(`${base}/${conversion.public_id}/decide`, { decision: "reject", reason: "FRAUD" });
	const { status, decided_by } = await read(conversion);
	deepEqual([status, decided_by], ["REJECTED", "review"]);
});

test("a conversion's page shows its facts, history, mismatch and deliveries; who reviewed it stays inside", async (t) => {
	const { site, programme, owner, base, read } = await openScene(t);
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
	await staff.submit(`${href}/decide`, { decision: "reject", reason: "SELF_REFERRAL" });
	const { text } = await owner.open(href);
	match(text, /Order P-1/);
	match(text, /The amounts differ.*90\.00.*100\.00/s);
	match(text, /class="timeline"/);
	match(
		text,
		/Waits for the shop&#39;s postback.*Confirmed by the shop&#39;s postback.*by the review team: Self referral/s,
	);
	doesNotMatch(text, /rita@network\.example/);
	match((await staff.open(href)).text, /rita@network\.example/);
	match(text, /Nothing was sent/);
	doesNotMatch(text, /name="decision"/, "nothing can be done to it any more");
});

test("deliveries of a conversion lead to their own pages", async (t) => {
	const { site, owner, base, programme, add } = await openScene(t);
	const conversion = await add();
	await site.store.db
		.insertInto("events")
		.values({ id: 5, conversion_id: conversion.id, name: "conversion.recorded", body: "{}" })
		.execute();
	await site.store.db
		.insertInto("deliveries")
		.values({
			id: 5,
			public_id: "dlv_5",
			programme_id: programme.id,
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

test("another shop's owner, nobody and a form without its token get nothing and change nothing", async (t) => {
	const { site, programme, base, owner, add, read } = await openScene(t);
	const conversion = await add({ order_id: "SECRET-ORDER" });
	const stranger = await site.signIn(await site.addOwner(await site.addProgramme("Other")));
	await owner.open(base);
	const job = await submitForm(
		owner,
		`${base}/decide`,
		new URLSearchParams([
			["conversion", conversion.public_id],
			["conversion", (await add()).public_id],
			["decision", "approve"],
		]),
	);
	const jobPath = job.location ?? "";
	const paths = ["", "/export.csv", "/bulk", `/${conversion.public_id}`].map((path) => `${base}${path}`);
	const unknownBase = base.replace(programme.public_id, "prg_00000000000000000000000000");
	for (const path of [...paths, jobPath, `${jobPath}/result.csv`]) {
		const theirs = await stranger.open(path);
		const unknown = await stranger.open(path.replace(base, unknownBase));
		deepEqual([theirs.status, unknown.status], [404, 404], path);
		equal(theirs.text, unknown.text, path);
		doesNotMatch(theirs.text, /SECRET-ORDER/);
		const nobody = await site.browser().open(path);
		deepEqual([nobody.status, nobody.location], [303, `/sign-in?next=${encodeURIComponent(path)}`]);
	}
	const actions = ["/decide", "/bulk", `/${conversion.public_id}/decide`].map((path) => `${base}${path}`);
	const fields = { decision: "approve", conversion: conversion.public_id };
	await stranger.open("/account");
	for (const path of [...actions, `${jobPath}/apply`, `${jobPath}/discard`]) {
		equal((await stranger.submit(path, fields)).status, 404, path);
		equal((await site.browser().submit(path, fields)).location, "/sign-in", path);
		equal((await owner.submit(path, fields, { csrf: null })).status, 403, path);
		equal((await owner.submit(path, fields, { csrf: stranger.csrf })).status, 403, path);
		equal(
			(await owner.submit(path, fields, { headers: { "sec-fetch-site": "cross-site" } })).status,
			403,
			path,
		);
	}
	// Inside their own programme, somebody else's ids are as unknown as those of nobody.
	const own = (await stranger.open("/programmes")).location ?? "";
	const ownBase = `/programmes/${/prg_[0-9A-Z]+/.exec(own)?.[0] ?? (await otherId(site))}/conversions`;
	const unknownId = "cnv_00000000000000000000000000";
	for (const action of [`${ownBase}/${conversion.public_id}/decide`, `${ownBase}/decide`]) {
		const theirs = await stranger.submit(action, fields);
		const unknown = await stranger.submit(action.replace(conversion.public_id, unknownId), {
			...fields,
			conversion: unknownId,
		});
		deepEqual([theirs.status, theirs.text], [unknown.status, unknown.text]);
		equal(theirs.status, 404);
	}
	equal((await stranger.open(`${ownBase}/${conversion.public_id}`)).status, 404);
	equal((await read(conversion)).status, "RECORDED");
});

async function otherId(site: TestSite): Promise<string> {
	const row = await site.store.db
		.selectFrom("programmes")
		.select("public_id")
		.where("name", "=", "Other")
		.executeTakeFirstOrThrow();
	return row.public_id;
}

test("every status and event type has its words", async (t) => {
	const { owner, base, add } = await openScene(t);
	for (const status of STATUSES) for (const event_type of EVENT_TYPES) await add({ status, event_type });
	const { text } = await owner.open(base);
	equal(text.match(/name="conversion"/g)?.length, STATUSES.length * EVENT_TYPES.length);
	doesNotMatch(text, /undefined|\[object/);
});
