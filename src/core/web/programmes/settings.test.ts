import assert from "node:assert/strict";
import { test } from "node:test";
import { setProgramme } from "../../../../test/support/change-rows.ts";
import type { AuditAction } from "../../domain/action.ts";
import { shortenRate } from "../../domain/money.ts";
import { DAY_MS } from "../../domain/time.ts";
import { COMMAND_LINE } from "../../people/actor.ts";
import { changeProgramme, termsOf } from "../../programmes/programme-terms.ts";
import { noteAudit } from "../../store/queries/audit.ts";
import { plain } from "../conversions/shop.test-support.ts";
import { openFilledShop } from "../filled-shop.test-support.ts";
import {
	openAsOwner,
	openAsStaff,
	openTestSite,
	START_MS,
	type TestSite,
} from "../test-site.test-support.ts";

const STAFF_FORM = {
	name: "Renamed",
	// Rates may be typed with a decimal comma.
	commissionRate: "9,25",
	feeRate: "3",
	approvalDays: "45",
	parkedDays: "10",
};

test("staff change every term, and the audit log has the person and both values", async (t) => {
	const site = await openTestSite(t);
	const programme = await site.addProgramme("Before");
	const staff = await site.addStaff();
	const browser = await site.signIn(staff);
	const path = `/programmes/${programme.public_id}/settings`;
	assert.match((await browser.open(path)).text, /value="8".*value="2\.5".*Anyone can call the pixel/s);
	const saved = await browser.submit(path, STAFF_FORM);
	assert.deepEqual([saved.status, saved.location], [303, path]);
	const row = await read(site);
	assert.deepEqual(
		[
			row.name,
			row.commission_rate,
			row.fee_rate,
			row.approval_days,
			row.parks_pixels,
			row.parked_days,
			row.currency,
		],
		["Renamed", "9.2500", "3.0000", 45, 0, 10, "EUR"],
	);
	const { text } = await browser.open(path);
	assert.match(text, /Saved\./);
	const [, log = ""] = /href="([^"]+)">Who did what/.exec(text) ?? [];
	const record = (await browser.open(log)).text;
	assert.match(record, /Programme changed/);
	assert.match(record, /commission: 8 % → 9\.25 %; fee: 2\.5 % → 3 %/);
	assert.ok(record.includes(staff.email.split("@")[0] ?? ""));
});

test("an owner chooses what the basket value contains, and the shop's developers read it on Integration", async (t) => {
	const { site, programme, browser: owner } = await openAsOwner(t);
	const path = `/programmes/${programme.public_id}/settings`;
	const keys = `/programmes/${programme.public_id}/integration/keys`;
	assert.match(
		(await owner.open(keys)).text,
		/<code>basketValue<\/code>: The total that the customer pays: with VAT/,
	);
	const form = {
		name: "Shop",
		approvalDays: "30",
		basketRule: "GOODS_NET",
		basketNote: " No <gift> cards. ",
	};
	assert.equal((await owner.submit(path, form)).status, 303);
	const row = await read(site);
	assert.deepEqual([row.basket_rule, row.basket_note], ["GOODS_NET", "No <gift> cards."]);
	const shown = (await owner.open(keys)).text;
	assert.match(
		shown,
		/The goods alone: without VAT, without shipping, after discounts\. No &lt;gift&gt; cards\./,
	);
	for (const [wrong, sentence] of [
		[{ basketRule: "MOOD" }, /Choose one of the listed rules/],
		[{ basketNote: "x".repeat(301) }, /Write at most 300 characters/],
	] as const) {
		const refused = await owner.submit(path, { ...form, ...wrong });
		assert.equal(refused.status, 422);
		assert.match(refused.text, sentence);
	}
	assert.equal((await read(site)).basket_rule, "GOODS_NET");
	const staff = await site.signIn(await site.addStaff());
	const log = (await staff.open(`/system/audit?programme=${programme.public_id}`)).text;
	assert.match(log, /basket value: “The total that.*→ “The goods alone: without VAT/s);
});

test("staff enter fixed amounts and rates for event types, and the shop reads them in words", async (t) => {
	const { site, programme, browser: owner } = await openAsOwner(t, {}, "Leads");
	const staff = await site.signIn(await site.addStaff());
	const path = `/programmes/${programme.public_id}/settings`;
	const rates = {
		commissionFixed: "1",
		feeFixed: "0,25",
		eventRates: "LEAD: 5 EUR, fee 0\r\nsale: 9 %, fee 2 %",
	};
	assert.equal((await staff.submit(path, { ...STAFF_FORM, ...rates })).status, 303);
	const row = await read(site);
	assert.deepEqual(
		[row.commission_rate, row.fee_rate, row.event_rates],
		["9.2500+1.00", "3.0000+0.25", "SALE=9 2;LEAD=0+5.00 0"],
	);
	const form = (await staff.open(path)).text;
	assert.match(form, /name="commissionFixed" [^>]*value="1\.00"/);
	assert.match(form, />\nSALE: 9 %, fee 2 %\nLEAD: 5\.00 EUR, fee 0 %<\/textarea>/);
	const text = (await owner.open(path)).text;
	assert.ok(
		text.includes(
			"<div>9.25 % of the basket + 1.00 EUR</div><div>9 % of the basket for each sale</div><div>5.00 EUR for each lead</div>",
		),
	);
	assert.ok(
		text.includes(
			"<div>3 % of the basket + 0.25 EUR</div><div>2 % of the basket for each sale</div><div>nothing for each lead</div>",
		),
	);
	const [entry] = await site.audit("programme.changed");
	assert.match(
		entry?.detail ?? "",
		/fixed commission: 0\.00 EUR → 1\.00 EUR; .*rates for event types: none → SALE: 9 %, fee 2 % and LEAD: 5\.00 EUR, fee 0 %/,
	);
});

/** Returns the rows of the table "Rates over time", as text. */
function historyIn(page: string): string[] {
	const [, rest = ""] = page.split('id="rate-history"');
	const [, body = ""] = /<tbody[^>]*>([\s\S]*?)<\/tbody>/.exec(rest) ?? [];
	const rows = body.split("</tr>").map((row) => plain(row).replaceAll(/\s+/g, " ").trim());
	return rows.filter((row) => row !== "");
}

test("staff and owners read on the settings which rates applied when, and developers and viewers do not", async (t) => {
	const { site, programme, browser: owner } = await openAsOwner(t, {}, "Rates over time");
	const staff = await site.signIn(await site.addStaff());
	const path = `/programmes/${programme.public_id}/settings`;
	assert.deepEqual(historyIn((await staff.open(path)).text), [
		"2026-03-01 12:00:00 UTC now 8 % of the basket 2.5 % of the basket",
	]);
	site.moveClock(DAY_MS);
	await staff.submit(path, { ...STAFF_FORM, eventRates: "LEAD: 5 EUR, fee 1 EUR" });
	site.moveClock(DAY_MS);
	await staff.submit(path, { ...STAFF_FORM, eventRates: "LEAD: 5 EUR, fee 1 EUR", name: "Only a new name" });
	const rows = [
		"2026-03-02 12:00:00 UTC now 9.25 % of the basket 5.00 EUR for each lead 3 % of the basket 1.00 EUR for each lead",
		"2026-03-01 12:00:00 UTC 2026-03-02 12:00:00 UTC 8 % of the basket 2.5 % of the basket",
	];
	for (const reader of [staff, owner]) assert.deepEqual(historyIn((await reader.open(path)).text), rows);
	assert.doesNotMatch((await staff.open(path)).text, /Earlier rates are not on record/);
	for (const role of ["developer", "viewer"] as const) {
		const browser = await site.signIn(await site.addPerson(programme, role));
		assert.doesNotMatch((await browser.open(path)).text, /Rates over time/);
	}
	// The programme is older than its history of rates, as after an upgrade from a version without a history.
	await site.store.db.updateTable("programmes").set({ created_at_ms: 1 }).execute();
	assert.match((await owner.open(path)).text, /Earlier rates are not on record/);
});

test("an owner changes name and approval window, but never rates or pixels", async (t) => {
	const { site, programme, browser } = await openAsOwner(t, {}, "Before");
	const path = `/programmes/${programme.public_id}/settings`;
	const form = await browser.open(path);
	assert.doesNotMatch(form.text, /name="commissionRate"|name="parksPixels"|Who did what/);
	assert.match(form.text, /8 % of the basket/);
	assert.doesNotMatch(form.text, /no partner brought/);
	await setProgramme(site.store.db, programme.id, { credits_partners: 1 });
	const crediting = (await browser.open(path)).text;
	assert.match(
		crediting,
		/rate of their own, see <a href="[^"]+\/partners">Partners<\/a>\. A sale that no partner brought/,
	);
	for (const sly of [
		{ commissionRate: "0" },
		{ feeRate: "0" },
		{ parkedDays: "3000" },
		{ approvalDaysMax: "3650" },
		{ approvalDaysMin: "1" },
	]) {
		await browser.submit(path, { name: "Before", approvalDays: "30", ...sly });
	}
	const before = await read(site);
	assert.deepEqual([before.commission_rate, before.fee_rate, before.parked_days], ["8.0000", "2.5000", 30]);
	assert.deepEqual([before.approval_days_min, before.approval_days_max], [0, 90]);
	assert.equal((await browser.submit(path, { name: "After", approvalDays: "7" })).status, 303);
	const after = await read(site);
	assert.deepEqual([after.name, after.approval_days, after.parks_pixels], ["After", 7, 1]);
});

test("an owner must keep to the approval days that staff allow, and staff may exceed them", async (t) => {
	const { site, programme, browser: owner } = await openAsOwner(t, {}, "Shop");
	const staff = await site.signIn(await site.addStaff());
	const path = `/programmes/${programme.public_id}/settings`;
	assert.match(
		(await owner.open(path)).text,
		/approved automatically, from 0 to 90\. The network sets these/,
	);
	for (const approvalDays of ["3650", "7,5"]) {
		const refused = await owner.submit(path, { name: "Shop", approvalDays });
		assert.equal(refused.status, 422);
		const limits = /id="approvalDays-error">[^<]*a whole number of days from 0 to 90\. Ask the network/;
		assert.match(refused.text, limits, approvalDays);
	}
	assert.equal((await read(site)).approval_days, 30);
	const limits = { ...STAFF_FORM, approvalDaysMin: "14", approvalDaysMax: "60" };
	const crossed = await staff.submit(path, { ...limits, approvalDaysMin: "61" });
	assert.match(crossed.text, /id="approvalDaysMax-error"[^<]*must not be shorter than the shortest, 61 days/);
	assert.equal((await staff.submit(path, { ...limits, approvalDays: "365" })).status, 303);
	assert.deepEqual(
		[(await read(site)).approval_days_min, (await read(site)).approval_days_max],
		[14, 60],
		"staff may agree on more with a shop",
	);
	for (const [days, status] of [
		["13", 422],
		["61", 422],
		["14", 303],
		["60", 303],
	] as const) {
		assert.equal((await owner.submit(path, { name: "Shop", approvalDays: days })).status, status, days);
	}
	await staff.submit(path, { ...limits, name: "Shop", approvalDays: "365" });
	const renamed = await owner.submit(path, { name: "Renamed", approvalDays: "365" });
	assert.equal(renamed.status, 303, "what is not changed is not judged");
});

test("mistakes are shown at their fields and change nothing", async (t) => {
	const { site, browser } = await openAsStaff(t);
	const programme = await site.addProgramme("Before");
	const path = `/programmes/${programme.public_id}/settings`;
	const wrong = {
		...{ name: "", commissionRate: "x", feeRate: "-1", approvalDays: "3651", parkedDays: "1.5" },
		...{ commissionFixed: "1.001", feeFixed: "many", eventRates: "LEAD: 5 EUR" },
	};
	const { status, text } = await browser.submit(path, wrong);
	assert.equal(status, 422);
	for (const field of Object.keys(wrong)) assert.match(text, new RegExp(`id="${field}-error"`), field);
	assert.equal((await read(site)).name, "Before");
});

test("saving unchanged values changes nothing and writes no audit entry", async (t) => {
	const { site, browser } = await openAsStaff(t);
	const programme = await site.addProgramme("Same");
	const path = `/programmes/${programme.public_id}/settings`;
	const same = {
		name: "Same",
		commissionRate: "8",
		feeRate: "2.5",
		approvalDays: "30",
		parkedDays: "30",
		parksPixels: "on",
	};
	assert.equal((await browser.submit(path, same)).status, 303);
	assert.match((await browser.open(path)).text, /Nothing was changed/);
	const rows = await site.audit("programme.changed");
	assert.deepEqual(rows, []);
});

test("if two people change the same term, the second saves nothing, sees the first one's value, and can save again", async (t) => {
	const site = await openTestSite(t);
	const programme = await site.addProgramme("Before");
	const [one, other] = [await site.signIn(await site.addStaff()), await site.signIn(await site.addStaff())];
	const path = `/programmes/${programme.public_id}/settings`;
	const mine = formOf((await one.open(path)).text);
	const theirs = formOf((await other.open(path)).text);
	await other.submit(path, { ...theirs, commissionRate: "10", approvalDays: "7" });
	const refused = await one.submit(path, { ...mine, name: "After", commissionRate: "9" });
	assert.equal(refused.status, 409);
	assert.match(refused.text, /id="commissionRate-error"[^<]*changed commission to 10 % while/);
	assert.deepEqual([(await read(site)).name, (await read(site)).commission_rate], ["Before", "10.0000"]);
	const shown = formOf(refused.text);
	assert.deepEqual([shown["name"], shown["commissionRate"], shown["approvalDays"]], ["Before", "10", "7"]);
	const again = { ...shown, name: "After", commissionRate: "9" };
	assert.equal((await one.submit(path, again)).status, 303);
	const row = await read(site);
	assert.deepEqual([row.name, row.commission_rate, row.approval_days], ["After", "9.0000", 7]);
});

test("a change that another person saves while a request runs is not overwritten", async (t) => {
	const site = await openTestSite(t);
	const programme = await site.addProgramme("Before");
	const form = termsOf(programme);
	await changeProgramme(site.deps, COMMAND_LINE, programme.id, { ...form, commissionRate: "10" }, form);
	// This second change comes from a form that was opened before the first change.
	const late = await changeProgramme(site.deps, COMMAND_LINE, programme.id, { ...form, name: "After" }, form);
	assert.deepEqual(late, {
		ok: true,
		value: [{ term: "name", before: "Before", after: "After" }],
	});
	const row = await read(site);
	assert.deepEqual([row.name, row.commission_rate], ["After", "10.0000"]);
	const same = await changeProgramme(
		site.deps,
		COMMAND_LINE,
		programme.id,
		{ ...form, commissionRate: "9" },
		form,
	);
	assert.ok(!same.ok && same.faults[0].code === "changed_meanwhile");
});

test("the audit log shows people, orders, callbacks, keys and files by name and with links", async (t) => {
	const { site, programme, ids } = await openFilledShop(t, { name: "Garden & Tools", order: "G-10005" });
	const staff = await site.addStaff(undefined, "Sam Staff");
	const note = (action: AuditAction, subject: string, detail: string | null = null) =>
		noteAudit(
			site.store.db,
			{ personId: staff.id, programmeId: programme.id, action, subject, detail },
			START_MS,
		);
	const person = await site.addOwner(programme, undefined, "Olga Owner");
	await note("conversion.decided", ids.conversionId, "reject (FRAUD)");
	await note("delivery.resent", ids.deliveryId);
	await note("decisions.finished", ids.jobId, "3 conversions changed");
	await note("person.role_changed", person.email, "viewer → owner");
	await note("key.issued", ids.keyId, "rbk_…1a2b Till");
	await note("programme.created", programme.public_id);
	await note("conversion.decided", "cnv_00000000000000000000000000");
	const home = `/programmes/${programme.public_id}`;
	const { text } = await (await site.signIn(staff)).open(`/system/audit?programme=${programme.public_id}`);
	const cells = [...text.matchAll(/data-label="Details"><span class="break">(.*?)<\/span><\/td>/gs)].map(
		([, cell]) => cell,
	);
	assert.deepEqual(cells.slice(0, 7), [
		"cnv_00000000000000000000000000",
		"Garden &amp; Tools",
		`<a href="${home}/integration/keys#keys">rbk_…1a2b Till</a>`,
		`<a href="${home}/people">Olga Owner (${person.email})</a> · viewer → owner`,
		`<a href="${home}/conversions/bulk/${ids.jobId}">decisions.csv</a> · 3 conversions changed`,
		`<a href="${home}/deliveries/${ids.deliveryId}">conversion.recorded for order G-10005</a>`,
		`<a href="${home}/conversions/${ids.conversionId}">order G-10005</a> · reject (FRAUD)`,
	]);
	assert.match(text, />Sam Staff<\/span><span class="secondary">/);
});

test("a rate is shown as people write it", () => {
	const cases = [
		["8.0000", "8"],
		["7.5000", "7.5"],
		["0.0000", "0"],
		["10.0000", "10"],
		["100.0000", "100"],
		["2.0505", "2.0505"],
	] as const;
	for (const [rate, expected] of cases) assert.equal(shortenRate(rate), expected);
});

/** Returns the fields that a browser sends if the reader changes nothing. */
function formOf(page: string): Record<string, string> {
	const form = page.split("<form").find((part) => part.includes('name="approvalDays"')) ?? "";
	const fields: Record<string, string> = {};
	for (const [tag] of form.matchAll(/<input[^>]*>/g)) {
		const attribute = (name: string) => new RegExp(` ${name}="([^"]*)"`).exec(tag)?.[1] ?? "";
		if (/type="checkbox"/.test(tag) && !/ checked/.test(tag)) continue;
		fields[attribute("name")] = attribute("value").replaceAll("&amp;", "&");
	}
	return fields;
}

function read({ store }: TestSite) {
	return store.db.selectFrom("programmes").selectAll().orderBy("id").executeTakeFirstOrThrow();
}
