// Tests staff's pages about partners: inviting a partner, its programmes and people, ending it, the partner
// of a sale in lists and on a conversion's page, and the sums to pay.

import { deepEqual, doesNotMatch, equal, match, ok } from "node:assert/strict";
import { test } from "node:test";
import type { Conversion } from "#core/store/queries/conversions.ts";
import { findPersonByEmail } from "#core/store/queries/people.ts";
import { follow, openShop, plain, type ShopSetup } from "#core/web/conversions/shop.test-support.ts";
import { type Browser, hiddenFieldsOf, LINK, newEmail, START_MS } from "#core/web/test-site.test-support.ts";
import { setProgramme } from "../../../../test/support/change-rows.ts";
import { creditTo } from "./partner-shop.test-support.ts";

const DAY_MS = 86_400_000;

async function openNetwork(t: Parameters<typeof openShop>[0], creditsPartners: 0 | 1 = 1, hasMail = false) {
	const shop = await openShop(t, "Shoes", { hasMail });
	const { site, programme } = shop;
	await setProgramme(site.store.db, programme.id, { credits_partners: creditsPartners });
	const staff = await site.signIn(await site.addStaff());
	return { ...shop, staff };
}

/** Invites a partner on the page, and adds it to the programme with the given commission rate. */
async function addPartner({ site, programme }: ShopSetup, staff: Browser, name: string, rate = "10") {
	await staff.submit("/partners/invite", { name, site: "", email: newEmail("shop") });
	const partner = await site.store.db
		.selectFrom("partners")
		.selectAll()
		.where("name", "=", name)
		.executeTakeFirstOrThrow();
	const base = `/partner/${partner.public_id}`;
	const path = `${base}/earnings`;
	const added = await staff.submit(`${path}/add`, { programme: programme.public_id });
	equal(added.status, 303, added.text);
	equal((await staff.submit(added.location ?? "", { rate, codes: "" })).status, 303);
	const partnership = await site.store.db
		.selectFrom("partnerships")
		.selectAll()
		.where("partner_id", "=", partner.id)
		.executeTakeFirstOrThrow();
	return { partner, partnership, path, people: `${base}/people` };
}

test("staff invite a partner, see its one-time link once, and find the partner by name", async (t) => {
	const { staff, site } = await openNetwork(t);
	match((await staff.open("/partners")).text, /No partner yet/);
	const refused = await staff.submit("/partners/invite", { name: "", site: "", email: "a@blog.example" });
	equal(refused.status, 422);
	match(refused.text, /id="name-error"/);
	for (const page of ["ftp://a", `https://a.example/${"x".repeat(200)}`]) {
		const wrong = await staff.submit("/partners/invite", { name: "", site: page, email: "nobody" });
		match(wrong.text, /id="name-error"[\s\S]+id="site-error"[\s\S]+id="email-error"/);
	}
	const { email } = await site.addStaff();
	const refusedAddress = await staff.submit("/partners/invite", { name: "Ghost", site: "", email });
	equal(refusedAddress.status, 409);
	match(refusedAddress.text, /No partner yet/);
	const invited = await staff.submit("/partners/invite", {
		name: "Bären-Blog",
		site: "https://blog.example",
		email: "a@blog.example",
	});
	equal(invited.status, 200);
	const [, path = ""] = LINK.exec(invited.text) ?? [];
	ok(path);
	doesNotMatch((await staff.open("/partners")).text, LINK);
	match((await staff.open("/partners?search=baren")).text, /Bären-Blog/);
	match((await staff.open("/partners?search=nothing")).text, /No partner found/);
	const [entry] = await site.audit("partner.invited");
	equal(entry?.detail, "a@blog.example");
});

test("an invitation that is sent twice makes one partner, one after the other or at the same moment", async (t) => {
	const { staff, site } = await openNetwork(t, 0, true);
	const fill = async (email: string) => {
		const { text } = await staff.open("/partners");
		const partnerId = /name="partnerId" value="(ptn_\w+)"/.exec(text)?.[1];
		ok(partnerId);
		return { name: "Bergblog", site: "", email, partnerId };
	};
	const fields = await fill("a@blog.example");
	equal((await staff.submit("/partners/invite", fields)).status, 200);
	const repeated = await staff.submit("/partners/invite", fields);
	deepEqual([repeated.status, repeated.location], [303, `/partner/${fields.partnerId}/people`]);
	match((await staff.open(repeated.location ?? "")).text, /This partner was invited already/);
	const others = await fill("b@blog.example");
	const send = () => staff.submit("/partners/invite", others);
	const statuses = (await Promise.all([send(), send()])).map(({ status }) => status);
	deepEqual(statuses.filter((status) => status === 200).length, 1, String(statuses));
	ok(!statuses.includes(500), String(statuses));
	const partners = await site.store.db.selectFrom("partners").select("public_id").orderBy("id").execute();
	deepEqual(
		partners.map(({ public_id }) => public_id),
		[fields.partnerId, others.partnerId],
	);
	equal(site.mailbox.length, 2);
});

test("staff invite a partner to a first programme, and the mail names its commission and click days", async (t) => {
	const { staff, site, programme } = await openNetwork(t, 1, true);
	const fields = { name: "Bären-Blog", site: "", email: "a@blog.example" };
	const unknown = await staff.submit("/partners/invite", { ...fields, programme: "No such shop" });
	equal(unknown.status, 404);
	match(unknown.text, /id="programme-error">No programme has this name or ID/);
	equal((await site.audit("partner.invited")).length, 0, "nothing is stored");
	await setProgramme(site.store.db, programme.id, { commission_rate: "8.0000+1.00", click_days: 45 });
	const invited = await staff.submit("/partners/invite", { ...fields, programme: programme.public_id });
	equal(invited.status, 200);
	match(invited.text, /<div>8 % of the basket \+ 1\.00 EUR<\/div>/);
	const sent = () => site.mailbox.filter(({ to }) => to === fields.email).at(-1)?.text ?? "";
	const offer = /:\n- 8 % of the basket \+ 1\.00 EUR\nA click on your link counts for 45 days\.\n/;
	match(sent(), offer);
	equal((await site.audit("partnership.started")).length, 1);
	const partner = await site.store.db.selectFrom("partners").select("public_id").executeTakeFirstOrThrow();
	const person = await findPersonByEmail(site.store.db, fields.email);
	const people = `/partner/${partner.public_id}/people`;
	equal((await staff.submit(`${people}/${person?.public_id}/link`, {})).status, 200);
	equal(site.mailbox.filter(({ to }) => to === fields.email).length, 2);
	match(sent(), offer, "a new link names them, too");
});

test("staff add a partner to programmes by name, and end it after a confirmation", async (t) => {
	const network = await openNetwork(t, 0);
	const { staff, site } = network;
	await site.addProgramme("Shoelaces");
	const { path } = await addPartner(network, staff, "Blog");
	const several = await staff.submit(`${path}/add`, { programme: "shoe" });
	equal(several.status, 404);
	match(several.text, /No programme has exactly this name\. Similar names: Shoelaces \(prg_.*Shoes \(prg_/);
	match((await staff.submit(`${path}/add`, { programme: "shoes" })).text, /is a partner of this/);
	const partly = await staff.submit(`${path}/add`, { programme: "laces" });
	match(partly.text, /Similar names: Shoelaces \(prg_/, "a part of the name is not enough");
	await site.addProgramme("Twin");
	await site.addProgramme("Twin");
	match((await staff.submit(`${path}/add`, { programme: "twin" })).text, /Several match: Twin \(.*Twin \(/);
	const joined = await staff.submit(`${path}/add`, { programme: "Shoelaces" });
	match(
		plain(await follow(staff, joined.location)),
		/does not credit sales to partners\. Turn it on under Settings for/,
	);
	match(plain((await staff.open(path)).text), /Shoes Active since.*Shoelaces Active since/);
	match((await staff.open(path)).text, /data-confirm="End all partnerships of Blog\?/);
	await staff.submit(`${path}/end`, {});
	match(plain((await staff.open(path)).text), /Shoes Ended.*Shoelaces Ended/);
	await staff.submit(`${path}/end`, {});
	equal((await site.audit("partnership.started")).length, 2);
	equal((await site.audit("partnership.ended")).length, 2);
});

test("another person can be invited for the partner, and a removed person is signed out", async (t) => {
	const network = await openNetwork(t);
	const { staff, site, programme } = network;
	const { people, partner } = await addPartner(network, staff, "Blog");
	const person = await site.addOwner(programme);
	const browser = await site.signIn(person);
	const invited = await staff.submit(`${people}/invite`, { email: person.email });
	match(plain(invited.text), new RegExp(`${person.email} can sign in already and finds Blog there`));
	const fresh = await staff.submit(`${people}/invite`, { email: "new@blog.example" });
	match(fresh.text, LINK);
	equal((await staff.submit(`${people}/invite`, { email: "nobody" })).status, 422);
	for (let sent = 1; sent < 5; sent++) await staff.submit(`${people}/invite`, { email: "new@blog.example" });
	equal((await staff.submit(`${people}/invite`, { email: "new@blog.example" })).status, 429);
	const again = { name: "Another", site: "", email: "new@blog.example" };
	equal((await staff.submit("/partners/invite", again)).status, 429);
	const other = await addPartner(network, staff, "Other");
	const refused = await staff.submit(`${other.people}/${person.public_id}/remove`, {});
	equal(refused.status, 404);
	equal((await browser.open("/account")).status, 200);
	match((await staff.open(people)).text, new RegExp(`Remove ${person.email}\\?.*signed out everywhere`));
	match((await staff.submit(`${people}/${person.public_id}/link`, {})).text, /data-copy="[^"]+\/welcome\//);
	const removed = await staff.submit(`${people}/${person.public_id}/remove`, {});
	match(await follow(staff, removed.location), /access ended: 1 session and 1 link were ended/);
	equal((await browser.open("/account")).status, 303);
	const left = await site.store.db
		.selectFrom("partner_people")
		.innerJoin("people", "people.id", "person_id")
		.select("email")
		.where("partner_id", "=", partner.id)
		.execute();
	ok(!left.some(({ email }) => email === person.email));
	equal((await site.audit("person.removed"))[0]?.detail, "Blog");
});

test("lists show and filter the partner of a sale, unless the programme does not credit partners", async (t) => {
	const network = await openNetwork(t);
	const { staff, owner, base, add, site } = network;
	const blog = await addPartner(network, staff, "Blog");
	const mail = await addPartner(network, staff, "Newsletter");
	const [one, two, three] = [
		await add({ order_id: "B-1", occurred_at_ms: START_MS }),
		await add({ order_id: "N-1" }),
		await add({ order_id: "X-1" }),
	];
	const early = await add({ order_id: "B-0", occurred_at_ms: START_MS - DAY_MS });
	await creditTo(network.site, one, blog.partnership.id);
	await creditTo(network.site, early, blog.partnership.id);
	await creditTo(network.site, two, mail.partnership.id, { sub_1: "=top" });
	await creditTo(network.site, three, null);
	for (const [browser, path] of [
		[owner, base],
		[staff, base],
		[staff, "/conversions"],
	] as const) {
		const text = plain((await browser.open(path)).text);
		match(text, /Partner Status/);
		match(text, /Newsletter/);
		match(text, /nobody/);
		for (const wanted of ["blog", blog.partner.public_id]) {
			const found = (await browser.open(`${path}?partner=${wanted}`)).text;
			ok(found.indexOf("B-1") < found.indexOf("B-0"), "the latest sale first");
			doesNotMatch(found, /N-1|X-1/);
			match(plain(found), /2 conversions/);
		}
		match((await browser.open(`${path}?partner=stranger`)).text, /No conversion matches/);
		doesNotMatch((await browser.open(`${path}?partner=blog&orderId=N-1`)).text, /title="N-1"/);
		match((await browser.open(`${path}?partner=blog&orderId=B-0`)).text, /title="B-0"/);
		doesNotMatch((await browser.open(`${path}?partner=blog&orderId=${two.public_id}`)).text, /title="N-1"/);
	}
	const sold = `${base}?partner=blog&dates=sale&from=2026-03-01&sort=sale-asc`;
	doesNotMatch((await owner.open(sold)).text, /B-0/);
	const file = (await owner.open(`${base}/export.csv?partner=blog`)).text;
	match(file, /B-1[\s\S]*B-0/);
	doesNotMatch(file, /N-1|X-1/);
	const [head = "", ...lines] = (await owner.open(`${base}/export.csv`)).text.trim().split("\r\n");
	match(head, /,conversionId,partner,partnerId,credit,s1,s2,s3$/);
	const endOf = (order: string) => lines.find((line) => line.startsWith(`${order},`))?.split(/cnv_\w+,/)[1];
	equal(endOf("N-1"), `Newsletter,${mail.partner.public_id},CLICK,'=top,,`);
	equal(endOf("X-1"), ",,NO_SIGNAL,,,");
	await setProgramme(site.store.db, network.programme.id, { credits_partners: 0 });
	doesNotMatch((await owner.open(base)).text, /data-label="Partner"|name="partner"/);
	match((await owner.open(`${base}/export.csv`)).text, /,decidedAt,conversionId\r\n/);
});

/** Asks for another partner, and confirms what the next page shows. Returns the status of the confirmation. */
async function assign(staff: Browser, form: string, fields: Record<string, string>): Promise<number> {
	const shown = await staff.submit(form, fields);
	equal(shown.status, 200, shown.text);
	return (await staff.submit(form, hiddenFieldsOf(shown.text))).status;
}

/** Returns the texts of the table with the amounts before and after a change of the partner. */
function amountsIn(page: string): string[] {
	const [, body = ""] = /<tbody[^>]*>([\s\S]*?)<\/tbody>/.exec(page) ?? [];
	return body
		.split("</tr>")
		.map((row) => plain(row).trim())
		.filter((row) => row !== "");
}

test("a conversion's page explains its credit, and staff change it with a reason while it is recorded or approved", async (t) => {
	const network = await openNetwork(t);
	const { staff, owner, base, add, read, site } = network;
	const { partnership, partner } = await addPartner(network, staff, "Blog", "10");
	const link = await site.store.db
		.insertInto("partner_links")
		.values({
			code: "spring",
			partnership_id: partnership.id,
			name: "Spring",
			target: "https://shop.example/",
			created_at_ms: 1,
		})
		.returning("id")
		.executeTakeFirstOrThrow();
	const conversion = await add({ order_id: "B-1", commission: "10.00", rates: "10 2" });
	const page = `${base}/${conversion.public_id}`;
	match(plain((await owner.open(page)).text), /Partner Nobody Why The programme did not credit partners/);
	const clicked = {
		word: "CLICK",
		link_id: link.id,
		clicked_at_ms: START_MS - DAY_MS,
		sub_2: "top",
	} as const;
	await creditTo(network.site, conversion, partnership.id, clicked);
	const ownerPage = plain((await owner.open(page)).text);
	match(
		ownerPage,
		/Partner Blog Why The buyer clicked on the partner's link spring \(Spring\) on 2026-02-28/,
	);
	match(ownerPage, /Sub ID s2 top/);
	doesNotMatch(ownerPage, /Change the partner/);
	const form = `/conversions/${conversion.public_id}/partner`;
	equal((await owner.submit(form, { partner: "", reason: "mine" })).status, 404);
	const unreasoned = await staff.submit(form, { partner: "Blog", reason: " " });
	equal(unreasoned.status, 422);
	match(unreasoned.text, /id="assign-reason-error"/);
	const unknown = await staff.submit(form, { partner: "nobody known", reason: "x" });
	match(unknown.text, /id="partner-error">No partner of this programme has this name or ID\. Add them first/);
	equal(await assign(staff, form, { partner: "", reason: "own newsletter" }), 303);
	equal((await read(conversion)).commission, "0.00");
	match(
		plain((await owner.open(page)).text),
		/staff changed the partner.*Nobody Why The network's staff decided that no partner is credited/,
	);
	await assign(staff, form, { partner: partner.public_id, reason: "was wrong" });
	equal((await read(conversion)).commission, "10.00");
	match(plain((await staff.open(page)).text), /assigned this partner.*The reason is in the audit log/);
	deepEqual(
		(await site.audit("credit.assigned")).map(({ detail }) => detail),
		[
			"Blog → nobody: own newsletter; commission: 10.00 EUR → 0.00 EUR; network fee: 2.00 EUR → 0.00 EUR",
			"nobody → Blog: was wrong; commission: 0.00 EUR → 10.00 EUR; network fee: 0.00 EUR → 2.00 EUR",
		],
	);
	const refused = await add({ order_id: "R-1" });
	await creditTo(site, refused, null, { ...clicked, word: "CLICK_AFTER_SALE" });
	match(
		plain((await owner.open(`${base}/${refused.public_id}`)).text),
		/Nobody Why The click came after the sale\. It was a click on the link spring \(Spring\) of Blog , on 2026-02-28/,
	);
	const coded = await add({ order_id: "C-1" });
	await creditTo(site, coded, null, { word: "UNKNOWN_CODE" });
	const codedPage = (await owner.open(`${base}/${coded.public_id}`)).text;
	const [, log = ""] =
		/<a href="([^"]+)">As the shop reported them, in the inbound log/.exec(codedPage) ?? [];
	equal((await owner.open(log)).status, 200, "the log names the codes of the report");
	match(log, /order=C-1$/);
	const pixel = await add({ order_id: "P-1", source: "pixel", confirmed_at_ms: null });
	const pixelPage = (await staff.open(`${base}/${pixel.public_id}`)).text;
	doesNotMatch(pixelPage, /Change the partner/);
	match(pixelPage, /The partner can be changed once the shop&#39;s server has confirmed it/);
	const early = await staff.submit(`/conversions/${pixel.public_id}/partner`, {
		partner: "Blog",
		reason: "x",
	});
	equal(early.status, 409);
	const setStatus = (status: "APPROVED" | "REVERSED") =>
		site.store.db.updateTable("conversions").set({ status }).execute();
	await setStatus("APPROVED");
	const approvedPage = (await staff.open(page)).text;
	match(approvedPage, /Change the partner/);
	match(approvedPage, /taken from the account of the present partner/);
	doesNotMatch((await owner.open(page)).text, /Change the partner/);
	await assign(staff, form, { partner: "", reason: "late" });
	equal((await read(conversion)).commission, "0.00");
	await assign(staff, form, { partner: "Blog", reason: "no, it was Blog" });
	const entries = await site.store.db.selectFrom("entries").selectAll().orderBy("id").execute();
	deepEqual(
		entries.map(({ kind, amount, person_id }) => [kind, amount, person_id === null]),
		[
			["CHANGED", "-10.00", false],
			["CHANGED", "10.00", false],
		],
	);
	await setStatus("REVERSED");
	const reversedPage = (await staff.open(page)).text;
	doesNotMatch(reversedPage, /Change the partner/);
	match(reversedPage, /This conversion is reversed, so no partner earns anything with it/);
	equal((await staff.submit(form, { partner: "", reason: "late" })).status, 409);
	equal((await read(conversion)).commission, "10.00");
	await setProgramme(site.store.db, conversion.programme_id, { credits_partners: 0 });
	match((await staff.open(page)).text, /cannot be changed, because the programme does not credit partners/);
});

test("staff see the partner and the amounts before and after a change, and nothing changes until they confirm", async (t) => {
	const network = await openNetwork(t);
	const { staff, add, read, site } = network;
	const blog = await addPartner(network, staff, "Blog", "10");
	await addPartner(network, staff, "Same", "10");
	const sale = { commission: "10.00", network_fee: "2.00", rates: "10 2", fee_rate: "2" };
	const conversion = await add({ order_id: "B-1", ...sale });
	await creditTo(site, conversion, blog.partnership.id);
	const before = await read(conversion);
	const form = `/conversions/${conversion.public_id}/partner`;

	const same = await staff.submit(form, { partner: "Same", reason: "It was theirs" });
	deepEqual(amountsIn(same.text), [
		"Partner Blog Same",
		"Commission 10.00 EUR 10.00 EUR",
		"Network fee 2.00 EUR 2.00 EUR",
	]);
	match(plain(same.text), /The amounts stay as they are\..* Reason It was theirs /);
	deepEqual(await read(conversion), before, "a look changes nothing");
	deepEqual(await site.audit("credit.assigned"), []);

	const nobody = await staff.submit(form, { partner: "", reason: "Ours" });
	deepEqual(amountsIn(nobody.text), [
		"Partner Blog Nobody",
		"Commission 10.00 EUR 0.00 EUR",
		"Network fee 2.00 EUR 0.00 EUR",
	]);
	const own = await staff.submit(form, { partner: blog.partner.public_id, reason: "x" });
	match(plain(own.text), /Blog has this sale already, so nothing would change\./);
	doesNotMatch(own.text, /name="shown"/);

	// The shop refunds a part of the order while staff look at the amounts.
	const change = { basket_value: "50.00", commission: "5.00", network_fee: "1.00", refunded_value: "50.00" };
	await site.store.db.updateTable("conversions").set(change).where("id", "=", conversion.id).execute();
	const late = await staff.submit(form, hiddenFieldsOf(nobody.text));
	equal(late.status, 409);
	match(
		plain(late.text),
		/The conversion or its amounts have changed since you looked at them, so nothing was changed/,
	);
	deepEqual(amountsIn(late.text), [
		"Partner Blog Nobody",
		"Commission 5.00 EUR 0.00 EUR",
		"Network fee 1.00 EUR 0.00 EUR",
	]);
	equal((await read(conversion)).commission, "5.00");
	const confirmed = await staff.submit(form, hiddenFieldsOf(late.text));
	equal(confirmed.status, 303);
	match(
		await follow(staff, confirmed.location),
		/The commission is now 0\.00 EUR, the network fee 0\.00 EUR/,
	);
	equal((await staff.submit(form, hiddenFieldsOf(late.text))).status, 303, "sent twice, it is made once");
	deepEqual(
		(await site.audit("credit.assigned")).map(({ detail }) => detail),
		["Blog → nobody: Ours; commission: 5.00 EUR → 0.00 EUR; network fee: 1.00 EUR → 0.00 EUR"],
	);

	// Somebody else decides about the conversion meanwhile.
	const back = await staff.submit(form, { partner: "Blog", reason: "Theirs again" });
	await site.store.db
		.updateTable("conversions")
		.set({ status: "REJECTED" })
		.where("id", "=", conversion.id)
		.execute();
	const tooLate = await staff.submit(form, hiddenFieldsOf(back.text));
	equal(tooLate.status, 409);
	match(tooLate.text, /This conversion is rejected, so no partner earns anything with it/);
	equal((await read(conversion)).commission, "0.00");
});

test("totals for payment are counted by the day of the sale, on the page and in the file", async (t) => {
	const network = await openNetwork(t);
	const { staff, add, site } = network;
	const blog = await addPartner(network, staff, "Blog");
	const mail = await addPartner(network, staff, "=Newsletter");
	const sales: readonly [Partial<Conversion>, number][] = [
		[{ status: "APPROVED", commission: "10.00" }, blog.partnership.id],
		[{ status: "APPROVED", commission: "2.50" }, blog.partnership.id],
		[{ status: "RECORDED", commission: "1.00" }, blog.partnership.id],
		[{ status: "APPROVED", commission: "90.00", test: 1 }, blog.partnership.id],
		// This sale is one hour before midnight in Berlin, so it falls in February both there and in UTC.
		[
			{ status: "APPROVED", commission: "4.00", occurred_at_ms: Date.UTC(2026, 1, 28, 22) },
			blog.partnership.id,
		],
		// This sale falls in March in Berlin, but in February in UTC.
		[
			{ status: "REVERSED", commission: "8.00", occurred_at_ms: Date.UTC(2026, 1, 28, 23, 30) },
			mail.partnership.id,
		],
	];
	for (const [sale, id] of sales)
		await creditTo(network.site, await add({ occurred_at_ms: START_MS, ...sale }), id);
	// The first visit uses up the message of the last form, which would otherwise appear in the text below.
	await staff.open("/partners");
	const text = plain((await staff.open("/partners")).text);
	match(text, /Blog Since 2026-03-01 12\.50 EUR 2 sales 1\.00 EUR 1 sale/);
	match(text, /=Newsletter Since 2026-03-01 — — — —/);
	doesNotMatch(text, /90\.00/);
	await site.setZone("Europe/Berlin");
	const berlin = "from=2026-03-01&to=2026-03-31";
	match(
		plain((await staff.open(`/partners?${berlin}`)).text),
		/=Newsletter Since 2026-03-01 — — — 8\.00 EUR/,
	);
	match(
		plain((await staff.open(`${mail.path}?${berlin}`)).text),
		/Shoes Active since.* 10 % of the basket 0 — — — 8\.00 EUR/,
	);
	doesNotMatch(plain((await staff.open(`/partners?${berlin}&search=blog`)).text), /Newsletter/);
	const wrong = await staff.open("/partners?from=soon");
	equal(wrong.status, 422);
	match(wrong.text, /id="from-error"/);
	const turned = await staff.open("/partners?from=2026-03-31&to=2026-03-01");
	equal(turned.status, 422);
	match(turned.text, /id="to-error">The last day is before the first/);
	match(
		text,
		/March 2026 can still change[^<]+Approved commission is owed to the partner\. What was paid is under Statements/,
	);
	const file = await staff.open(`/partners/totals.csv?from=2026-01-01`);
	match(file.headers.get("content-disposition") ?? "", /partners-2026-01-01-\.csv/);
	const [head, ...lines] = file.text.trim().split("\r\n");
	match(
		head ?? "",
		/partner,partnerId,programme,programId,status,sales,basketValue,commission,currency,soldFrom,soldUntil,timeZone$/,
	);
	deepEqual(lines.map((line) => line.replace(/\b(ptn|prg)_\w+/g, "$1")).sort(), [
		"'=Newsletter,ptn,Shoes,prg,REVERSED,1,100.00,8.00,EUR,2026-01-01,,Europe/Berlin",
		"Blog,ptn,Shoes,prg,APPROVED,3,300.00,16.50,EUR,2026-01-01,,Europe/Berlin",
		"Blog,ptn,Shoes,prg,RECORDED,1,100.00,1.00,EUR,2026-01-01,,Europe/Berlin",
	]);
	await site.store.db.updateTable("people").set({ locale: "de" }).execute();
	match((await staff.open("/partners/totals.csv?from=2026-01-01")).text, /;3;"300,00";"16,50";EUR/);
});
