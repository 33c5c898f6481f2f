// Tests creating people, programmes and keys from the command line: what is created, what is refused, and
// what is printed.

import { deepEqual, equal, match } from "node:assert/strict";
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { type Ended, type Home, hasStack, openHome, openMigratedHome } from "../support/command-home.ts";

const PROGRAMME = {
	"--name": "Shop",
	"--owner": "owner@shop.example",
	"--currency": "EUR",
	"--commission": "8",
	"--fee": "2",
	"--approval-days": "30",
};

test("the README's first steps create a person, a programme and a key, and print sentences", async (t) => {
	const home = await openMigratedHome(t);
	const user = await home.run(["user", "create", "--email", "Owner@Shop.example", "--kind", "shop"]);
	match(
		onlyOutput(user),
		/^Made shop person owner@shop\.example \(usr_\w+\)\.\nThe link [^\n]*seven days\.\nhttp:\/\/127\.0\.0\.1:8080\/welcome\/[0-9a-f]{64}\nThis link opens only on the machine [^\n]+\n$/,
	);

	const programme = await home.runHere(programmeArgs());
	const [, id = ""] = /^Made programme Shop: (prg_\w+)$/m.exec(onlyOutput(programme)) ?? [];
	match(programme.stdout, new RegExp(`^Next: npx --no-install ringback key issue --programme ${id}$`, "m"));

	const first = onlyOutput(await home.runHere(["key", "issue", "--programme", id]));
	match(first, /^API key {9}rbk_[0-9a-f]{64} {3}\(Key 1, key_\w+; reports, approves and rejects\)$/m);
	match(first, /^Signing secret {2}rbs_[0-9a-f]{64}$/m);
	match(first, /not shown again/);

	const second = onlyOutput(await home.runHere(["key", "issue", "--programme", id, "--name", "Till"]));
	match(second, /^API key .* \(Till, key_\w+; reports, approves and rejects\)$/m);
	match(second, /^Signing secret {2}as before: it came with the first key$/m);
	equal(second.includes("rbs_"), false, "the secret is shown once");
});

test("key issue-many writes keys of all programmes without one into a file that only its owner may read", async (t) => {
	const home = await openMigratedHome(t);
	await home.runHere("user create --email owner@shop.example --kind shop".split(" "));
	for (const name of ["One", "Two", "Three"]) await home.runHere(programmeArgs({ "--name": name }));
	const list = join(home.folder, "list.csv");
	writeFileSync(list, "programme\nTwo\nNowhere\n");
	const some = join(home.folder, "some.csv");
	const refused = await home.runHere(["key", "issue-many", "--programmes", list, "--result", some]);
	deepEqual([refused.code, refused.stdout], [1, ""]);
	match(refused.stderr, /^There is no programme “Nowhere”/);
	equal(existsSync(some), false, "a refused call leaves no file");
	writeFileSync(list, "programme\nTwo\n");
	const chosen = ["key", "issue-many", "--programmes", list, "--right", "report", "--result", some];
	match(
		onlyOutput(await home.runHere(chosen)),
		/^Issued 1 API key\. They are in \S+some\.csv and are not shown again\.\n$/,
	);
	match(readFileSync(some, "utf8"), /^Two,prg_\w+,key_\w+,report,rbk_[0-9a-f]{64},rbs_[0-9a-f]{64}\r$/m);
	equal(statSync(some).mode & 0o777, 0o600);
	match((await home.runHere(chosen)).stderr, /^There is a file \S+some\.csv already\./);
	const all = join(home.folder, "all.csv");
	const rest = onlyJson(await home.runHere(["key", "issue-many", "--result", all, "--json"]));
	deepEqual(rest, { issued: 2, skipped: 0, file: all });
	match(readFileSync(all, "utf8"), /^One,prg_\w+,key_\w+,decide,rbk_\w+,rbs_\w+\r\nThree,/m);
	const late = join(home.folder, "late.csv");
	const wrong = await home.runHere(["key", "issue-many", "--result", late, "--right", "all"]);
	deepEqual([wrong.code, wrong.stderr], [1, 'right must be "report" or "decide".\n']);
	const none = onlyOutput(await home.runHere(["key", "issue-many", "--result", late]));
	equal(none, "Issued no key, because every programme has one.\n");
	equal(existsSync(late), false, "a call that issues nothing leaves no file");
});

test("with --json each command prints one object, and the database holds neither the key nor the secret", async (t) => {
	const home = await openMigratedHome(t);
	const person = onlyJson(
		await home.runHere("user create --email a@shop.example --kind shop --json".split(" ")),
	);
	deepEqual(Object.keys(person), ["id", "email", "kind", "link", "isMailed"]);
	deepEqual(
		{ ...person, id: "", link: "" },
		{ id: "", email: "a@shop.example", kind: "shop", link: "", isMailed: false },
	);

	const programme = onlyJson(
		await home.runHere([
			...programmeArgs({ "--owner": "A@shop.example", "--currency": "eur" }),
			...["--commission-fixed", "1.00", "--fee-fixed", "0.25", "--event-rates", "LEAD: 5.00 EUR, fee 0"],
			"--no-parking",
			"--json",
		]),
	);
	deepEqual({ ...programme, id: "" }, { id: "", name: "Shop" });

	deepEqual(
		readRow(home, "select person_id, subject from audit_entries where action = 'programme.created'"),
		{ person_id: null, subject: programme["id"] },
		"as from the page",
	);

	const issue = ["key", "issue", "--programme", String(programme["id"]), "--json"];
	const [first, second] = [onlyJson(await home.runHere(issue)), onlyJson(await home.runHere(issue))];
	deepEqual(Object.keys(first), ["id", "name", "key", "right", "secret"]);
	match(String(first["secret"]), /^rbs_/);
	equal(second["secret"], null);

	const stored = readEverything(home);
	match(stored, /a@shop\.example/);
	equal(stored.includes(String(first["key"]).slice(4)), false);
	equal(stored.includes(String(first["secret"]).slice(4)), false);
	equal(stored.includes(String(person["link"]).split("/").at(-1) ?? ""), false);
	deepEqual(
		readRow(
			home,
			"select parks_pixels, commission_rate, fee_rate, event_rates, approval_days, currency from programmes",
		),
		{
			currency: "EUR",
			parks_pixels: 0,
			commission_rate: "8.0000+1.00",
			fee_rate: "2.0000+0.25",
			event_rates: "LEAD=0+5.00 0",
			approval_days: 30,
		},
	);
});

test("user link replaces the old link by a new one with the public address", async (t) => {
	const home = await openMigratedHome(t);
	const settings = { PUBLIC_URL: "https://ringback.example" };
	const made = onlyJson(await home.runHere([...userArgs("a@shop.example"), "--json"], settings));
	const renewed = onlyJson(
		await home.runHere(["user", "link", "--email", "A@shop.example", "--json"], settings),
	);
	match(String(renewed["link"]), /^https:\/\/ringback\.example\/welcome\/[0-9a-f]{64}$/);
	equal(renewed["link"] === made["link"], false);
	deepEqual(readRow(home, "select count(*) as links from sign_in_links"), { links: 1 });
});

test("user link lets staff past the company's sign-in only if it is asked to, and never mails the link", async (t) => {
	const home = await openMigratedHome(t);
	const settings = {
		PUBLIC_URL: "https://ringback.example",
		SMTP_URL: "smtp://127.0.0.1:1",
		MAIL_FROM: "ringback@network.example",
		RINGBACK_OIDC_ISSUER: "https://login.network.example",
		RINGBACK_OIDC_CLIENT_ID: "ringback",
		RINGBACK_OIDC_CLIENT_SECRET: "a secret of the client",
		RINGBACK_OIDC_STAFF: "required",
	};
	const created = await home.runHere(userArgs("sam@network.example", "staff"), settings);
	match(
		onlyOutput(created),
		/It is being mailed, too\. After that, they sign in with the company's account\.$/m,
	);
	const mails = "select count(*) as mails from mail_queue";
	const before = readRow(home, mails);
	const link = ["user", "link", "--email", "sam@network.example"];
	const refused = await home.runHere(link, settings);
	deepEqual([refused.code, refused.stdout], [1, ""]);
	match(refused.stderr, /must sign in with the company's account.*with --bypass-company-sign-in\.$/m);
	const made = onlyOutput(await home.runHere([...link, "--bypass-company-sign-in"], settings));
	match(
		made,
		/^The link to choose a password, .* not mailed.* lets them in once without the company's account\.$/m,
	);
	match(made, /^https:\/\/ringback\.example\/welcome\/[0-9a-f]{64}$/m);
	deepEqual(readRow(home, mails), before);
	await home.runHere(userArgs("a@shop.example"), settings);
	const ofShop = onlyOutput(await home.runHere(["user", "link", "--email", "a@shop.example"], settings));
	match(ofShop, /not mailed, so hand it over yourself\.$/m);
});

const REFUSALS: readonly [title: string, args: readonly string[], error: string, detail: RegExp][] = [
	["a bad e-mail", userArgs("owner at shop"), "invalid_email", /"owner at shop" is not an email address/],
	[
		"an e-mail with a letter nobody sees",
		userArgs("owner\u200b@shop.example"),
		"invalid_email",
		/not an email/,
	],
	[
		"an e-mail that would pass for a link",
		userArgs("a.example/pay@b.example"),
		"invalid_email",
		/not an email/,
	],
	["a taken e-mail", userArgs("OWNER@shop.example"), "email_taken", /already has an account/],
	[
		"a link for nobody",
		["user", "link", "--email", "b@shop.example"],
		"unknown_person",
		/There is no account with the email/,
	],
	["an unknown kind", userArgs("x@shop.example", "king"), "unknown_kind", /"shop" .* or "staff"/],
	[
		"an unknown owner",
		programmeArgs({ "--owner": "nobody@shop.example" }),
		"unknown_person",
		/ringback user create --email nobody@shop\.example --kind shop/,
	],
	[
		"staff as an owner",
		programmeArgs({ "--owner": "staff@network.example" }),
		"email_taken",
		/staff@network\.example is one of the network's staff, and staff cannot own a programme/,
	],
	["a bad currency", programmeArgs({ "--currency": "euro" }), "unknown_currency", /EURO/],
	["a bad rate", programmeArgs({ "--commission": "eight" }), "invalid_rate", /commission/],
	[
		"a bad fixed amount",
		[...programmeArgs({}), "--commission-fixed", "0.001"],
		"amount_too_precise",
		/The fixed amount has too many decimals/,
	],
	[
		"a rate for an unknown event type",
		[...programmeArgs({}), "--event-rates", "LEADS: 5.00 EUR, fee 0"],
		"unknown_event_type",
		/“LEADS” is not an event type/,
	],
	["bad days", programmeArgs({ "--approval-days": "1.5" }), "invalid_days", /from 0 to 3,650/],
	["an unknown programme", ["key", "issue", "--programme", "prg_x"], "unknown_programme", /prg_x/],
];

test("a refusal exits with 1, says why in a sentence or as JSON, and creates nothing", async (t) => {
	const home = await openMigratedHome(t);
	equal((await home.runHere(userArgs("owner@shop.example"))).code, 0);
	equal((await home.runHere(userArgs("staff@network.example", "staff"))).code, 0);
	const before = readEverything(home);
	for (const [index, [title, args, error, detail]] of REFUSALS.entries()) {
		// Only one case runs as a separate process, to check the exit code and standard error.
		const run = index === 0 ? home.run : home.runHere;
		await t.test(title, async () => {
			const [text, json] = [await run(args), await run([...args, "--json"])];
			deepEqual([text.code, json.code], [1, 1]);
			equal(text.stdout, "");
			match(text.stderr, detail);
			match(text.stderr, /^[^\n]+[.\w]\n$/, "one line");
			equal(hasStack(text), false);
			equal(json.stderr, "");
			const { error: code, detail: sentence } = JSON.parse(json.stdout) as Record<string, unknown>;
			equal(code, error);
			equal(`${sentence}\n`, text.stderr, "the same sentence both ways");
		});
	}
	equal(readEverything(home), before);
});

test("a second ringback migrate has nothing to do", async (t) => {
	const home = openHome(t);
	const first = await home.runHere(["migrate"]);
	match(first.stdout, /^Applied first schema\b.*now at version \d+\.\n$/);
	match(first.stderr, /^first schema: done; .* version 1\n/);
	match(
		onlyOutput(await home.runHere(["migrate"])),
		/^The schema is current \(version \d+\); nothing to do\.\n$/,
	);
	const { version, applied } = onlyJson(await home.runHere(["migrate", "--json"]));
	equal(typeof version, "number");
	deepEqual(applied, []);
});

function userArgs(email: string, kind = "shop"): string[] {
	return ["user", "create", "--email", email, "--kind", kind];
}

function programmeArgs(change: Partial<typeof PROGRAMME> = {}): string[] {
	return ["programme", "create", ...Object.entries({ ...PROGRAMME, ...change }).flat()];
}

function onlyOutput(ended: Ended): string {
	deepEqual({ code: ended.code, stderr: ended.stderr }, { code: 0, stderr: "" });
	return ended.stdout;
}

function onlyJson(ended: Ended): Record<string, unknown> {
	const stdout = onlyOutput(ended);
	equal(stdout.trimEnd().split("\n").length, 1, "one JSON object");
	return JSON.parse(stdout) as Record<string, unknown>;
}

function readEverything(home: Home): string {
	using database = new DatabaseSync(home.databasePath, { readOnly: true });
	const tables = database.prepare("select name from sqlite_master where type = 'table' order by name").all();
	return JSON.stringify(tables.map(({ name }) => database.prepare(`select * from ${name}`).all()));
}

function readRow(home: Home, sql: string): object {
	using database = new DatabaseSync(home.databasePath, { readOnly: true });
	return { ...database.prepare(sql).get() };
}
