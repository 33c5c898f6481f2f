import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import { setUrl } from "../../../../test/support/change-rows.ts";
import { newNotice } from "../../../../test/support/notices.ts";
import { addConversion } from "../../../../test/support/rows.ts";
import type { Programme } from "../../store/queries/programmes.ts";
import {
	newEmail,
	openAsOwner,
	openAsStaff,
	openTestSite,
	START_MS,
	type TestSite,
} from "../test-site.test-support.ts";

const MARKUP = '<script>alert("x")</script>';

test("staff see all programmes, the newest first, with failing callbacks and waiting conversions", async (t) => {
	const site = await openTestSite(t);
	const quiet = await site.addProgramme("Quiet shop");
	const busy = await site.addProgramme("Busy shop");
	await setUrl(site.store.db, busy.id, "https://shop.example/postback", START_MS);
	await addConversion(site.store, busy.id, {});
	await addConversion(site.store, busy.id, { status: "APPROVED" });
	await addConversion(site.store, busy.id, { test: 1 });
	await openNotice(site, busy);
	const browser = await site.signIn(await site.addStaff());
	const { status, text } = await browser.open("/programmes");
	assert.equal(status, 200);
	const list = text.slice(text.indexOf('class="filter-bar"'));
	assert.match(rowOf(list, busy.public_id), /Failing.*2026-03-01.*status=RECORDED">1</s);
	assert.match(rowOf(list, quiet.public_id), /No URL.*faint">0</s);
	assert.ok(list.indexOf("Busy shop") < list.indexOf("Quiet shop"));
	assert.match(sectionOf(text, "failing"), /Busy shop.*HTTP 404/s);
	assert.doesNotMatch((await browser.open("/programmes?search=shop")).text, /id="failing"/);
});

test("a search finds part of a name regardless of case, or a whole ID, and treats wildcards as plain text", async (t) => {
	const site = await openTestSite(t);
	const tea = await site.addProgramme("Tea & Cups");
	await site.addProgramme("100% Wool_en");
	const browser = await site.signIn(await site.addStaff());
	const cases = [
		["CUPS", ["Tea &amp; Cups"], ["Wool_en"]],
		["0%", ["Wool_en"], ["Cups"]],
		["l_e", ["Wool_en"], ["Cups"]],
		["%", ["Wool_en"], ["Cups"]],
		["\\", ["No programme found"], ["Cups", "Wool_en"]],
		[tea.public_id, ["Tea &amp; Cups"], ["Wool_en"]],
		["nothing like it", ["No programme found"], ["Cups", "Wool_en"]],
	] as const;
	for (const [search, shown, hidden] of cases) {
		const { text } = await browser.open(`/programmes?search=${encodeURIComponent(search)}`);
		for (const part of shown) assert.ok(text.includes(part), `${search} shows ${part}`);
		for (const part of hidden) assert.ok(!text.includes(part), `${search} hides ${part}`);
	}
});

test("an owner with one programme is led to its overview, which shows the first steps", async (t) => {
	const { programme, browser } = await openAsOwner(t);
	const home = `/programmes/${programme.public_id}`;
	const led = await browser.open("/programmes");
	assert.deepEqual([led.status, led.location], [303, `${home}/overview`]);
	const { text } = await browser.open(`${home}/overview`);
	assert.ok(text.indexOf(`${home}/people#invite`) < text.indexOf("Go to Integration"), "a developer first");
});

test("an owner with several programmes sees only these, cannot find others, and reads nothing about failing shops", async (t) => {
	const site = await openTestSite(t);
	const mine = await site.addProgramme("Mine");
	const other = await site.addProgramme("Somebody else");
	const owner = await site.addOwner(mine);
	const also = await site.addProgramme("Mine too");
	await site.store.db
		.insertInto("programme_people")
		.values({ programme_id: also.id, person_id: owner.id, role: "owner" })
		.execute();
	await openNotice(site, mine);
	const browser = await site.signIn(owner);
	for (const query of ["", "?search=Some", `?search=${other.public_id}`]) {
		const { text } = await browser.open(`/programmes${query}`);
		assert.doesNotMatch(text, /Somebody else/);
		assert.doesNotMatch(text, /Create programme/);
	}
	const { text } = await browser.open("/programmes");
	assert.match(text, /Mine too<.*Mine</s);
	assert.doesNotMatch(text, /id="failing"/);
});

const TERMS = {
	name: "New shop",
	currency: "eur",
	commissionRate: "7.5",
	feeRate: "2",
	approvalDays: "14",
	parksPixels: "on",
	parkedDays: "20",
};

test("when staff create a programme, its owner is invited and the link is shown once", async (t) => {
	const { site, browser } = await openAsStaff(t);
	assert.match((await browser.open("/programmes")).text, /No programme yet/);
	const form = await browser.open("/programmes/new");
	assert.match(
		form.text,
		/Anyone can call the pixel.*proves nothing.*Keep parking on.*approve the others by hand/s,
	);
	const programmeId = hiddenId(form.text);
	const email = newEmail("shop");
	const created = await browser.submit("/programmes/new", { ...TERMS, email, programmeId });
	assert.equal(created.status, 200);
	assert.match(created.text, /This service cannot send mail/);
	const link = /https:\/\/ringback\.example\/welcome\/\w+/.exec(created.text)?.[0] ?? "";
	assert.equal((await site.browser().open(new URL(link).pathname)).status, 200);
	const row = await site.store.db.selectFrom("programmes").selectAll().executeTakeFirstOrThrow();
	assert.deepEqual(
		[
			row.public_id,
			row.name,
			row.currency,
			row.commission_rate,
			row.fee_rate,
			row.approval_days,
			row.parked_days,
			row.parks_pixels,
		],
		[programmeId, "New shop", "EUR", "7.5000", "2.0000", 14, 20, 1],
	);
	assert.deepEqual(await auditOf(site), [
		["programme.created", programmeId],
		["person.invited", email],
	]);
	const token = new URL(link).pathname.split("/").at(-1) ?? "";
	assert.ok(!(await site.storedText()).includes(token), "the link's token is stored");
	assert.ok(!site.log.text().includes(token), "the link's token is logged");
});

test("a programme is created with fixed amounts and rates for event types in its currency", async (t) => {
	const { site, browser } = await openAsStaff(t);
	const form = (await browser.open("/programmes/new")).text;
	assert.match(form, /<details class="more"><summary>Fixed amounts, and other rates for leads/, "folded");
	const rates = { commissionFixed: "50", feeFixed: "", eventRates: "LEAD: 300 JPY, fee 20 JPY" };
	const fields = { ...TERMS, ...rates, currency: "jpy", email: "" };
	const wrong = await browser.submit("/programmes/new", { ...fields, commissionFixed: "0.5" });
	assert.equal(wrong.status, 422);
	assert.match(
		wrong.text,
		/<details class="more" open>[\s\S]*id="commissionFixed-error">[^<]*decimals for JPY\. Write it like 5,/,
	);
	assert.equal((await browser.submit("/programmes/new", fields)).status, 303);
	const row = await site.store.db.selectFrom("programmes").selectAll().executeTakeFirstOrThrow();
	assert.deepEqual(
		[row.commission_rate, row.fee_rate, row.event_rates],
		["7.5000+50", "2.0000", "LEAD=0+300 0+20"],
	);
});

test("without an owner's address staff go straight to Integration, and invite the owner later", async (t) => {
	const { site, browser } = await openAsStaff(t);
	const form = (await browser.open("/programmes/new")).text;
	assert.match(form, /staff cannot own a programme\. Leave empty to invite them later under People/);
	assert.deepEqual(form.match(/[^>]*changed later[^<]*/g), ["It cannot be changed later."], "said once");
	assert.doesNotMatch(form, /id="email"[^>]* required/);
	assert.match(form, /<details class="more"><summary>Approved automatically after 30 days\./, "folded");
	const programmeId = hiddenId(form);
	const created = await browser.submit("/programmes/new", { ...TERMS, email: "", programmeId });
	assert.deepEqual([created.status, created.location], [303, `/programmes/${programmeId}/integration`]);
	assert.match((await browser.open(created.location ?? "")).text, /New shop is created\./);
	assert.deepEqual(await auditOf(site), [["programme.created", programmeId]]);
	assert.deepEqual(await site.store.db.selectFrom("programme_people").selectAll().execute(), []);
	assert.match((await browser.open(`/programmes/${programmeId}/people`)).text, /No people yet/);
	const wrong = await browser.submit("/programmes/new", { ...TERMS, email: "", approvalDays: "" });
	assert.equal(wrong.status, 422);
	assert.match(wrong.text, /<details class="more" open>[\s\S]*id="approvalDays-error"/, "in sight");
});

test("sending the form twice makes one programme", async (t) => {
	const { site, browser } = await openAsStaff(t);
	const programmeId = hiddenId((await browser.open("/programmes/new")).text);
	const fields = { ...TERMS, email: newEmail("shop"), programmeId };
	await browser.submit("/programmes/new", fields);
	const again = await browser.submit("/programmes/new", fields);
	assert.deepEqual([again.status, again.location], [303, `/programmes/${programmeId}/people`]);
	assert.equal((await site.store.db.selectFrom("programmes").select("id").execute()).length, 1);
});

test("a programme whose owner cannot be invited is not created, and the corrected form creates it", async (t) => {
	let isBroken = false;
	const site = await openTestSite(t, {
		change: {
			random: {
				bytes: (count) => randomBytes(count),
				hex: (count) => {
					if (isBroken) throw new Error("no token for the owner's link");
					return randomBytes(count).toString("hex");
				},
			},
		},
	});
	const browser = await site.signIn(await site.addStaff());
	const programmeId = hiddenId((await browser.open("/programmes/new")).text);
	const fields = { ...TERMS, email: newEmail("shop"), programmeId };
	isBroken = true;
	assert.equal((await browser.submit("/programmes/new", fields)).status, 500);
	isBroken = false;
	assert.deepEqual(await site.store.db.selectFrom("programmes").select("id").execute(), []);
	assert.deepEqual(await auditOf(site), []);
	const created = await browser.submit("/programmes/new", fields);
	assert.match(created.text, /New shop is created\..*\/welcome\//s);
	const owners = await site.store.db.selectFrom("programme_people").selectAll().execute();
	assert.equal(owners.length, 1);
});

test("each mistake is shown at its field, nothing is created, and the typed values stay", async (t) => {
	const { site, person: staff, browser } = await openAsStaff(t);
	const wrong = {
		name: " ",
		currency: "EURO",
		commissionRate: "101",
		feeRate: "1,50000",
		approvalDays: "soon",
		parkedDays: "0",
		email: `${MARKUP}@`,
	};
	const { status, text } = await browser.submit("/programmes/new", wrong);
	assert.equal(status, 422);
	for (const field of [
		"name",
		"currency",
		"commissionRate",
		"feeRate",
		"approvalDays",
		"parkedDays",
		"email",
	]) {
		assert.match(text, new RegExp(`id="${field}-error"`), field);
	}
	assert.match(text, /value="EURO"/);
	assert.ok(!text.includes(MARKUP));
	assert.deepEqual(await site.store.db.selectFrom("programmes").select("id").execute(), []);
	const refused = await browser.submit("/programmes/new", { ...TERMS, email: staff.email });
	assert.equal(refused.status, 409);
	assert.match(refused.text, /id="email-error"[^<]*cannot own a programme/);
	assert.deepEqual(await site.store.db.selectFrom("programmes").select("id").execute(), []);
});

function hiddenId(text: string): string {
	return /name="programmeId" value="(prg_\w+)"/.exec(text)?.[1] ?? "";
}

function sectionOf(text: string, id: string): string {
	return new RegExp(`<section class="card" id="${id}".*?</section>`, "s").exec(text)?.[0] ?? "";
}

function rowOf(text: string, publicId: string): string {
	return text.split("<tr").find((row) => row.includes(publicId)) ?? "";
}

async function openNotice(site: TestSite, { receiver_id: receiverId }: Programme): Promise<void> {
	const times = { opened_at_ms: START_MS, told_at_ms: START_MS };
	await site.store.db.insertInto("notices").values(newNotice(receiverId, times)).execute();
}

async function auditOf({ store }: TestSite): Promise<(readonly [string, string | null])[]> {
	const rows = await store.db
		.selectFrom("audit_entries")
		.select(["action", "subject"])
		.where("programme_id", "is not", null)
		.orderBy("id")
		.execute();
	return rows.map(({ action, subject }) => [action, subject] as const);
}
