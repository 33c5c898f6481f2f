// Tests that databases which an earlier version has filled reach the current schema with every row, on both databases.
// Checks of what a migration does to old rows stand here, one test for each migration.

import { deepEqual, match, ok, rejects } from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { sql } from "kysely";
import { recordConversion } from "../../src/conversions/record.ts";
import { EVENT_TYPES } from "../../src/domain/conversion.ts";
import { findCommission } from "../../src/domain/rate.ts";
import { createRandom } from "../../src/outside/random.ts";
import { checkLedger } from "../../src/service/check-ledger.ts";
import { commissionsOf } from "../../src/store/queries/credits.ts";
import { changeCommission, lockPartnership } from "../../src/store/queries/partners.ts";
import {
	findProgrammesById,
	lockProgramme,
	ratesOf,
	updateTerms,
} from "../../src/store/queries/programmes.ts";
import { readSystem } from "../../src/store/queries/system.ts";
import { MIGRATIONS } from "../../src/store/schema/migrations.ts";
import type { Store } from "../../src/store/store.ts";
import { assignAsShown } from "../support/assign-partner.ts";
import { createClock, START_MS } from "../support/clock.ts";
import { createKeptDatabase, type KeptState, readKeptState } from "../support/kept-state.ts";
import { addPerson, signInAs } from "../support/signed-in.ts";
import type { TestDatabase } from "../support/sqlite-database.ts";
import { DATABASE_KINDS } from "../support/test-database.ts";

/** Columns, written "table.column", that a migration gives another value. Each has a test of its own below. */
const CHANGED: readonly string[] = ["partnerships.event_rates"];
/** Tables in which a migration inserts rows. */
const EXTENDED: readonly string[] = ["audit_entries"];

for (const kind of DATABASE_KINDS) {
	describe(`a database of version 1 after all migrations (${kind})`, () => {
		const state: KeptState = readKeptState(1);
		let database: TestDatabase;
		let store: Store;
		before(async () => {
			database = await createKeptDatabase(kind, state);
			store = database.open();
			await store.migrate(START_MS);
		});
		after(() => database.remove());

		test("it has the current version", async () => {
			const versions = store.db.selectFrom("schema_versions").select("version").orderBy("version");
			const rows = await versions.execute();
			deepEqual(
				rows.map(({ version }) => version),
				MIGRATIONS.map((_migration, index) => index + 1),
			);
		});

		test("it has every row, and only the columns that a migration changes have other values", async () => {
			for (const [table, { columns, rows }] of Object.entries(state.tables)) {
				const kept = columns.filter((column) => !CHANGED.includes(`${table}.${column}`));
				const refs = sql.join(kept.map((column) => sql.ref(column)));
				const query = sql<Record<string, unknown>>`select ${refs} from ${sql.table(table)}`;
				const found = await query.execute(store.db);
				const expected = rows.map((row) =>
					JSON.stringify(kept.map((column) => row[columns.indexOf(column)])),
				);
				const actual = found.rows.map((row) => JSON.stringify(kept.map((column) => row[column])));
				const present = EXTENDED.includes(table) ? actual.filter((row) => expected.includes(row)) : actual;
				deepEqual(present.sort(), expected.sort(), table);
			}
		});

		test("each partner earns the same for each event type, and staff read which commissions were written out", async () => {
			const { columns, rows } = state.tables["partnerships"] ?? { columns: [], rows: [] };
			const partnerships = await store.db.selectFrom("partnerships").selectAll().orderBy("id").execute();
			const programmes = await findProgrammesById(store.db, [1, 4]);
			for (const own of partnerships) {
				const programme = programmes.get(own.programme_id);
				ok(programme);
				const rates = ratesOf(programme);
				const event_rates = String(rows.find(([id]) => id === own.id)?.[columns.indexOf("event_rates")]);
				const before = commissionsOf({ ...own, event_rates }, programme.currency);
				const now = commissionsOf(own, programme.currency);
				for (const type of EVENT_TYPES) {
					// In version 1 the general commission of a partnership went before the programme's for an event type.
					const usual = rates.byType[type]?.commission ?? rates.commission;
					const expected = before.byType[type] ?? before.commission ?? usual;
					deepEqual(findCommission(rates, now, type).rate, expected, `${own.id} ${type}`);
				}
			}
			deepEqual(
				partnerships.map(({ id, event_rates }) => [id, event_rates]),
				[
					[1, "LEAD=0+5.00;RENEWAL=12.5000+0.50"],
					[2, "LEAD=0+5.00;RENEWAL=12.5000+0.50"],
					[3, "LEAD=7.5000;RENEWAL=7.5000"],
					[4, ""],
					[5, ""],
					[6, "LEAD=12.0000"],
				],
			);
			const entries = store.db.selectFrom("audit_entries").selectAll().orderBy("id", "desc").limit(4);
			const noted = (await entries.execute()).toReversed();
			deepEqual(
				noted.map(({ subject, action, programme_id, person_id }) => [
					subject,
					action,
					programme_id,
					person_id,
				]),
				[1, 2, 3, 6].map((id) => {
					const own = partnerships.find((one) => one.id === id);
					return [own?.public_id, "partnership.changed", own?.programme_id, null];
				}),
			);
			match(noted[3]?.detail ?? "", /^Uferpost; the upgrade wrote its commission out for event types/);
		});

		test("no backup is known until one is recorded, by the previous version or this one", async () => {
			const { backups, createdAtMs } = await readSystem(store.db, START_MS);
			deepEqual([backups, createdAtMs], [{ last: null, failed: null }, START_MS]);
			// The previous version records a backup like this.
			const network = store.db.updateTable("network");
			await network.set({ backed_up_at_ms: START_MS }).execute();
			const { last } = (await readSystem(store.db, START_MS)).backups;
			deepEqual(last, { atMs: START_MS, bytes: null, note: null });
			await network.set({ backed_up_at_ms: null }).execute();
		});

		test("nobody was erased, texts of old entries can be removed, and their amounts cannot be changed", async () => {
			const { db } = store;
			const erased = (table: "people" | "partners") =>
				db.selectFrom(table).select("public_id").where("erased_at_ms", "is not", null).execute();
			deepEqual([...(await erased("people")), ...(await erased("partners"))], []);
			const adjustment = sql`kind = 'ADJUSTED'`;
			await rejects(sql`update entries set amount = '0.00' where ${adjustment}`.execute(db), /append-only/);
			await rejects(sql`update entries set reason = 'other' where ${adjustment}`.execute(db), /append-only/);
			await rejects(sql`delete from statements`.execute(db), /append-only/);
			const work = store.transact(async (trx) => {
				await sql`update entries set reason = 'erased' where ${adjustment}`.execute(trx);
				await sql`update statements set sealed_parties = ''`.execute(trx);
				const reasons = trx.selectFrom("entries").select("reason").where("kind", "=", "ADJUSTED").distinct();
				deepEqual(await reasons.execute(), [{ reason: "erased" }]);
				throw new Error("roll back");
			});
			await rejects(work, /roll back/);
		});

		test("the statements that are to be paid are listed, and paid ones and those carried forward are not", async () => {
			const valuesOf = (table: string, ...names: string[]) => {
				const { columns = [], rows = [] } = state.tables[table] ?? {};
				return rows.map((row) => names.map((name) => Number(row[columns.indexOf(name)])));
			};
			const paid = new Set(valuesOf("payments", "statement_id").flat());
			const expected = valuesOf("statements", "id", "is_carried").flatMap(([id = 0, isCarried]) =>
				isCarried === 0 && !paid.has(id) ? [id] : [],
			);
			ok(expected.length > 0 && paid.size > 0);
			const listed = await store.db.selectFrom("unpaid_statements").select("statement_id").execute();
			const ids = listed.map(({ statement_id }) => statement_id);
			deepEqual(ids.toSorted(), expected.toSorted());
		});

		test("the ledger has no rule broken that was not broken before", async () => {
			deepEqual((await checkLedger(store)).broken, state.broken);
		});

		test("sales that came before keep their rates when their partner changes, and charge the fee of the upgrade if nobody brought them", async () => {
			// The database notes the present rates at its own time, so the test goes on after that.
			const clock = createClock(Date.UTC(2090, 0));
			const deps = { store, clock, random: createRandom() };
			const staff = await signInAs(store, await addPerson(store, "staff"));
			await store.transact(async (trx) => {
				const programme = await lockProgramme(trx, 4);
				ok(programme);
				const change = { commission_rate: "20.0000", fee_rate: "7.0000", event_rates: "LEAD=0+9.00 0+3.00" };
				await updateTerms(trx, programme, change, clock.nowMs());
				const partnership = await lockPartnership(trx, { id: 6 });
				ok(partnership);
				await changeCommission(
					trx,
					partnership,
					{ commission_rate: "50.0000", event_rates: "" },
					clock.nowMs(),
				);
			});
			await clock.moveBy(1);
			const assign = async (orderId: string, partner: string) => {
				const { public_id } = await store.db
					.selectFrom("conversions")
					.select("public_id")
					.where("order_id", "=", orderId)
					.executeTakeFirstOrThrow();
				const assigned = await assignAsShown(deps, staff, public_id, { partner, reason: "a mistake" });
				ok(assigned.ok, JSON.stringify(assigned));
				return [assigned.value.commission, assigned.value.network_fee];
			};
			// A third of L-1 was refunded.
			deepEqual(await assign("L-1", "Uferpost"), ["8.00", "1.33"]);
			deepEqual(await assign("L-1", ""), ["0.00", "0.00"]);
			deepEqual(await assign("L-1", "Waldweg"), ["6.33", "1.33"]);
			deepEqual(await assign("L-2", "Waldweg"), ["9.00", "2.00"]);
			deepEqual(await assign("L-2", "Uferpost"), ["12.00", "2.00"]);
			deepEqual(await assign("L-3", "Waldweg"), ["9.00", "2.00"], "nobody had it");
			deepEqual(await assign("L-3", "Uferpost"), ["12.00", "2.00"]);
			deepEqual(await assign("L-4", "Waldweg"), ["5.00", "1.00"], "a lead");
			deepEqual(await assign("L-4", "Uferpost"), ["12.00", "1.00"]);
			const programme = (await findProgrammesById(store.db, [4])).get(4);
			ok(programme);
			const sale = { orderId: "L-7", eventType: "SALE", basketValue: "40.00", occurredAtMs: null } as const;
			const report = { ...sale, source: "postback", isTest: false } as const;
			const confirmed = await store.transact((trx) => recordConversion(trx, deps, programme, report));
			ok(confirmed.ok && confirmed.value.outcome === "CONFIRMED");
			deepEqual(await assign("L-7", "Waldweg"), ["8.00", "2.80"], "the rates of its confirmation");
		});
	});
}
