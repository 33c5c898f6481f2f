import assert from "node:assert/strict";
import { test } from "node:test";
import { openTestSite, type TestSite } from "../test-site.test-support.ts";
import { shortenRate } from "./terms-form.ts";

const MARKUP = '<img src=x onerror="alert(1)">';

const STAFF_FORM = {
	name: "Renamed",
	commissionRate: "9.25",
	feeRate: "3",
	approvalDays: "45",
	parkedDays: "10",
};

test("staff change every term; who did it and from what to what is on record", async (t) => {
	const site = await openTestSite(t);
	const programme = await site.addProgramme("Before");
	const staff = await site.addStaff();
	const browser = await site.signIn(staff);
	const path = `/programmes/${programme.public_id}/settings`;
	assert.match((await browser.open(path)).text, /value="8".*value="2\.5"/s);
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
	assert.match(text, /Saved\. It holds for new conversions\./);
	assert.match(text, /Programme changed/);
	assert.match(text, /commission: 8\.0000 → 9\.2500/);
	assert.ok(text.includes(staff.email));
});

test("an owner changes name and approval window; rates and pixels are refused whatever the form says", async (t) => {
	const site = await openTestSite(t);
	const programme = await site.addProgramme("Before");
	const browser = await site.signIn(await site.addOwner(programme));
	const path = `/programmes/${programme.public_id}/settings`;
	const form = await browser.open(path);
	assert.doesNotMatch(form.text, /name="commissionRate"|name="parksPixels"|Who did what/);
	assert.match(form.text, /8 % of the basket/);
	for (const sly of [{ commissionRate: "0" }, { feeRate: "0" }, { parkedDays: "3000" }]) {
		const refused = await browser.submit(path, { name: "Before", approvalDays: "30", ...sly });
		assert.equal(refused.status, 422);
		assert.match(refused.text, /Only the network&#39;s staff may change/);
	}
	const before = await read(site);
	assert.deepEqual([before.commission_rate, before.fee_rate, before.parked_days], ["8.0000", "2.5000", 30]);
	assert.equal((await browser.submit(path, { name: "After", approvalDays: "7" })).status, 303);
	const after = await read(site);
	assert.deepEqual([after.name, after.approval_days, after.parks_pixels], ["After", 7, 1]);
});

test("mistakes are said at their fields and change nothing", async (t) => {
	const site = await openTestSite(t);
	const programme = await site.addProgramme("Before");
	const browser = await site.signIn(await site.addStaff());
	const path = `/programmes/${programme.public_id}/settings`;
	await browser.open(path);
	const wrong = { name: "", commissionRate: "x", feeRate: "-1", approvalDays: "3651", parkedDays: "1.5" };
	const { status, text } = await browser.submit(path, wrong);
	assert.equal(status, 422);
	for (const field of Object.keys(wrong)) assert.match(text, new RegExp(`id="${field}-error"`), field);
	assert.equal((await read(site)).name, "Before");
});

test("saving what is already so changes nothing and is not on record", async (t) => {
	const site = await openTestSite(t);
	const programme = await site.addProgramme("Same");
	const browser = await site.signIn(await site.addStaff());
	const path = `/programmes/${programme.public_id}/settings`;
	await browser.open(path);
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
	const rows = await site.store.db
		.selectFrom("audit_entries")
		.where("action", "=", "programme.changed")
		.selectAll()
		.execute();
	assert.deepEqual(rows, []);
});

test("markup in a name is text, also in the record of who did what", async (t) => {
	const site = await openTestSite(t);
	const programme = await site.addProgramme(MARKUP);
	const browser = await site.signIn(await site.addStaff());
	const path = `/programmes/${programme.public_id}/settings`;
	await browser.open(path);
	await browser.submit(path, { ...STAFF_FORM, name: `${MARKUP}!` });
	const { text } = await browser.open(path);
	assert.ok(!text.includes(MARKUP));
	assert.match(text, /name: &lt;img src=x/);
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

function read({ store }: TestSite) {
	return store.db.selectFrom("programmes").selectAll().executeTakeFirstOrThrow();
}
