// Tests what staff enter before they erase somebody: their password and, with an authenticator, a code.

import { equal, match } from "node:assert/strict";
import { test } from "node:test";
import { CODE_STEP_MS, codeAt, turnAuthenticatorOn } from "#core/web/account/totp.test-support.ts";
import { openAsStaff, PASSWORD } from "#core/web/test-site.test-support.ts";
import { addPartner } from "#modules/partners/web/partner-shop.test-support.ts";

test("with an authenticator, erasing needs the password and a code, and a refused erasure gives the code back", async (t) => {
	const { site, browser } = await openAsStaff(t);
	const programme = await site.addProgramme();
	const owner = await site.addOwner(programme);
	const { partner } = await addPartner(site, "Blog");
	const { secret, backupCodes } = await turnAuthenticatorOn(browser);
	const [person, ofPartner] = [
		`/system/personal-data/${owner.public_id}`,
		`/partner/${partner.public_id}/personal-data`,
	];
	match((await browser.open(ofPartner)).text, /name="code"/);
	const erase = (path: string, code: string, currentPassword = PASSWORD) =>
		browser.submit(`${path}/erase`, { currentPassword, code });

	for (const [code, password, status, message] of [
		["123456", "not the password", 422, /id="currentPassword-error">/],
		["", PASSWORD, 401, /id="code-error">Enter the code that your authenticator shows now/],
		["123456", PASSWORD, 401, /id="code-error">/],
	] as const) {
		const refused = await erase(ofPartner, code, password);
		equal(refused.status, status, code);
		match(refused.text, message);
	}
	const [backupCode = ""] = backupCodes;
	const onlyOwner = await erase(person, backupCode);
	equal(onlyOwner.status, 409);
	match(onlyOwner.text, /is the only owner of the programme/);
	equal((await site.audit("partner.erased")).length + (await site.audit("person.erased")).length, 0);

	equal((await erase(ofPartner, backupCode)).status, 303, "the refused erasure did not use it up");
	equal((await site.audit("partner.erased")).length, 1);
	await site.addOwner(programme, "second@shop.example");
	equal((await erase(person, backupCode)).status, 401, "a code works once");
	equal((await erase(person, codeAt(secret, browser.nowMs() + CODE_STEP_MS))).status, 303);
	const [last] = (await site.audit("person.erased")).filter(({ subject }) => subject === owner.public_id);
	equal(last?.subject, owner.public_id);
});

test("without an authenticator the form has no field for a code", async (t) => {
	const { site, browser } = await openAsStaff(t);
	const { partner } = await addPartner(site, "Blog");
	const path = `/partner/${partner.public_id}/personal-data`;
	equal(/name="code"/.test((await browser.open(path)).text), false);
	equal((await browser.submit(`${path}/erase`, { currentPassword: PASSWORD })).status, 303);
});
