// Tests the pages with API tokens: a token is shown once, listed, revoked, audited and mailed.

import { deepEqual, doesNotMatch, equal, match, ok } from "node:assert/strict";
import { test } from "node:test";
import { HOUR_MS } from "#core/domain/time.ts";
import { findPersonByEmail } from "#core/store/queries/people.ts";
import { CODE_STEP_MS, codeAt, turnAuthenticatorOn } from "#core/web/account/totp.test-support.ts";
import { openAsStaff, PASSWORD } from "#core/web/test-site.test-support.ts";
import { openPartnerShop } from "#modules/partners/web/partner-shop.test-support.ts";

/** The form for a network token. */
const PORTAL = { name: "Portal", right: "manage", days: "", currentPassword: PASSWORD };

test("a network token is shown once, stored as a hash, mailed to all staff, and can be revoked", async (t) => {
	const { site, browser } = await openAsStaff(t, { hasMail: true });
	const colleague = await site.addStaff();
	const issued = await browser.submit("/network/tokens", PORTAL);
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
	const issued = await browser.submit("/network/tokens", PORTAL);
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
	const issued = await second.submit(`${base}/api`, {
		...{ name: "Tracker", days: "365" },
		currentPassword: PASSWORD,
	});
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
		const answer = await browser.submit("/network/tokens", { ...fields, currentPassword: PASSWORD });
		equal(answer.status, 422, JSON.stringify(fields));
	}
	ok(!(await browser.open("/network/tokens")).text.includes("rbn_…"));
});

test("issuing a token asks for the password, of staff and of a partner's people", async (t) => {
	const { site, browser: partner, base } = await openPartnerShop(t);
	const staff = await site.signIn(await site.addStaff());
	for (const [browser, path] of [
		[staff, "/network/tokens"],
		[staff, `${base}/api`],
		[partner, `${base}/api`],
	] as const) {
		const { text } = await browser.open(path);
		match(text, /name="currentPassword" required type="password"/);
		doesNotMatch(text, /name="code"/, "a person without an authenticator is not asked for a code");
		for (const currentPassword of ["", "wrong horse battery"]) {
			const refused = await browser.submit(path, { ...PORTAL, currentPassword });
			equal(refused.status, 422);
			match(refused.text, /This is not your current password\. Enter it again\./);
			match(refused.text, /value="Portal"/, "what was typed stays");
			doesNotMatch(refused.text, /Copy it now/);
		}
	}
	deepEqual(await site.store.db.selectFrom("api_tokens").selectAll().execute(), []);
	match((await partner.submit(`${base}/api`, PORTAL)).text, /Copy it now/);
});

test("a person with an authenticator also enters a code, which works once, and a refused token uses up no code", async (t) => {
	const { site, browser } = await openAsStaff(t, { hasMail: true });
	const { secret, backupCodes, usedCode } = await turnAuthenticatorOn(browser);
	const issue = (code: string, change = {}) =>
		browser.submit("/network/tokens", { ...PORTAL, code, ...change });
	match((await browser.open("/network/tokens")).text, /name="code"[^>]*required/);
	const code = codeAt(secret, site.deps.clock.nowMs() + CODE_STEP_MS);
	const wrongPassword = await issue(code, { currentPassword: "wrong horse battery" });
	equal(wrongPassword.status, 422);
	ok(!wrongPassword.text.includes(code), "the code is not shown again");
	equal((await issue(code, { name: "" })).status, 422);
	const refusals = [
		["", /id="code-error">Enter the code that your authenticator shows now, or one of your backup codes\./],
		["111111", /id="code-error">This code is not right\./],
		[usedCode, /id="code-error">This code was used before\./],
		["ABCDE-23456", /id="code-error">This is not one of your backup codes/],
	] as const;
	for (const [wrong, sentence] of refusals) {
		const refused = await issue(wrong);
		match(refused.text, sentence);
		doesNotMatch(refused.text, /Copy it now/);
	}
	match((await issue(code)).text, /Copy it now/);
	match((await issue(code)).text, /This code was used before/);

	const [backup = ""] = backupCodes;
	const fill = Array.from({ length: 49 }, (_, at) => ({ public_id: `tok_${at}`, hash: `${at}` }));
	const [row] = await site.store.db.selectFrom("api_tokens").selectAll().execute();
	ok(row);
	const { id: _, ...token } = row;
	await site.store.db
		.insertInto("api_tokens")
		.values(fill.map((each) => ({ ...token, ...each })))
		.execute();
	match((await issue(backup)).text, /There are 50 tokens in use/);
	await site.store.db.deleteFrom("api_tokens").where("public_id", "=", "tok_0").execute();
	match((await issue(backup)).text, /Copy it now/, "the refused token did not use up the backup code");
	match((await issue(backup)).text, /id="code-error">/, "now it is used up");
	equal((await site.audit("authenticator.backup_code_used")).length, 1);
	await site.tellChanges();
	ok(site.mailbox.some(({ text }) => text.includes("A backup code of your account was used")));
});
