// Tests erasures on both databases. The databases are filled with an odd word wherever somebody can enter a text, and every
// column of every table is searched for it afterwards.

import { deepEqual, equal, match, ok } from "node:assert/strict";
import { before, test } from "node:test";
import { DAY_MS } from "#core/domain/time.ts";
import { COMMAND_LINE } from "#core/people/actor.ts";
import { findPersonById } from "#core/store/queries/people.ts";
import { addToProgramme } from "#core/store/queries/programme-people.ts";
import { pruneAccess, pruneLog, pruneMails } from "#core/store/queries/prune.ts";
import type { Store } from "#core/store/store.ts";
import { PASSWORD } from "#core/web/test-site.test-support.ts";
import { workOffJobs } from "#modules/jobs/use-cases/work.ts";
import { pruneApplications, pruneSaleNews } from "#modules/partners/store/partner-prune.ts";
import { findErasure } from "#modules/personal-data/store/erasures.ts";
import { erasePartner } from "#modules/personal-data/use-cases/erase-partner.ts";
import { erasePerson } from "#modules/personal-data/use-cases/erase-person.ts";
import { SECOND_ROUND_AFTER_MS, workOffErasures } from "#modules/personal-data/use-cases/erasure-work.ts";
import { eraseOldStatements } from "#modules/personal-data/use-cases/statement-texts.ts";
import { checkLedger } from "../../src/service/check-ledger.ts";
import { eachDatabase } from "../support/databases.ts";
import {
	EMAIL,
	type FilledNetwork,
	fillNetwork,
	NAME,
	ODD,
	ODD_ADDRESS,
	OTHER_EMAILS,
} from "./filled-network.ts";
import { findColumnsWith, readTables } from "./odd-columns.ts";
import { columnsOf, listedColumns } from "./text-columns.ts";

const NEVER = () => false;
/** Columns that only an erasure fills. */
const NOT_BEFORE = new Set(["erasures.sealed_words"]);

eachDatabase("the erasure of a partner", (database) => {
	let filled: FilledNetwork;
	const find = () => findColumnsWith(database.store, filled.site.deps.keyRing, [ODD, ODD_ADDRESS]);
	const workOff = () => workOffErasures(filled.site.deps, NEVER);

	before(async () => {
		filled = await fillNetwork(database.store);
	});

	test("every text column is listed with what an erasure does to it", async () => {
		for (const { name, columns } of await readTables(database.store.db)) {
			const texts = columns
				.filter(({ dataType }) => /text|char/i.test(dataType))
				.map((column) => column.name);
			deepEqual(listedColumns(name).toSorted(), texts.toSorted(), name);
		}
	});

	test("the network is filled: each column that people can enter something into contains the word", async () => {
		const filledColumns = columnsOf("erased", "legal", "passing", "log");
		deepEqual(new Set(await find()), new Set(filledColumns).difference(NOT_BEFORE));
	});

	test("after the erasure only what the law or a short retention keeps contains it, and no amount has changed", async () => {
		const sums = await readAmounts(database.store);
		const erased = await erasePartner(filled.site.deps, COMMAND_LINE, filled.partner.public_id);
		ok(erased.ok, JSON.stringify(erased));
		deepEqual(
			erased.value.people.map(({ public_id }) => public_id),
			[filled.person.public_id],
		);
		await workOff();
		const [first] = [await findErasure(database.store.db, filled.partner.public_id)];
		deepEqual([first?.round, first?.finished_at_ms], [2, null]);
		filled.site.moveClock(SECOND_ROUND_AFTER_MS);
		await workOff();
		deepEqual(await find(), columnsOf("legal", "passing", "log"));
		deepEqual(await readAmounts(database.store), sums);
		deepEqual((await checkLedger(database.store)).broken, []);
		const finished = await findErasure(database.store.db, filled.partner.public_id);
		deepEqual([finished?.sealed_words, finished?.due_at_ms], [null, null]);
		ok(finished?.finished_at_ms);
	});

	test("the audit log says who erased whom by their IDs, and amounts stay in it", async () => {
		const { db } = database.store;
		const entries = await db.selectFrom("audit_entries").selectAll().orderBy("id").execute();
		const withAction = (action: string) => entries.filter((entry) => entry.action === action);
		deepEqual(
			[...withAction("person.erased"), ...withAction("partner.erased")].map(({ subject, detail }) => [
				subject,
				detail,
			]),
			[
				[filled.person.public_id, null],
				[filled.partner.public_id, null],
			],
		);
		const label = `erased person ${filled.person.public_id}`;
		deepEqual(
			withAction("address.changed").map(({ subject, detail, address }) => [subject, detail, address]),
			[[label, `${label} → ${label}`, null]],
		);
		deepEqual(
			withAction("statement.issued").map(({ detail }) => detail),
			["erased partner: 45.00 EUR"],
		);
		deepEqual(
			withAction("account.adjusted").map(({ detail }) => detail),
			["erased partner: 5.00 EUR", "erased partner: 1.00 EUR", "erased partner: -1.00 EUR"],
		);
	});

	test("nobody signs in, the link does not exist any more, and the API token is refused", async () => {
		const browser = filled.site.browser();
		await browser.open("/sign-in");
		const refused = await browser.submit("/sign-in", { email: EMAIL, password: PASSWORD });
		equal(refused.status, 401);
		const page = await filled.browser.open(`/partner/${filled.partner.public_id}/earnings`);
		match(page.location ?? "", /^\/sign-in/, "the session has ended");
		equal((await browser.open("/c/zorblax-old")).status, 404);
		const call = { headers: { authorization: `Bearer ${filled.token}` } };
		equal((await browser.send("/v1/partner/links", call)).status, 401);
	});

	test("pages that name the erased partner and person still open", async () => {
		const { staff, partner, programme, sale, person } = filled;
		const base = `/partner/${partner.public_id}`;
		const statement = await database.store.db
			.selectFrom("statements")
			.select("public_id")
			.executeTakeFirstOrThrow();
		const shown: readonly [path: string, text: RegExp][] = [
			["/system/audit", /erased person usr_/],
			["/system/audit.csv", /erased partner/],
			["/conversions", /cnv_/],
			[`/programmes/${programme.public_id}/conversions/${sale.public_id}`, /erased partner/],
			[`/programmes/${programme.public_id}/partners`, /erased partner/],
			[`/programmes/${programme.public_id}/partners/${filled.partnership.public_id}`, /erased partner/],
			["/statements", /erased partner/],
			[`${base}/earnings`, /This partner was erased\. Its account and its statements stay\./],
			[`${base}/conversions`, /40\.00/],
			[`${base}/conversions/export.csv`, /40\.00/],
			[`${base}/statements`, /2026-0001/],
			[`${base}/statements/${statement.public_id}`, /Zorblax street 1/],
			[`${base}/statements/${statement.public_id}/sales.csv`, /Zorblax-3/],
			[`${base}/entries`, /erased/],
			[`${base}/personal-data`, /Erased partner/],
			[`/system/personal-data/${person.public_id}`, /Erased person/],
			["/system/personal-data", new RegExp(partner.public_id)],
			["/partners?archived=yes", /erased partner/],
			["/import/links", /links of erased partner\.csv/],
		];
		for (const [path, text] of shown) {
			const page = await staff.open(path);
			equal(page.status, 200, `${path}: ${page.status} ${page.location}`);
			match(page.text, text, path);
		}
		for (const gone of ["links", "payment-details", "callbacks", "people", "api", "programmes", "archive"]) {
			const page = await staff.open(`${base}/${gone}`);
			deepEqual([page.status, page.location], [303, `${base}/earnings`], gone);
		}
	});

	test("an erased partner and an erased person cannot be changed any more", async () => {
		const { staff, partner, partnership, programme, person } = filled;
		const base = `/partner/${partner.public_id}`;
		const account = { ...{ payee: "New", iban: "DE89370400440532013000" }, currentPassword: PASSWORD };
		const forms: readonly [path: string, fields: Record<string, string>][] = [
			[`${base}/earnings/name`, { name: "New", site: "" }],
			[`${base}/people/invite`, { email: "new@blog.example" }],
			[`${base}/payment-details`, account],
			[`${base}/payment-details/vat`, { vatPercent: "", vatNote: "New" }],
			[`${base}/api`, { name: "New", right: "", days: "", currentPassword: PASSWORD }],
			[`${base}/callbacks/url`, { postbackUrl: "https://new.example/", form: "json", recorded: "on" }],
			[`${base}/personal-data/erase`, { currentPassword: PASSWORD }],
			[`/programmes/${programme.public_id}/partners/${partnership.public_id}`, { codes: "NEW" }],
			[`/system/personal-data/${person.public_id}/erase`, { currentPassword: PASSWORD }],
		];
		for (const [path, fields] of forms) {
			const answer = await staff.submit(path, fields);
			ok(answer.status >= 400 && answer.status < 500, `${path}: ${answer.status} ${answer.location}`);
			match(answer.text, /was erased/, path);
		}
		const resumed = await staff.submit(`${base}/archive/resume`, {});
		match(
			(await staff.open(resumed.location ?? "")).text,
			/This partner was erased, so nothing can be changed/,
		);
		const isAllowed = new Set(columnsOf("legal", "passing", "log"));
		deepEqual(
			(await find()).filter((column) => !isAllowed.has(column)),
			[],
		);
		const { db } = database.store;
		equal(
			(await db.selectFrom("people").selectAll().where("email", "=", "new@blog.example").execute()).length,
			0,
		);
		equal((await db.selectFrom("partners").select("name").execute())[0]?.name, "erased partner");
	});

	test("mails and files are gone some days later, and the inbound log after its retention", async () => {
		const { site } = filled;
		site.moveClock(8 * DAY_MS);
		const nowMs = () => site.deps.clock.nowMs();
		await pruneMails(database.store, nowMs());
		await pruneSaleNews(database.store, nowMs());
		await pruneAccess(database.store, nowMs());
		await pruneApplications(database.store, nowMs());
		await workOffJobs(site.deps, NEVER);
		deepEqual(await find(), columnsOf("legal", "log"));
		site.moveClock(180 * DAY_MS);
		await pruneLog("inbound_calls", database.store, site.deps.clock, nowMs() - 180 * DAY_MS, NEVER);
		deepEqual(await find(), columnsOf("legal"));
	});

	test("issued statements lose parties and texts when the legal period has ended, and not before", async () => {
		const { site } = filled;
		const sums = await readAmounts(database.store);
		const moveTo = (atMs: number) => site.moveClock(atMs - site.deps.clock.nowMs());
		const erase = () => eraseOldStatements(site.deps, 10, NEVER);
		moveTo(Date.UTC(2036, 11, 31, 23, 59, 59));
		equal(await erase(), 0);
		deepEqual(await find(), columnsOf("legal"));
		moveTo(Date.UTC(2037, 0, 1));
		equal(await erase(), 1);
		equal(await erase(), 0, "once");
		deepEqual(await find(), []);
		deepEqual(await readAmounts(database.store), sums);
		deepEqual((await checkLedger(database.store)).broken, []);
		const staff = await site.signIn({ email: "sam@network.example" });
		const statement = await database.store.db
			.selectFrom("statements")
			.select("public_id")
			.executeTakeFirstOrThrow();
		const path = `/partner/${filled.partner.public_id}/statements/${statement.public_id}`;
		const page = await staff.open(path);
		equal(page.status, 200, page.text);
		match(page.text, /The names and addresses of both parties were removed/);
		match((await staff.open(`${path}/sales.csv`)).text, /40\.00/);
		equal((await staff.open("/statements/payouts.csv")).status, 200);
	});
});

eachDatabase("the erasure of a person", (database) => {
	let filled: FilledNetwork;
	const words = [EMAIL, ...OTHER_EMAILS, NAME, ODD_ADDRESS, `${ODD}Browser`];
	const find = () => findColumnsWith(database.store, filled.site.deps.keyRing, words);

	before(async () => {
		filled = await fillNetwork(database.store);
		await addToProgramme(database.store.db, filled.programme.id, filled.person.id, "developer");
	});

	test("name, addresses and browsers are gone, and what belongs to the partner stays", async () => {
		const { site, person, programme } = filled;
		ok((await find()).length > 10, "they are there before");
		const sums = await readAmounts(database.store);
		const erased = await erasePerson(site.deps, COMMAND_LINE, person.public_id, []);
		ok(erased.ok, JSON.stringify(erased));
		await workOffErasures(site.deps, NEVER);
		site.moveClock(SECOND_ROUND_AFTER_MS);
		await workOffErasures(site.deps, NEVER);
		// The payee is part of the partner's payment details, and of the statement.
		deepEqual(await find(), ["payment_details.sealed", "statements.sealed_parties"]);
		deepEqual(await readAmounts(database.store), sums);
		const stored = await findPersonById(database.store.db, person.id);
		deepEqual(
			[stored?.public_id, stored?.email, stored?.name, stored?.zone],
			[person.public_id, `erased person ${person.public_id}`, "", null],
		);
		const owners = await filled.site.signIn({ email: "olga@shop.example" });
		const people = await owners.open(`/programmes/${programme.public_id}/people`);
		equal(people.text.includes(person.public_id), false);
	});

	test("nothing of the person's account is left in any table but the row itself and what it did", async () => {
		const mayName = new Set(
			[
				"people.id audit_entries.person_id api_tokens.issued_by payment_details.changed_by jobs.person_id",
				"jobs.applied_by sign_in_links.made_by erasures.subject_id signing_secrets.prepared_by",
			].flatMap((list) => list.split(" ")),
		);
		const { db } = database.store;
		for (const { name: table, columns } of await readTables(db)) {
			for (const { name } of columns) {
				if (!/(?:^person_id|_by)$/.test(name) || mayName.has(`${table}.${name}`)) continue;
				const rows = await db
					.selectFrom(table as "sessions")
					.selectAll()
					.where(name as "person_id", "=", filled.person.id)
					.execute();
				deepEqual(rows, [], `${table}.${name}`);
			}
		}
	});
});

/** Returns all amounts, ids and times that the accounts of partners consist of. */
async function readAmounts({ db }: Store): Promise<string[]> {
	const tables = [
		"entries",
		"open_entries",
		"statements",
		"statement_lines",
		"payments",
		"conversions",
	] as const;
	const texts: string[] = [];
	for (const table of tables) {
		const rows = await db
			.selectFrom(table as "entries")
			.selectAll()
			.execute();
		texts.push(
			...rows.map((row) =>
				JSON.stringify([table, ...Object.entries(row).filter(([name]) => !ERASED_COLUMN.test(name))]),
			),
		);
	}
	return texts.toSorted();
}

const ERASED_COLUMN = /^(?:reason|reference|sub_\d|sealed_parties)$/;
