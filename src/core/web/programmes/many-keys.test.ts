import { deepEqual, doesNotMatch, equal, match, ok } from "node:assert/strict";
import { test } from "node:test";
import { COMMAND_LINE } from "../../people/actor.ts";
import { issueKey, revokeKey } from "../../programmes/keys.ts";
import { openTestSite } from "../test-site.test-support.ts";

const HEADER = "programme,programme_id,key_id,right,api_key,signing_secret";

function linesOf(text: string): string[][] {
	const [header = "", ...lines] = text.replace("\u{FEFF}", "").trimEnd().split("\r\n");
	equal(header, HEADER);
	return lines.map((line) => line.split(","));
}

test("staff issue keys for all programmes without one, and the file with them is the only copy", async (t) => {
	const site = await openTestSite(t, { hasMail: true });
	const programme = await site.addProgramme("Garden Shop");
	const formula = await site.addProgramme("=1+1");
	const busy = await site.addProgramme("Busy");
	const owner = await site.addOwner(programme);
	ok((await issueKey(site.deps, busy.public_id, COMMAND_LINE)).ok);
	const staff = await site.signIn(await site.addStaff());
	match((await staff.open("/programmes")).text, /href="\/programmes\/keys"[^>]*>API keys</);
	match((await staff.open("/programmes/keys")).text, /2 programmes have no key\./);
	const answer = await staff.submit("/programmes/keys", { programmes: "" });
	equal(answer.status, 200);
	equal(answer.headers.get("content-type"), "text/csv; charset=utf-8");
	match(answer.headers.get("content-disposition") ?? "", /^attachment; filename="api-keys-2026-03-01\.csv"$/);
	equal(answer.headers.get("cache-control"), "no-store");
	const lines = linesOf(answer.text);
	deepEqual(
		lines.map(([name, id, , right]) => [name, id, right]),
		[
			["Garden Shop", programme.public_id, "report"],
			["'=1+1", formula.public_id, "report"],
		],
	);
	for (const [, , keyId, , key, secret] of lines) {
		match(keyId ?? "", /^key_/);
		match(key ?? "", /^rbk_[0-9a-f]{64}$/);
		match(secret ?? "", /^rbs_[0-9a-f]{64}$/);
		const stored = await site.storedText();
		ok(!stored.includes(key ?? "?") && !stored.includes(secret ?? "?"), "neither is stored");
	}
	equal((await site.audit("key.issued")).length, 3, "one entry for each programme");
	const told = await site.store.db.selectFrom("changes_to_tell").select("programme_id").execute();
	ok(
		told.some(({ programme_id }) => programme_id === programme.id),
		`${owner.email} gets the usual mail`,
	);
	const again = await staff.submit("/programmes/keys", { programmes: "" });
	match((await staff.open(again.location ?? "")).text, /Every programme has a key\. Nothing was issued\./);
	equal((await site.audit("key.issued")).length, 3);
});

test("a list of programmes gets keys as a whole or not at all, and those that have one are left out", async (t) => {
	const site = await openTestSite(t);
	const first = await site.addProgramme("First");
	const second = await site.addProgramme("Second");
	await site.addProgramme("Third");
	const issued = await issueKey(site.deps, second.public_id, COMMAND_LINE);
	ok(issued.ok);
	const staff = await site.signIn(await site.addStaff());
	const refused = await staff.submit("/programmes/keys", {
		programmes: `First\n${second.public_id}\nNowhere`,
	});
	equal(refused.status, 404);
	match(refused.text, /There is no programme “Nowhere”/);
	match(refused.text, /aria-invalid="true"/);
	equal((await site.audit("key.issued")).length, 1, "nothing was issued");
	const list = `programme\r\n"First"\r\n${second.public_id}\r\nFirst\r\n`;
	const answer = await staff.submit("/programmes/keys", { programmes: list });
	deepEqual(
		linesOf(answer.text).map(([name]) => name),
		[first.name],
	);
	// After its only key was revoked, the programme gets a new key but keeps its secret.
	ok((await revokeKey(site.deps, second.public_id, issued.value.keyId, COMMAND_LINE)).ok);
	const other = await staff.submit("/programmes/keys", { programmes: "Second" });
	const [[, , , , key, secret] = []] = linesOf(other.text);
	match(key ?? "", /^rbk_/);
	equal(secret, "");
});

test("people of shops neither see the page nor issue keys with it", async (t) => {
	const site = await openTestSite(t);
	const owner = await site.addOwner(await site.addProgramme("Garden Shop"));
	const browser = await site.signIn(owner);
	equal((await browser.open("/programmes/keys")).status, 404);
	equal((await browser.submit("/programmes/keys", { programmes: "" })).status, 404);
	equal((await site.audit("key.issued")).length, 0);
	doesNotMatch((await browser.open("/programmes")).text, /programmes\/keys/);
});
