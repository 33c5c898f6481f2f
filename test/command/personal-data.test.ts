// Tests `ringback person export|erase` and `ringback partner export|erase`, and what `ringback restore` says about people and
// partners who were erased after the backup.

import { deepEqual, equal, match } from "node:assert/strict";
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { type Ended, type Home, openMigratedHome } from "../support/command-home.ts";
import "../support/quick-passphrases.ts";

const EMAIL = "anna@zorblax.example";

/** Opens a folder with two members of staff, a person of a shop, and a partner with a person of its own. */
async function openFilled(t: Parameters<typeof openMigratedHome>[0]) {
	const home = await openMigratedHome(t);
	const create = (email: string, kind: string) =>
		run(home, `user create --email ${email} --kind ${kind} --json`);
	const personId = String(JSON.parse((await create(EMAIL, "shop")).stdout).id);
	await create("sam@network.example", "staff");
	const file = join(home.folder, "partners.csv");
	writeFileSync(
		file,
		"partner;programme;email;site\nZorblax Blog;;bob@zorblax.example;https://zorblax.example/\n",
	);
	equal((await run(home, `import partners ${file} --yes`)).code, 0);
	const partnerId = String(read(home, "select public_id from partners")["public_id"]);
	return { home, personId, partnerId };
}

const run = (home: Home, line: string): Promise<Ended> => home.runHere(line.split(" "));

function read(home: Home, query: string): Record<string, unknown> {
	using database = new DatabaseSync(home.databasePath, { readOnly: true });
	return { ...database.prepare(query).get() };
}

test("person export writes a JSON file that only its owner may read, and never overwrites one", async (t) => {
	const { home, personId } = await openFilled(t);
	const to = join(home.folder, "anna.json");
	const exported = await run(home, `person export ${EMAIL.toUpperCase()} --to ${to}`);
	deepEqual([exported.code, exported.stdout], [0, `Everything is in ${to}, which only you can read.\n`]);
	equal(statSync(to).mode & 0o777, 0o600);
	const { account, auditEntriesAboutThePerson: entries } = JSON.parse(readFileSync(to, "utf8"));
	deepEqual([account.id, account.email], [personId, EMAIL]);
	equal(entries.length > 0, true);
	const again = await run(home, `person export ${personId} --to ${to}`);
	deepEqual([again.code, again.stdout], [1, ""]);
	match(again.stderr, /^There is a file \S+anna\.json already\. Choose another name with --to\.$/m);
	const missing = await run(home, `person export ${personId} --to ${join(home.folder, "missing", "a.json")}`);
	deepEqual([missing.code, missing.stdout], [1, ""]);
	match(missing.stderr, /^There is no folder \S+missing\. Make it first, or name another with --to\.\n$/);
	const unknown = await run(home, "person export nobody@zorblax.example");
	deepEqual(
		[unknown.code, unknown.stderr],
		[1, "There is no account nobody@zorblax.example. Check the spelling.\n"],
	);
});

test("person erase shows what would go, erases with --yes, and says what remains to be done", async (t) => {
	const { home, personId } = await openFilled(t);
	const preview = await run(home, `person erase ${EMAIL}`);
	equal(preview.code, 1, "a script does not take the preview for the erasure");
	match(preview.stdout, new RegExp(`^${EMAIL} would be erased:\n  1 link ends\n`));
	match(preview.stdout, /^Nothing was erased yet: run it again with --yes\.$/m);
	equal(read(home, `select email from people where public_id = '${personId}'`)["email"], EMAIL);
	const erased = await run(home, `person erase ${EMAIL} --yes`);
	equal(erased.code, 0, erased.stderr);
	match(
		erased.stdout,
		new RegExp(
			`^Erased: ${personId}\nThe service searches for the names once more after \\d{4}-.* UTC, because`,
		),
	);
	equal(
		erased.stdout.includes(`If no service runs, run \`ringback person erase ${personId} --yes\` then.`),
		true,
	);
	match(erased.stdout, /^Keep these IDs\. After a restore of an older backup, erase them again\.$/m);
	// The file itself may keep the address in an unused part until that is overwritten. A backup has no unused parts.
	const [backup, copy] = [join(home.folder, "one.backup"), join(home.folder, "copy.db")];
	equal((await run(home, `backup ${backup} --without-key`)).code, 0);
	equal((await run(home, `restore ${backup} --to ${copy}`)).code, 0);
	equal(readFileSync(copy).includes(personId), true);
	equal(readFileSync(copy).includes(EMAIL), false);
	const again = await run(home, `person erase ${personId} --yes`);
	equal(again.code, 1);
	match(again.stderr, /^This person was erased on \d{4}-\d\d-\d\d\. Nothing is left to erase\.$/m);
	const coded = await run(home, `person erase ${personId} --json`);
	equal(JSON.parse(coded.stdout).error, "already_erased");
});

test("person erase removes an address without an account from where others entered it", async (t) => {
	const { home } = await openFilled(t);
	const preview = await run(home, "person erase carl@zorblax.example");
	match(
		preview.stdout,
		/^No account has the address carl@zorblax\.example\. Invitations, applications, mails/,
	);
	equal(read(home, "select count(*) as n from people where email like 'carl%'")["n"], 0);
	const erased = await run(home, "person erase carl@zorblax.example --yes --json");
	const { erased: ids, isFinished } = JSON.parse(erased.stdout);
	deepEqual([ids.length, isFinished], [1, false]);
	const wrong = await run(home, "person erase usr_0 --yes");
	deepEqual([wrong.code, wrong.stderr], [1, "There is no account usr_0. Check the spelling.\n"]);
});

test("partner export and partner erase: the people who sign in for nothing else go, too", async (t) => {
	const { home, partnerId } = await openFilled(t);
	const to = join(home.folder, "blog.json");
	equal((await run(home, `partner export ${partnerId} --to ${to}`)).code, 0);
	const exported = JSON.parse(readFileSync(to, "utf8"));
	deepEqual([exported.partner.name, exported.people[0].email], ["Zorblax Blog", "bob@zorblax.example"]);
	const preview = await run(home, `partner erase ${partnerId}`);
	equal(preview.code, 1);
	match(preview.stdout, /^ {2}bob@zorblax\.example signs in for nothing else and would be erased, too$/m);
	match(
		preview.stdout,
		/^ {2}.*Issued statements keep both parties for 10 years after the year of their issue$/m,
	);
	const erased = JSON.parse((await run(home, `partner erase ${partnerId} --yes --json`)).stdout);
	deepEqual([erased.erased[0], erased.erased.length], [partnerId, 2]);
	deepEqual(read(home, "select name, site from partners"), { name: "erased partner", site: "" });
	const verified = await run(home, "verify");
	equal(verified.code, 0, verified.stdout);
	const refused = await run(home, "partner erase ptn_0");
	deepEqual([refused.code, refused.stderr], [1, "There is no partner ptn_0.\n"]);
});

test("restore lists who was erased after the backup, and without the earlier database says where the IDs are", async (t) => {
	const { home, personId, partnerId } = await openFilled(t);
	const backup = join(home.folder, "one.backup");
	equal((await run(home, `person erase ${EMAIL} --yes`)).code, 0);
	equal((await run(home, `backup ${backup} --without-key`)).code, 0);
	equal((await run(home, `partner erase ${partnerId} --yes`)).code, 0);
	// Nothing about this address is in the backup.
	equal((await run(home, "person erase carl@zorblax.example --yes")).code, 0);
	const bob = String(read(home, "select public_id from erasures where id = 2")["public_id"]);
	const restored = await run(home, `restore ${backup} --force`);
	equal(restored.code, 0, restored.stderr);
	const [, list = ""] =
		/were erased after [^\n]* and are here again\. Erase them again:\n((?: {2}ringback [^\n]*\n)*)/.exec(
			restored.stdout,
		) ?? [];
	deepEqual(list.trim().split(/\n\s*/), [
		`ringback person erase ${bob} --yes`,
		`ringback partner erase ${partnerId} --yes`,
	]);
	equal(restored.stdout.includes(personId), false, "they were erased before the backup");
	match((await run(home, `partner erase ${partnerId} --yes`)).stdout, /^Erased: /);
	const elsewhere = join(home.folder, "elsewhere.db");
	const alone = await run(home, `restore ${backup} --to ${elsewhere}`);
	match(
		alone.stdout,
		/^People and partners who were erased after \S+ are here again\. Erase them again: your list/m,
	);
	const json = JSON.parse((await run(home, `restore ${backup} --force --json`)).stdout);
	deepEqual(json.toEraseAgain, [bob, partnerId]);
	equal(existsSync(elsewhere), true);
	deepEqual(
		readdirSync(home.folder).filter((name) => /-(?:wal|shm)$/.test(name)),
		[],
	);
});
