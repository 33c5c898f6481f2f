// Tests the pages with API tokens: a token is shown once, listed, revoked, audited and mailed.

import { deepEqual, equal, match, ok } from "node:assert/strict";
import { test } from "node:test";
import { HOUR_MS } from "../../domain/time.ts";
import { findPersonByEmail } from "../../store/queries/people.ts";
import { openPartnerShop } from "../partners/partner-shop.test-support.ts";
import { openAsStaff, PASSWORD } from "../test-site.test-support.ts";

test("a network token is shown once, stored as a hash, mailed to all staff, and can be revoked", async (t) => {
	const { site, browser } = await openAsStaff(t, { hasMail: true });
	const colleague = await site.addStaff();
	const issued = await browser.submit("/network/tokens", { name: "Portal", right: "manage", days: "" });
	const [token = ""] = /rbn_[0-9a-f]{64}/.exec(issued.text) ?? [];
	ok(token !== "" && issued.text.includes("Copy it now"));
	const page = await browser.open("/network/tokens");
	ok(!page.text.includes(token) && page.text.includes(`rbn_…${token.slice(-4)}`));
	ok(!(await site.storedText()).includes(token));
	await site.tellChanges();
	const mail = site.mailbox.find(({ to }) => to === colleague.email);
	match(mail?.subject ?? "", /Network API token issued/);
	match(mail?.text ?? "", /A new API token of the network rbn_….{4} \("Portal"\) was issued/);
	equal(site.mailbox.length, 2, "both members of staff are mailed");
	const headers = { authorization: `Bearer ${token}` };
	const program = site.browser();
	equal((await program.send("/v1/network/programmes", { headers })).status, 200);
	match((await browser.open("/network/tokens")).text, /Last used(?!.*never)/s);
	const [path = ""] = /\/network\/tokens\/tok_\w+\/revoke/.exec(page.text) ?? [];
	equal((await browser.submit(path, {})).location, "/network/tokens");
	equal((await program.send("/v1/network/programmes", { headers })).status, 401);
	equal((await browser.submit(path, {})).status, 404, "it is revoked already");
	equal((await site.audit("network_token.issued")).length, 1);
	equal((await site.audit("network_token.revoked")).length, 1);
});

test("what a token did is in the audit log with its issuer and its name, and in the owners' mail", async (t) => {
	const { site, browser, person } = await openAsStaff(t, { hasMail: true });
	const issued = await browser.submit("/network/tokens", { name: "Portal", right: "manage", days: "" });
	const [token = ""] = /rbn_[0-9a-f]{64}/.exec(issued.text) ?? [];
	const body = JSON.stringify({ name: "Made by a program", currency: "EUR", commission: {}, networkFee: {} });
	const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
	const made = await site.browser().send("/v1/network/programmes", { method: "POST", headers, body });
	equal(made.status, 201, made.text);
	await browser.submit("/programmes/new", {
		name: "By hand",
		currency: "EUR",
		commissionRate: "8",
		feeRate: "2",
	});
	const [entry] = await site.audit("programme.created");
	equal(entry?.person_id, person.id);
	ok(entry?.token_id);
	match((await browser.open("/system/audit")).text, /with the API token Portal/);
	const programme = await site.addProgramme();
	const owner = await site.addOwner(programme);
	const key = await site.browser().send(`/v1/network/programmes/${programme.public_id}/keys`, {
		method: "POST",
		headers,
		body: "{}",
	});
	equal(key.status, 201, key.text);
	await site.tellChanges();
	const mail = site.mailbox.find(({ to }) => to === owner.email);
	match(mail?.text ?? "", /API key rbk_….* was issued\. Done by a program with an API token of "Sam Staff"/);
});

test("a partner's token belongs to the partner, and ends when its issuer is removed", async (t) => {
	const { site, partner, browser, base, email } = await openPartnerShop(t, { hasMail: true });
	await browser.submit(`${base}/people/invite`, { email: "colleague@blog.example" });
	const [link = ""] = /\/welcome\/\w+/.exec(site.mailbox.at(-1)?.text ?? "") ?? [];
	const second = site.browser();
	await second.submit(link, { name: "Carla Colleague", password: PASSWORD });
	const issued = await second.submit(`${base}/api`, { name: "Tracker", days: "365" });
	const [token = ""] = /rbp_[0-9a-f]{64}/.exec(issued.text) ?? [];
	ok(token !== "");
	site.mailbox.length = 0;
	site.moveClock(HOUR_MS);
	await site.tellChanges();
	deepEqual(
		site.mailbox.filter(({ text }) => text.includes("A new API token")).map(({ to }) => to),
		["colleague@blog.example", email].sort(),
	);
	const headers = { authorization: `Bearer ${token}` };
	const program = site.browser();
	equal((await program.send("/v1/partner/conversions", { headers })).status, 200);
	equal((await program.send("/v1/network/programmes", { headers })).status, 403);
	const colleague = await findPersonByEmail(site.store.db, "colleague@blog.example");
	const remove = `${base}/people/${colleague?.public_id}/remove`;
	equal((await browser.submit(remove, {})).status, 303);
	equal((await program.send("/v1/partner/conversions", { headers })).status, 401);
	const [entry] = await site.audit("partner_token.revoked");
	equal(entry?.subject, partner.public_id);
});

test("a token needs a name, and a network token a right", async (t) => {
	const { browser } = await openAsStaff(t);
	for (const fields of [
		{ name: " ", right: "read", days: "" },
		{ name: "A", right: "all", days: "" },
		{ name: "A", right: "read", days: "0" },
	]) {
		equal((await browser.submit("/network/tokens", fields)).status, 422, JSON.stringify(fields));
	}
	ok(!(await browser.open("/network/tokens")).text.includes("rbn_…"));
});
