import { doesNotMatch, equal, match } from "node:assert/strict";
import { test } from "node:test";
import { addCreditingProgramme, addPartner, join } from "#modules/partners/web/partner-shop.test-support.ts";
import { addConversion } from "../../../../test/support/rows.ts";
import { openTestSite } from "../test-site.test-support.ts";

test("staff archive a programme after a question, find it among the archived ones, and resume it", async (t) => {
	const site = await openTestSite(t);
	const programme = await site.addProgramme("Old Shop");
	const owner = await site.addOwner(programme);
	const staff = await site.signIn(await site.addStaff());
	const settings = `/programmes/${programme.public_id}/settings`;
	const path = `/archive/${programme.public_id}`;
	match((await staff.open(settings)).text, new RegExp(`href="${path}"[^>]*>Archive this programme`));
	const question = await staff.open(path);
	match(question.text, /Archive Old Shop\?.*programme_archived.*>Archive</s);
	const done = await staff.submit(path, {});
	equal(done.location?.split("?")[0], "/programmes");
	const list = await staff.open("/programmes");
	match(list.text, /Old Shop is archived\./);
	doesNotMatch(list.text, /overview">Old Shop/);
	match(
		(await staff.open("/programmes?archived=yes")).text,
		/Archived programmes.*Old Shop<\/a>.*Archived</s,
	);
	match(
		(await staff.open(settings)).text,
		/takes no new sales and is not in your lists.*Resume this programme/s,
	);
	match((await staff.open((await staff.submit(path, {})).location ?? "")).text, /is archived/);
	const browser = await site.signIn(owner);
	match((await browser.open(settings)).text, /This programme was archived on/);
	equal((await browser.open(path)).status, 404, "owners neither archive");
	equal((await browser.submit(`${path}/resume`, {})).status, 404, "nor resume it");
	await staff.submit(`${path}/resume`, {});
	match((await staff.open(settings)).text, /Old Shop takes sales again\..*Archive this programme/s);
	equal((await staff.open("/archive/prg_00000000000000000000000000")).status, 404);
});

test("a programme with conversions that wait for a decision cannot be archived, and the page says why", async (t) => {
	const site = await openTestSite(t);
	const programme = await site.addProgramme("Busy Shop");
	await addConversion(site.store, programme.id, {});
	const staff = await site.signIn(await site.addStaff());
	const path = `/archive/${programme.public_id}`;
	const question = await staff.open(path);
	match(question.text, /Busy Shop has conversions that wait for a decision/);
	doesNotMatch(question.text, />Archive<\/button>/);
	const refused = await staff.submit(path, {});
	equal(refused.status, 409);
	match(refused.text, /Decide them first/);
	equal((await site.audit("programme.archived")).length, 0);
});

test("staff archive a partner, which is then listed among the archived ones only", async (t) => {
	const site = await openTestSite(t);
	const { partner, email } = await addPartner(site, "Blog");
	const programme = await addCreditingProgramme(site, "Credits");
	const partnership = await join(site, programme, partner);
	const staff = await site.signIn(await site.addStaff());
	const path = `/partner/${partner.public_id}/archive`;
	match((await staff.open(`/partner/${partner.public_id}/earnings`)).text, /Archive this partner/);
	match((await staff.open(path)).text, /Archive Blog\?.*All its partnerships end/s);
	await staff.submit(path, {});
	doesNotMatch((await staff.open("/partners")).text, new RegExp(`${partner.public_id}`));
	match(
		(await staff.open("/partners?archived=yes")).text,
		new RegExp(`Archived partners.*${partner.public_id}`, "s"),
	);
	match((await staff.open(`/partner/${partner.public_id}/earnings`)).text, /Resume this partner/);
	const partnershipPath = `/programmes/${programme.public_id}/partners/${partnership.public_id}`;
	const ended = (await staff.open(partnershipPath)).text;
	match(ended, /The network archived this partner, so the partnership cannot be resumed/);
	doesNotMatch(ended, /Resume partnership/);
	const browser = await site.signIn({ email });
	equal((await browser.open(path)).status, 404);
	equal(
		(await browser.open(`/partner/${partner.public_id}/earnings`)).status,
		200,
		"its people still read their pages",
	);
	await staff.submit(`${path}/resume`, {});
	match((await staff.open("/partners")).text, new RegExp(partner.public_id));
	match((await staff.open(partnershipPath)).text, /Resume partnership/);
});
