// Follows the pages after a restore, as staff do: a backup is made, statements are issued and paid, the backup is restored,
// and nothing is offered for payment a second time before somebody has confirmed that payments were compared.

import { deepEqual, doesNotMatch, equal, match, ok } from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { sql } from "kysely";
import { COMMAND_LINE } from "#core/people/actor.ts";
import { findUncompared, recordRestore } from "#core/store/queries/restores.ts";
import { readSystem } from "#core/store/queries/system.ts";
import { recordRestoreIn } from "#core/store/sqlite/file.ts";
import type { Store } from "#core/store/store.ts";
import { createTestSite, type TestSite } from "#core/web/test-site.test-support.ts";
import { confirmCompared } from "#modules/accounts/use-cases/compared-payments.ts";
import { savePaymentDetails } from "#modules/accounts/use-cases/payment-details.ts";
import { earn, issueMonth, workOff } from "#modules/accounts/web/issued-statements.test-support.ts";
import { findJob } from "#modules/jobs/store/jobs.ts";
import { startJob } from "#modules/jobs/use-cases/job.ts";
import { fileOf } from "#modules/jobs/use-cases/jobs.test-support.ts";
import { jobResult } from "#modules/jobs/use-cases/lines.ts";
import { uploadFile } from "#modules/jobs/use-cases/make-job.ts";
import { PAYMENTS } from "#modules/jobs/use-cases/payments.ts";
import { addCreditingProgramme, addPartner, join } from "#modules/partners/web/partner-shop.test-support.ts";
import { realClock } from "../../src/outside/clock.ts";
import { backUpSqlite } from "../../src/service/backup.ts";
import { restoreSqlite } from "../../src/service/restore.ts";
import { findWarnings } from "../../src/watch/checks.ts";
import { openHome } from "../support/command-home.ts";
import { createKeptDatabase, readKeptState } from "../support/kept-state.ts";
import { SOUND_STATE } from "../support/metrics-deps.ts";
import { createDatabase, dropDatabase } from "../support/postgres.ts";
import {
	createMigratedDatabase,
	DATABASE_KINDS,
	type DatabaseKind,
	openStore,
} from "../support/test-database.ts";
import "../support/quick-passphrases.ts";

const PARTNERS = 5;
const MONTH = "2026-02";
const STAFF = "sam@network.example";
const KEY = new Uint8Array(32).fill(7);
const KEYS = { secretKey: KEY, formerSecretKey: null };
const tell = (): void => undefined;

/** Returns the text of a page without its markup. */
const plain = (text: string): string =>
	text
		.replace(/<[^>]*>/g, " ")
		.replaceAll("&#39;", "'")
		.replace(/\s+/g, " ");

interface Restored {
	/** The restored database. */
	store: Store;
	/** The payout file that was sent to the bank before the loss, with its day of payment. */
	paidFile: string;
}

/** Backs up, issues and pays statements, loses the database and restores the backup. */
async function loseAndRestore(t: TestContext, kind: DatabaseKind): Promise<Restored> {
	const original = await createMigratedDatabase(kind);
	t.after(() => original.remove());
	const first = openStore(kind, original.location);
	const site = createTestSite(first);
	await site.addStaff(STAFF);
	const programme = await addCreditingProgramme(site, "Nordlicht");
	for (let n = 1; n <= PARTNERS; n++) {
		const { partner } = await addPartner(site, `Blog ${n}`);
		await earn(site, await join(site, programme, partner), `${n}0.00`);
		const details = {
			payee: partner.name,
			address: "",
			country: "",
			vatId: "",
			iban: "",
			bic: "",
			account: `${n}`,
		};
		ok((await savePaymentDetails(site.deps, COMMAND_LINE, partner.id, details)).ok);
	}
	await first.close();

	const home = openHome(t);
	if (kind === "SQLite") {
		const path = `${home.folder}/one.backup`;
		const request = { path, passphrase: null, mayOverwrite: false, tell };
		await backUpSqlite({ ...KEYS, databasePath: original.location }, request);
		const paidFile = await issueAndPay(openStore(kind, original.location));
		const readPassphrase = async () => "";
		await restoreSqlite(KEYS, { path, to: home.databasePath, mayReplace: false, readPassphrase, tell });
		const restored = openStore(kind, home.databasePath);
		t.after(() => restored.close());
		return { store: restored, paidFile };
	}
	// A copy of the database stands for a dump.
	const admin = new URL(original.location);
	const [name, copy] = [admin.pathname.slice(1), `${admin.pathname.slice(1)}_dump`];
	admin.pathname = "/postgres";
	const url = await createDatabase(admin.href, copy, name);
	const paidFile = await issueAndPay(openStore(kind, original.location));
	const settings = { DATABASE_URL: url, RINGBACK_SECRET_KEY: Buffer.from(KEY).toString("hex") };
	const recorded = await home.runHere(["record-restore", "--at", "2026-03-01 02:30"], settings);
	equal(recorded.code, 0, recorded.stderr);
	match(
		recorded.stdout,
		/^PAYMENTS that were recorded after 2026-03-01T02:30:00\.000Z are not known any more\./m,
	);
	match(
		recorded.stdout,
		/^People and partners who were erased after 2026-03-01T02:30:00\.000Z are here again\./m,
	);
	const store = openStore(kind, url);
	t.after(async () => {
		await store.close();
		await dropDatabase(admin.href, copy);
	});
	return { store, paidFile };
}

/** Issues the month and pays everything. Returns the payout file with a day of payment. */
async function issueAndPay(store: Store): Promise<string> {
	const site = createTestSite(store);
	const staff = await site.signIn({ email: STAFF });
	equal((await issueMonth(site, MONTH)).length, PARTNERS);
	const file = await staff.open("/statements/payouts.csv");
	const [head = "", ...lines] = file.text
		.replace(/^\uFEFF/, "")
		.trimEnd()
		.split("\r\n");
	equal(lines.length, PARTNERS);
	const dated = [`${head},date`, ...lines.map((line) => `${line},2026-03-01`)].join("\n");
	const ids = [...(await staff.open("/statements")).text.matchAll(/name="statement" value="([^"]+)"/g)];
	for (const [, statement = ""] of ids) {
		const paid = await staff.submit("/statements/pay", { statement, date: "2026-03-01", reference: "" });
		equal(paid.status, 303, paid.text);
	}
	await store.close();
	return dated;
}

/** Uploads a file of payments and applies it. Returns its lines with what became of them. */
async function upload(site: TestSite, text: string): Promise<string> {
	const file = fileOf(text, "bank.csv");
	const job = await uploadFile(site.deps, PAYMENTS, { actor: COMMAND_LINE }, file);
	ok(job.ok, JSON.stringify(job));
	await workOff(site);
	const found = await findJob(site.store.db, null, job.value.public_id);
	ok(found);
	await startJob(site.deps, found, COMMAND_LINE, false);
	await workOff(site);
	const done = await findJob(site.store.db, null, job.value.public_id);
	ok(done);
	return (await Array.fromAsync(jobResult(site.store.db, done, false))).join("");
}

for (const kind of DATABASE_KINDS) {
	test(`after a restore, nothing is in a payout file again before payments were compared (${kind})`, async (t) => {
		const { store, paidFile } = await loseAndRestore(t, kind);
		const site = createTestSite(store);
		const staff = await site.signIn({ email: STAFF });
		ok((await findUncompared(store.db)) !== null, "the restored database knows of its restore");
		const reading = await readSystem(store.db, site.deps.clock.nowMs());
		const warned = findWarnings({ ...SOUND_STATE, uncompared: reading.uncompared });
		ok(warned.some((warning) => warning.kind === "payments_unknown"));

		const empty = plain((await staff.open("/statements")).text);
		match(empty, /Compare payments with the bank/);
		match(empty, /Payments that were recorded after the backup are not known here/);
		const prepared = await staff.submit("/statements/prepare", { month: MONTH });
		await workOff(site);
		const job = prepared.location ?? "";
		match(plain((await staff.open(job)).text), /Statements of this month may have been issued before/);
		await staff.submit(`${job}/apply`, {});
		await workOff(site);

		const listed = await staff.open("/statements");
		equal(
			listed.text.match(/name="statement"/g)?.length,
			PARTNERS,
			"all of them look as if they had to be paid",
		);
		doesNotMatch(listed.text, /href="\/statements\/payouts\.csv/, "but no payout file is offered");
		const refused = await staff.open("/statements/payouts.csv");
		equal(refused.status, 409);
		doesNotMatch(refused.headers.get("content-type") ?? "", /csv/);
		match(plain(refused.text), /payments that were recorded after .* are not known here/);

		const [, statement = ""] = /name="statement" value="([^"]+)"/.exec(listed.text) ?? [];
		const payment = { statement, date: "2026-03-01", reference: "" };
		const unseen = await staff.submit("/statements/pay", payment);
		equal(unseen.status, 409);
		match(plain(unseen.text), /may have been paid already. Find the payments on the bank's list/);
		equal((await staff.submit("/statements/pay", { ...payment, seenAtBank: "on" })).status, 303);
		const [entry] = (await site.audit("statement.paid")).slice(-1);
		match(entry?.detail ?? "", /found on the bank's list after a restore$/);

		match(plain((await staff.open("/statements/payments")).text), /The database was restored\./);
		const [head = "", ...lines] = paidFile.split("\n");
		const cells = (line: string) => line.split(",");
		const at = (name: string) => cells(head).indexOf(name);
		const numbers = lines.map((line) => `${cells(line)[at("number")]},2026-03-01`);
		match(
			await upload(site, ["number,date", ...numbers].join("\n")),
			/this number may belong to another statement now/,
		);
		const swapped = lines.map((line, index) => {
			const other = [...cells(line)];
			other[at("partnerId")] = cells(lines[(index + 1) % lines.length] ?? "")[at("partnerId")] ?? "";
			return other.join(",");
		});
		match(await upload(site, [head, ...swapped].join("\n")), /Look for that partner's statement\./);
		equal((await site.audit("statement.paid")).length, 1, "neither file paid anything");
		await upload(site, paidFile);
		equal((await site.audit("statement.paid")).length, PARTNERS);

		equal((await staff.open("/statements/payouts.csv")).status, 409, "comparing alone is not confirming");
		const unconfirmed = await staff.submit("/statements/compared", { lastId: "1" });
		match(plain(unconfirmed.text), /Compare the payments with the bank first. Then tick the box/);
		const [, lastId = ""] = /name="lastId" value="(\d+)"/.exec((await staff.open("/statements")).text) ?? [];
		const confirmed = await staff.submit("/statements/compared", { lastId, compared: "on" });
		equal(confirmed.status, 303, confirmed.text);
		equal((await site.audit("payments.compared")).length, 1);
		equal(await findUncompared(store.db), null);
		doesNotMatch((await staff.open("/statements")).text, /Compare payments with the bank/);
		const file = await staff.open("/statements/payouts.csv");
		equal(file.status, 200);
		deepEqual(file.text.trimEnd().split("\r\n").length, 1, "nothing is paid a second time");
	});
}

test("a restored backup of an earlier schema knows of its restore after the migration", async (t) => {
	const database = await createKeptDatabase("SQLite", readKeptState(1));
	t.after(() => database.remove());
	const path = `${openHome(t).folder}/old.db`;
	await sql`vacuum into ${path}`.execute(database.open().db);
	recordRestoreIn(path, { asOfMs: 1_000, restoredAtMs: 2_000 });
	const store = openStore("SQLite", path);
	await store.migrate(3_000);
	deepEqual(await findUncompared(store.db), { asOfMs: 1_000, restoredAtMs: 2_000, lastId: 1 });
	// A second restore before the comparison: payments are unknown since the earlier backup.
	await store.transact((trx) => recordRestore(trx, { asOfMs: 500, restoredAtMs: 4_000 }));
	deepEqual(await findUncompared(store.db), { asOfMs: 500, restoredAtMs: 4_000, lastId: 2 });
	const deps = { store, clock: { ...realClock, nowMs: () => 5_000 } };
	ok((await confirmCompared(deps, COMMAND_LINE, 1, true)).ok);
	equal(
		(await findUncompared(store.db))?.lastId,
		2,
		"a confirmation does not cover a restore that nobody saw",
	);
	await store.close();
});
