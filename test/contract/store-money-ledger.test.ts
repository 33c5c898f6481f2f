// Tests the rules that entries, statements and payments must follow, on both databases. Nobody can change an entry or a
// statement. If a row was changed in spite of that, the rule that it breaks finds it.

import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { before, test } from "node:test";
import { sql } from "kysely";
import type { Db } from "#core/store/store.ts";
import { adjustAccount } from "#modules/accounts/use-cases/adjust.ts";
import { payStatements } from "#modules/accounts/use-cases/payments.ts";
import { NOVEMBER_MS, openNetwork } from "#modules/accounts/use-cases/statements.test-support.ts";
import { checkLedger } from "../../src/service/check-ledger.ts";
import { eachDatabase } from "../support/databases.ts";

const OPEN = "(select max(entry_id) from open_entries)";
/** The conversion whose entry is in the paid statement. */
const SOLD = "(select max(conversion_id) from entries where amount = '40.00')";
const PAID = "(select id from statements where number = '2026-0001')";
const CARRIED = "(select id from statements where number = '2026-0002')";
const INSERT_ENTRY =
	"insert into entries (partner_id, programme_id, conversion_id, kind, amount, currency, at_ms)";
const OPEN_COLUMNS = "partner_id, programme_id, kind, amount, currency, at_ms";
const OPEN_AGAIN = `insert into open_entries (entry_id, ${OPEN_COLUMNS}) select id, ${OPEN_COLUMNS} from entries`;
const OPEN_LAST = `${OPEN_AGAIN} where id = (select max(id) from entries)`;

/** Statements that break each rule, with the expected problem. */
const BREAKS: readonly [problem: RegExp, title: string, ...statements: string[]][] = [
	[
		/^conversions have entries that do not add up/,
		"an approval has no entry",
		`delete from open_entries where entry_id = ${OPEN}`,
		"delete from entries where id = (select max(id) from entries where kind = 'EARNED')",
	],
	[
		/^conversions have entries that do not add up/,
		"a reversal was counted twice",
		`${INSERT_ENTRY} select partner_id, programme_id, conversion_id, 'CHANGED', '-40.00', currency, at_ms from entries
			where conversion_id = ${SOLD}`,
		OPEN_LAST,
	],
	[
		/^conversions have entries that do not add up/,
		"an approved conversion was rejected without an entry",
		`update conversions set status = 'REJECTED' where id = ${SOLD}`,
	],
	[
		/^conversions have entries that do not add up/,
		"a test conversion has an entry",
		`update conversions set test = 1 where id = ${SOLD}`,
	],
	[
		/^entries are in the account of a partner/,
		"an entry is in another partner's account",
		`update entries set partner_id = (select max(id) from partners) where conversion_id = ${SOLD}`,
	],
	[/^entries belong to no partner/, "a partner is gone", "delete from partners where name = 'Other'"],
	[/^entries belong to no partner/, "a conversion is gone", `delete from conversions where id = ${SOLD}`],
	[
		/^entries are neither open nor in a statement/,
		"an entry is not open",
		`delete from open_entries where entry_id = ${OPEN}`,
	],
	[
		/^entries are open and in a statement/,
		"an entry of a statement is still open",
		`${OPEN_AGAIN} where id in (select entry_id from statement_entries where statement_id = ${PAID})`,
	],
	[
		/^open entries differ from their entry/,
		"an open entry has another currency",
		`update open_entries set currency = 'USD' where entry_id = ${OPEN}`,
	],
	[
		/^open entries differ from their entry/,
		"an open entry has another amount",
		`update open_entries set amount = '3.01' where entry_id = ${OPEN}`,
	],
	[/^open entries differ from their entry/, "a payment is open", `${OPEN_AGAIN} where kind = 'PAID'`],
	[
		/^entries of statements belong to another partner/,
		"an entry is in another partner's statement",
		`update statement_entries set statement_id = ${CARRIED} where statement_id = ${PAID}`,
	],
	[
		/^entries of statements belong to another partner/,
		"an entry is in the statement under another partner",
		`update statement_entries set partner_id = (select max(id) from partners) where statement_id = ${PAID}`,
	],
	[
		/^entries of statements belong to another partner/,
		"a statement does not reach to its last entry",
		`update statements set first_entry_id = 0, last_entry_id = 0 where id = ${PAID}`,
	],
	[
		/^statements have amounts that are not those of their entries/,
		"a statement lost its entries",
		`delete from statement_entries where statement_id = ${PAID}`,
	],
	[
		/^statements have amounts that are not those of their entries/,
		"a statement was changed after its issue",
		`update statements set earned = '41.00', total = '41.00' where id = ${PAID}`,
	],
	[
		/^statements have lines that do not add up/,
		"a line of a statement is missing",
		`delete from statement_lines where statement_id = ${PAID}`,
	],
	[
		/^statements have another total/,
		"a total was changed",
		`update statements set total = '39.99' where id = ${PAID}`,
	],
	[
		/^statements have another total/,
		"nothing is to be paid",
		`update statements set is_carried = 0, earned = '0.00', adjusted = '0.00', total = '0.00' where id = ${CARRIED}`,
	],
	[
		/^statements do not start with what was carried forward/,
		"an opening balance was made up",
		`update statements set opening = '1.00', total = '41.00' where id = ${PAID}`,
	],
	[
		/^statements have a number that was never given/,
		"a number does not agree with its position",
		`update statements set number = '2026-0009' where id = ${PAID}`,
	],
	[
		/^statements have a number that was never given/,
		"the counter is behind",
		"update statement_numbers set last = 1 where year = 2026",
	],
	[
		/^years have gaps in the numbers/,
		"a number was given to no statement",
		"update statement_numbers set last = 3 where year = 2026",
	],
	[
		/^payments do not have the entry that pays/,
		"a payment has no entry",
		`update payments set entry_id = 999999 where statement_id = ${PAID}`,
	],
	[
		/^payments do not have the entry that pays/,
		"a statement that was carried forward is paid",
		`insert into payments (statement_id, entry_id, paid_on, reference, at_ms) values (${CARRIED}, 1, '2026-11-02', '', 0)`,
	],
	[
		/^statements are to be paid and are not listed so/,
		"a paid statement is listed as unpaid",
		`insert into unpaid_statements (statement_id) select ${PAID}`,
	],
	[
		/^statements are to be paid and are not listed so/,
		"an unpaid statement is not listed",
		`delete from payments where statement_id = ${PAID}`,
		"delete from unpaid_statements",
	],
	[
		/^entries of payments do not add up/,
		"a payment was removed without an entry",
		`delete from payments where statement_id = ${PAID}`,
	],
	[
		/^entries of payments do not add up/,
		"a statement was paid twice",
		`insert into entries (partner_id, kind, amount, currency, statement_id, at_ms)
			select partner_id, kind, amount, currency, statement_id, at_ms from entries where kind = 'PAID'`,
	],
];

class RollBack extends Error {}

eachDatabase("the ledger of money", (database) => {
	before(async () => {
		const network = await openNetwork(database.store);
		await network.setNetwork({ minimum_payouts: "EUR 25.00" });
		const programme = await network.addProgramme("EUR");
		const blog = await network.join(programme, await network.addPartner("Blog"));
		const other = await network.addPartner("Other");
		await network.approve(await network.sell(blog, "40.00"));
		const bonus = { currency: "EUR", amount: "2.00", reason: "bonus" };
		ok((await adjustAccount(network.deps, network.staff, other.id, bonus)).ok);
		await network.clock.moveTo(NOVEMBER_MS);
		await network.issue(await network.prepare("2026-10"));
		const [first] = await network.statements();
		const payment = { date: "2026-11-02", reference: "" };
		const id = first?.public_id ?? "";
		const paidWithoutDetails = [id];
		ok((await payStatements(network.deps, network.staff, [id], payment, { paidWithoutDetails })).ok);
		await network.approve(await network.sell(blog, "3.00"));
		deepEqual(await network.brokenRules(), []);
	});

	for (const table of ["entries", "statements"]) {
		test(`rows of ${table} can be neither changed nor deleted`, async () => {
			const { db } = database.store;
			await rejects(sql`update ${sql.table(table)} set currency = 'USD'`.execute(db), /append-only/);
			await rejects(sql`delete from ${sql.table(table)}`.execute(db), /append-only/);
		});
	}

	/** Values that an erasure may write, by table and column. */
	const REMOVED: Readonly<Record<string, Readonly<Record<string, string>>>> = {
		entries: { reason: "'erased'", sub_1: "null", sub_2: "null", sub_3: "null" },
		statements: { sealed_parties: "''" },
	};
	/** A column that takes any value, because it is sealed again when the sealing key is replaced. */
	const SEALED = "sealed_parties";

	for (const [table, removed] of Object.entries(REMOVED)) {
		test(`an erasure may remove texts of ${table}, and no other column takes another value`, async () => {
			const { db } = database.store;
			const tables = await db.introspection.getTables();
			const columns = tables.find(({ name }) => name === table)?.columns ?? [];
			ok(columns.length > Object.keys(removed).length);
			for (const { name, dataType } of columns) {
				if (name === SEALED) continue;
				const isText = /text|varchar/i.test(dataType);
				const other = isText ? "'other'" : "987654";
				await rejects(update(db, table, name, other), /append-only/, name);
				if (isText && removed[name] !== "''")
					await rejects(update(db, table, name, "''"), /append-only/, name);
			}
			const work = database.store.transact(async (trx) => {
				for (const [name, value] of Object.entries(removed)) await update(trx, table, name, value);
				deepEqual((await checkLedger({ db: trx })).broken, []);
				throw new RollBack();
			});
			await rejects(work, RollBack);
		});
	}

	const update = (db: Db, table: string, column: string, value: string) =>
		sql`update ${sql.table(table)} set ${sql.ref(column)} = ${sql.raw(value)}`.execute(db);

	test("an entry cannot be in two statements", async () => {
		const { db } = database.store;
		const again = sql`insert into statement_entries (partner_id, entry_id, statement_id)
			select partner_id, entry_id, statement_id + 1 from statement_entries`;
		await rejects(again.execute(db), /unique/i);
	});

	for (const [problem, title, ...statements] of BREAKS) {
		test(`a broken rule is reported if ${title}`, async () => {
			const found = await checkAfter(statements);
			const broken = found.find((rule) => problem.test(rule.problem));
			ok(broken !== undefined && broken.count > 0, JSON.stringify(found));
			equal(broken.examples.length, broken.count);
		});
	}

	/** Runs the statements without the triggers, checks the ledger, and rolls everything back. */
	async function checkAfter(statements: readonly string[]) {
		let broken: Awaited<ReturnType<typeof checkLedger>>["broken"] = [];
		const work = database.store.transact(async (trx) => {
			await dropTriggers(trx);
			for (const statement of statements) await sql.raw(statement).execute(trx);
			({ broken } = await checkLedger({ db: trx }));
			throw new RollBack();
		});
		await rejects(work, RollBack);
		return broken;
	}

	async function dropTriggers(trx: Db): Promise<void> {
		const names = database.kind === "SQLite" ? ["update", "delete"] : ["changes"];
		for (const [table, actions] of [
			["entries", [...names, "texts"]],
			["statements", names],
		] as const) {
			for (const action of actions) {
				const on = database.kind === "SQLite" ? "" : ` on ${table}`;
				await sql.raw(`drop trigger ${table}_refuse_${action}${on}`).execute(trx);
			}
		}
	}
});
