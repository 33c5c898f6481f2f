// Tests `ringback doctor` before anything exists, in a healthy installation, and with one fault at a time.

import { deepEqual, equal, match, ok } from "node:assert/strict";
import { once } from "node:events";
import { existsSync, readdirSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { DatabaseSync } from "node:sqlite";
import { describe, type TestContext, test } from "node:test";
import { createServer } from "node:tls";
import { sql } from "kysely";
import { DAY_MS } from "#core/domain/time.ts";
import { saveChore, saveProcess } from "#core/store/queries/system.ts";
import { MIGRATIONS } from "#core/store/schema/migrations.ts";
import { makeCertificates } from "../../demo/certificate.ts";
import { START_MS } from "../support/clock.ts";
import { type Home, openHome, type Settings } from "../support/command-home.ts";
import { startIdentityProvider } from "../support/identity-provider.ts";
import { type MailServer, startMailServer } from "../support/mail-server.ts";
import { prepareDatabase } from "../support/prepare-database.ts";
import { createTestDatabase, type DatabaseKind } from "../support/test-database.ts";
import { checkForbidden, emptyPostgres, examine, KEY, PASSWORD, withNames } from "./doctor-setup.ts";

describe("ringback doctor", { concurrency: 2 }, () => {
	test("before the first start doctor says how the database is created, and creates nothing", async (t) => {
		const home = openHome(t);
		const ended = await home.run(["doctor"], await withNames(t, "example.com"));
		equal(ended.code, 0);
		match(ended.stdout, /^ok +settings /m);
		match(ended.stdout, /^ok +dns /m);
		match(
			ended.stdout,
			/^WARNING +database +there is no database .*ringback\.db yet: `ringback serve` makes it$/m,
		);
		deepEqual(readdirSync(home.folder), []);
	});

	for (const kind of ["SQLite", "PostgreSQL"] as const) {
		test(`on an empty ${kind} database doctor says how to migrate it, and changes nothing`, async (t) => {
			const home = openHome(t);
			const settings = await withNames(t, "example.com");
			if (kind === "SQLite") fillWithoutTables(home.databasePath);
			else Object.assign(settings, await emptyPostgres(t));
			const findings = await examine(home, settings);
			equal(findings.code, 0);
			match(findings.of("database"), /^ok /);
			match(
				findings.of("schema"),
				/^warning .*version 0,.*Run `ringback migrate`, or start with RINGBACK_MIGRATE=auto/,
			);
			match(findings.of("clock"), /^ok /);
			match((await examine(home, settings)).of("schema"), /version 0/);
			equal(existsSync(`${home.databasePath}.key`), false, "no sealing key was made");
		});
	}

	for (const kind of ["SQLite", "PostgreSQL"] as const) {
		test(`on ${kind} doctor names a chore that is late, with its last error`, async (t) => {
			const { home, database, settings } = await openOn(t, kind);
			await home.runHere(["migrate"], settings);
			match((await examine(home, settings)).of("chores"), /^ok none has begun yet$/);
			const { db } = database.open();
			await saveChore(db, "retention", "done", START_MS);
			for (const error of ["No.", "No space left."]) await saveChore(db, "retention", { error }, START_MS);
			const killed = { instance: "0a1b2c3d", host: "here", role: "all", version: "1.0.0" };
			const times = { started_at_ms: START_MS, seen_at_ms: START_MS };
			const engine = { in_hand: 1, programmes_due: 0, oldest_due_at_ms: null, most_in_flight: 64 };
			await saveProcess(db, { ...killed, ...times, ...engine, mail_failed_at_ms: null, mail_error: null });
			const { code, of } = await examine(home, settings);
			match(
				of("chores"),
				/^warning Records past .*\. The chore retention has been late since .* failed 2 times since\. The last failure says: No space left\. /,
			);
			match(
				of("processes"),
				/^warning No process is running: .*\nwarning A process stopped reporting: all 0a1b2c3d on here\. .* Its programmes wait .* in flight \(at most 64\)/,
			);
			equal(code, 0, "everything else works");
		});
	}

	for (const kind of ["SQLite", "PostgreSQL"] as const) {
		test(`on ${kind} doctor warns of a missing, an old and a failed backup, of this program or another`, async (t) => {
			const { home, database, settings } = await openOn(t, kind);
			await home.runHere(["migrate"], settings);
			const backup = async (change: Settings = {}) =>
				(await examine(home, { ...settings, ...change })).of("backup");
			const record = async (...words: readonly string[]) => {
				const ended = await home.runHere(["record-backup", ...words], settings);
				return `${ended.code} ${ended.stdout}${ended.stderr}`;
			};
			match(await backup(), /^ok none is known yet; a warning follows when the database is 3 days old$/);
			const { db } = database.open();
			await db
				.updateTable("schema_versions")
				.set({ applied_at_ms: Date.now() - 4 * DAY_MS })
				.execute();
			match(await backup(), /^warning The database is 4 days old, and no backup of it is known\. /);
			match(await backup({ RINGBACK_BACKUP_DAYS: "off" }), /^ok none is known, and RINGBACK_BACKUP_DAYS=off/);

			match(await record("failed", "--note", "pg_dump: no space left"), /^0 Recorded: a backup failed at /);
			match(
				await backup(),
				/^warning The backup of .* failed\. None has succeeded yet\. .* words: pg_dump: no space left\. Read/,
			);
			const before = new Date(Date.now() - 3 * DAY_MS - 1).toISOString();
			match(await record("succeeded", "--at", before, "--size", "2000000"), /^0 Recorded: .*, 2 MB\.$/m);
			match(await backup(), /^warning The last backup is 3 days old\. /, "it no longer says that one failed");
			match(await backup({ RINGBACK_BACKUP_DAYS: "4" }), /^ok the last has everything .*, 2 MB$/);
			match(await record("succeeded", "--note", "s3://backups/monday"), /^0 Recorded/);
			match(await backup(), /^ok the last has everything that was stored by /);
			match(await record("succeeded", "--at", before), /^0 A newer backup is recorded already, of /);
			match(await backup(), /^ok the last has everything/);
			await record("failed");
			match(await backup(), /^warning The backup of .* failed\. The last good one is of /);

			for (const [words, refusal] of [
				["done", /^1 RESULT is `succeeded` or `failed`\.$/m],
				["succeeded --at yesterday", /^1 --at takes a time such as /],
				["succeeded --at 2100-01-01", /^1 --at is in the future, because it is /],
				["succeeded --at 2000-01-01", /^1 --at is more than a year ago\. /],
				["succeeded --size 0", /^1 A backup of 0 bytes has nothing in it\. Record it as failed\.$/m],
				["succeeded --size 1MB", /^1 --size is a number of bytes\.$/m],
				[`failed --note ${"x".repeat(201)}`, /^1 --note has at most 200 characters\.$/m],
			] as const) {
				match(await record(...words.split(" ")), refusal);
			}
		});
	}

	test("in a healthy installation doctor says so and exits with 0", async (t) => {
		const home = await openFilledHome(t);
		nameNetwork(home);
		const mail = await withMail(t, PASSWORD);
		const findings = await examine(home, {
			...(await withNames(t, "example.com")),
			...mail.settings,
			PUBLIC_URL: await servePublicUrl(t, { days: 60 }),
		});
		const states = findings.all.map(({ check, state }) => [check, state]);
		const expected = [
			...[
				"settings",
				"database",
				"network",
				"key",
				"clock",
				"certificates",
				"schema",
				"chores",
				"queue",
				"backup",
				"delivery",
			],
		];
		deepEqual(
			// The check of the disk depends on this machine. The check of the processes follows below.
			states.filter(([check]) => check !== "disk" && check !== "processes"),
			[...expected, "dns", "mail"].map((check) => [check, "ok"]),
		);
		match(
			findings.of("processes"),
			/^warning No process is running: .* Start the service: `ringback serve`\.$/,
		);
		equal(findings.code, 0);
		equal(mail.server.mails.length, 0, "nobody was mailed");
	});

	test("doctor says what the network has not chosen yet, and when RINGBACK_BRAND differs from the brand that its shops use", async (t) => {
		const settings = await withNames(t, "example.com");
		const fresh = openHome(t);
		await fresh.runHere(["migrate"], settings);
		const brand = { ...settings, RINGBACK_BRAND: "Acme" };
		match(
			(await examine(fresh, settings)).of("network"),
			/^warning the brand .* is not chosen yet: .*It stays/,
		);
		match((await examine(fresh, brand)).of("network"), /^warning it has no name yet: .*X-Acme-…$/);
		const home = await openFilledHome(t);
		nameNetwork(home);
		match((await examine(home, settings)).of("network"), /^ok Acme Partners; headers are named X-Service-…$/);
		const other = await examine(home, brand);
		match(
			other.of("network"),
			/^problem RINGBACK_BRAND is not Service, .*Set it to Service, or remove it\.$/,
		);
		equal(other.code, 1);
	});

	test("doctor says that callbacks are held, since when and how many wait", async (t) => {
		const home = await openFilledHome(t);
		const settings = await withNames(t, "example.com");
		match((await examine(home, settings)).of("delivery"), /^ok callbacks are not held/);
		using database = new DatabaseSync(home.databasePath);
		database.exec(`insert into delivery_pause (one, since_ms) values (1, ${START_MS})`);
		const findings = await examine(home, settings);
		equal(findings.code, 0);
		match(
			findings.of("delivery"),
			/^warning All callbacks have been held since 2026-01-15 12:00 UTC by `ringback hold`, and 0 wait\. /,
		);
	});

	test("doctor says when certificates end, and whether PUBLIC_URL could be reached for it", async (t) => {
		const home = await openFilledHome(t);
		const names = await withNames(t, "example.com");
		const examineWith = async (publicUrl: string) =>
			(await examine(home, { ...names, PUBLIC_URL: publicUrl })).of("certificates");
		match(
			await examineWith(await servePublicUrl(t, { days: 60 })),
			/^ok the one of 127\.0\.0\.1 \(PUBLIC_URL\) ends in \d+ days, at /,
		);
		match(
			await examineWith(await servePublicUrl(t, { days: 0.1 })),
			/^warning The certificate of 127\.0\.0\.1 \(PUBLIC_URL\) ends at .* Renew it where HTTPS ends/,
		);
		match(
			await examineWith("https://127.0.0.1:1"),
			/^ok not checked: this machine does not reach 127\.0\.0\.1 \(PUBLIC_URL\), which says ECONNREFUSED$/,
		);
	});

	test("doctor reports a failed name look-up as a remark, because a network may only resolve its shops' names", async (t) => {
		const home = await openFilledHome(t);
		const findings = await examine(home, await withNames(t));
		equal(findings.code, 0);
		match(findings.of("dns"), /^warning example\.com .*ENOTFOUND.*their callbacks fail until DNS works$/);
	});

	test("doctor says whose settings it has checked", async (t) => {
		const home = await openFilledHome(t);
		const names = await withNames(t, "example.com");
		const findings = await examine(home, names);
		match(
			findings.of("settings"),
			/These are set in the environment of this command: RINGBACK_METRICS_ADDRESS, DATABASE_URL, RINGBACK_DNS_SERVERS\.$/,
		);
		match(findings.of("mail"), /^warning Mail is off\. .*\(By the settings of this command, see above\.\)$/);
	});

	test("doctor reports a mail server that refuses the login, without the password", async (t) => {
		const home = await openFilledHome(t);
		const mail = await withMail(t, "another");
		const findings = await examine(home, { ...(await withNames(t, "example.com")), ...mail.settings });
		equal(findings.code, 1);
		match(findings.of("mail"), /^problem the mail server refused: .*535/);
	});

	test("doctor asks the identity provider to describe itself, and names the address to register there", async (t) => {
		const home = await openFilledHome(t);
		const provider = await startIdentityProvider();
		t.after(() => provider.close());
		const settings = {
			...(await withNames(t, "example.com")),
			...provider.settings,
			RINGBACK_OIDC_CLIENT_SECRET: PASSWORD,
			PUBLIC_URL: "https://ringback.example",
		};
		const down = await examine(home, { ...settings, RINGBACK_OIDC_STAFF: "required" });
		equal(down.code, 1);
		match(
			down.of("provider"),
			/^problem http:.* Staff cannot sign in .*`ringback user link --bypass-company-sign-in`.*Check RINGBACK/,
		);
		provider.register("https://ringback.example/sign-in/company/return");
		const up = await examine(home, settings);
		equal(up.code, 0);
		match(
			up.of("provider"),
			/^ok http:\/\/127\.0\.0\.1:\d+ answers\. It must know https:\/\/ringback\.example\/sign-in\/company\/return as/,
		);
		const otherName = { RINGBACK_OIDC_ISSUER: provider.issuer.replace("127.0.0.1", "localhost") };
		const other = await examine(home, { ...settings, ...otherName });
		match(
			other.of("provider"),
			/^problem .*issuer does not match.* People cannot sign in with the company's/,
		);
	});

	test("doctor reports a PostgreSQL that does not answer, without its password", async (t) => {
		const ended = await openHome(t).runHere(["doctor"], {
			DATABASE_URL: `postgres://ringback:${PASSWORD}@localhost:1/ringback`,
			RINGBACK_SECRET_KEY: KEY,
		});
		checkForbidden(ended);
		equal(ended.code, 1);
		match(ended.stdout, /^PROBLEM +database +.*ECONNREFUSED.*Check DATABASE_URL/m);
	});

	test("doctor reports a secret key that does not open the database's secrets", async (t) => {
		const home = await openFilledHome(t);
		const findings = await examine(home, {
			...(await withNames(t, "example.com")),
			RINGBACK_SECRET_KEY: KEY,
		});
		equal(findings.code, 1);
		match(findings.of("settings"), /^problem RINGBACK_SECRET_KEY is not the key .*Set the right one/);
		equal(JSON.stringify(findings.all).includes("DATABASE_URL"), false, "the database is not to blame");
	});

	test("doctor reports a schema of a newer program", async (t) => {
		const home = await openFilledHome(t);
		using database = new DatabaseSync(home.databasePath);
		database.exec("insert into schema_versions values (99, 'from the future', 99, 0)");
		const findings = await examine(home, await withNames(t, "example.com"));
		equal(findings.code, 1, "it would not start");
		match(findings.of("schema"), /^problem .*newer Ringback/);
	});

	for (const kind of ["SQLite", "PostgreSQL"] as const) {
		test(`on an older or newer schema doctor says what serve says, and reads no other table (${kind})`, async (t) => {
			const { home, database, settings } = await openOn(t, kind);
			const store = database.open();
			await store.migrate(START_MS);
			for (const table of ["chores", "network", "signing_secrets"])
				await sql`drop table ${sql.table(table)}`.execute(store.db);
			const [present] = await store.db.deleteFrom("schema_versions").returningAll().execute();
			const older = await examine(home, settings);
			equal(older.code, 0, "the start migrates it");
			match(
				older.of("schema"),
				new RegExp(
					`^warning .* version 0, but this program needs version ${MIGRATIONS.length}\\. Run \`ringback migrate\``,
				),
			);
			match(older.of("database"), /^ok /);
			await checkRefusal(
				{ ...settings, RINGBACK_MIGRATE: "check" },
				new RegExp(
					`version 0, and this Ringback needs ${MIGRATIONS.length}\\. Run \`ringback migrate\` first`,
				),
			);

			ok(present !== undefined);
			await store.db
				.insertInto("schema_versions")
				.values({ ...present, version: 99, oldest_program: 99 })
				.execute();
			await checkRefusal(
				settings,
				/needs a Ringback that knows version 99 or later; .*Start a newer Ringback/,
			);

			async function checkRefusal(given: Settings, expected: RegExp): Promise<void> {
				const found = await examine(home, given);
				equal(found.code, 1, "it would not start");
				const [, sentence = ""] = /^problem (.*)$/m.exec(found.of("schema")) ?? [];
				match(sentence, expected);
				const served = await home.runHere(["serve"], { ...given, PORT: "0" });
				deepEqual([served.code, served.stderr.trim()], [1, sentence]);
			}
		});
	}
});

/** Opens a migrated database with a signing secret that is sealed with the key of the key file. */
async function openFilledHome(t: TestContext): Promise<Home> {
	const home = openHome(t);
	await prepareDatabase({ DATABASE_URL: `sqlite:${home.databasePath}` });
	return home;
}

function nameNetwork({ databasePath }: Home): void {
	using database = new DatabaseSync(databasePath);
	database.exec("update network set name = 'Acme Partners'");
}

/** Starts a mail server that accepts the user "me" with `password`. The settings use PASSWORD. */
async function withMail(
	t: TestContext,
	password: string,
): Promise<{ server: MailServer; settings: Settings }> {
	const server = await startMailServer(Date.now, { username: "me", password });
	t.after(() => server.goAway());
	const url = server.url.replace("//", `//me:${PASSWORD}@`);
	return { server, settings: { SMTP_URL: url, MAIL_FROM: "rb@network.example" } };
}

/** Opens a database that is not migrated yet. */
async function openOn(t: TestContext, kind: DatabaseKind) {
	const database = await createTestDatabase(kind);
	t.after(() => database.remove());
	const settings = {
		...(await withNames(t, "example.com")),
		DATABASE_URL: kind === "SQLite" ? `sqlite:${database.location}` : database.location,
		RINGBACK_SECRET_KEY: KEY,
	};
	return { home: openHome(t), database, settings };
}

/** Serves HTTPS with a certificate that ends in `days`, and returns its address. */
async function servePublicUrl(t: TestContext, { days }: { days: number }): Promise<string> {
	const notAfter = new Date(Date.now() + days * DAY_MS);
	const { certPem, keyPem } = await makeCertificates({ names: ["127.0.0.1"], notAfter });
	const server = createServer({ cert: certPem, key: keyPem }, (socket) =>
		socket.on("error", () => undefined),
	);
	server.listen(0, "127.0.0.1");
	await once(server, "listening");
	t.after(() => server.close());
	return `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Creates a SQLite file that has been opened, but not migrated. */
function fillWithoutTables(path: string): void {
	using database = new DatabaseSync(path);
	database.exec("pragma journal_mode = wal");
}
