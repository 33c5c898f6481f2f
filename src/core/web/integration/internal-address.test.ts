// Tests that an owner learns that a host name leads to a private address, but not to which one.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { LookUp } from "../../ports.ts";
import { openTestSite } from "../test-site.test-support.ts";

const HOST = "postgres-primary.corp.internal";
const INSIDE = "10.20.30.40";

const ANSWERS: readonly [what: string, answer: LookUp, word: RegExp][] = [
	["a private address", { ok: true, addresses: ["93.184.215.14", INSIDE] }, /private or internal address/],
	["a resolver that fails", { ok: false, code: "ECONNREFUSED" }, /No address was found/],
];

for (const [what, answer, words] of ANSWERS) {
	test(`saving a URL whose host has ${what} says what to do, and only the log has the address`, async (t) => {
		const site = await openTestSite(t, { change: { transport: { lookUp: async () => answer } } });
		const programme = await site.addProgramme();
		const browser = await site.signIn(await site.addOwner(programme));
		const path = `/programmes/${programme.public_id}/integration`;
		await browser.open(path);
		const refused = await browser.submit(`${path}/postback-url`, { postbackUrl: `https://${HOST}/x` });
		assert.equal(refused.status, 422);
		assert.match(refused.text, words);
		assert.match(refused.text, /DNS/);
		const secret = answer.ok ? INSIDE : answer.code;
		assert.equal(refused.text.includes(secret), false);
		assert.equal((await site.storedText()).includes(secret), false);
		const line = site.log.lines.find(({ message }) => message === "a Postback URL was not saved");
		assert.ok(JSON.stringify(line).includes(HOST) && JSON.stringify(line).includes(secret));
	});
}
