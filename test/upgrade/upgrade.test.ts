// Tests that databases which an earlier version has filled reach the current schema with every row, on both databases.
// Checks of what a migration does to old rows stand here, one test for each migration.

import { deepEqual, match, ok, rejects } from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { sql } from "kysely";
import { judgeSending } from "#core/callbacks/judge-sending.ts";
import { recordConversion } from "#core/conversions/record.ts";
import { EVENT_TYPES } from "#core/domain/conversion.ts";
import { findCommission } from "#core/domain/rate.ts";
import { ALL_EVENTS, type ReceiverId } from "#core/domain/receiver.ts";
import { insertLocalAnswers, storeListener } from "#core/store/queries/local-answers.ts";
import { findProgrammesById, lockProgramme, ratesOf, updateTerms } from "#core/store/queries/programmes.ts";
import { lockPartnerReceiver, presentEndpoint, setEndpoint } from "#core/store/queries/receivers.ts";
import { readSystem } from "#core/store/queries/system.ts";
import { MIGRATIONS } from "#core/store/schema/migrations.ts";
import type { Db, Store } from "#core/store/store.ts";
import { commissionsOf } from "#modules/partners/store/credits.ts";
import { changeCommission, lockPartnership } from "#modules/partners/store/partnerships.ts";
import { CHANGES } from "../../src/modules.ts";
import { createRandom } from "../../src/outside/random.ts";
import { checkLedger } from "../../src/service/check-ledger.ts";
import { assignAsShown } from "../support/assign-partner.ts";
import { createClock, START_MS } from "../support/clock.ts";
import { createKeptDatabase, type KeptState, readKeptState } from "../support/kept-state.ts";
import { takeOne } from "../support/queue-rows.ts";
import { addPerson, signInAs } from "../support/signed-in.ts";
import type { TestDatabase } from "../support/sqlite-database.ts";
import { DATABASE_KINDS } from "../support/test-database.ts";
import { until } from "../support/until.ts";

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
			const deps = { store, clock, random: createRandom(), changes: CHANGES };
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

	test(`a partner that listened without a URL has no endpoint after the upgrade, and may save a URL (${kind})`, async (t) => {
		const database = await createKeptDatabase(kind, readKeptState(1));
		t.after(() => database.remove());
		const store = database.open();
		const { db } = store;
		await migrateToListening(store);
		const others = await readReceivers(db);
		const endpoints = db.selectFrom("endpoints").selectAll().orderBy("id");
		const saved = await endpoints.execute();
		const listener = await addListener(db);
		// Another partner has a URL now, and listened before.
		const [called] = others.filter(({ kind: whose }) => whose === "partner");
		ok(called);
		await sql`insert into endpoints (id, receiver_id, url, form, saved_at_ms)
			values (901, ${called.id}, '', 'listen', 1)`.execute(db);
		const [shop] = others.filter(({ kind: whose }) => whose === "shop");
		ok(shop);
		await addAnswer(db, shop.id);

		await store.migrate(START_MS);
		const receivers = await readReceivers(db);
		deepEqual(
			receivers.filter(({ id }) => id !== listener.id),
			others,
		);
		deepEqual(
			receivers.find(({ id }) => id === listener.id),
			{
				...listener,
				endpoint_id: null,
				endpoint_epoch: listener.endpoint_epoch + 1,
			},
		);
		deepEqual(await endpoints.execute(), saved, "a URL that was removed stays, and listening had none");
		for (const table of ["listeners", "local_answers"] as const) {
			deepEqual(
				await db.selectFrom(table).select("receiver_id").execute(),
				[{ receiver_id: shop.id }],
				table,
			);
		}
		const entries = db.selectFrom("audit_entries").selectAll().where("action", "=", "partner.url_removed");
		deepEqual(
			(await entries.execute()).map(({ subject, person_id, detail }) => [subject, person_id, detail]),
			[[LISTENER_ID, null, "listening without a URL, which the upgrade ended"]],
		);
		const listening = sql`insert into endpoints (receiver_id, url, form, saved_at_ms)
			values (${listener.id}, '', 'listen', 1)`;
		await rejects(listening.execute(db), /an endpoint has a URL|endpoints_form_check/);

		const delivery = await takeOne(store, listener.id, START_MS);
		const unread = { endpointEpoch: listener.endpoint_epoch + 1, target: null, readAtMs: 0, learnedAtMs: 0 };
		deepEqual(judgeSending(unread, delivery, START_MS, true), { kind: "cancel" });
		const endpoint = { url: "https://tracker.example/", form: "json", events: ALL_EVENTS } as const;
		await store.transact(async (trx) => {
			const receiver = await lockPartnerReceiver(trx, LISTENING_PARTNER);
			ok(receiver);
			await setEndpoint(trx, receiver, endpoint, START_MS);
		});
		deepEqual(await presentEndpoint(db, listener.id), endpoint);
	});

	if (kind === "PostgreSQL") {
		test("a choice to listen that is stored while the upgrade begins is ended, too (PostgreSQL)", async (t) => {
			const database = await createKeptDatabase(kind, readKeptState(1));
			t.after(() => database.remove());
			const [previous, store] = [database.open(), database.open()];
			await migrateToListening(store);
			const { migrating } = await previous.transact(async (trx) => {
				await addListener(trx);
				const begun = store.migrate(START_MS);
				// The choice is stored as soon as the migration waits for it.
				await until(async () => {
					const { rows } = await sql`select 1 from pg_locks where locktype = 'relation' and not granted
						and database = (select oid from pg_database where datname = current_database())`.execute(trx);
					return rows.length > 0;
				});
				return { migrating: begun };
			});
			await migrating;
			const [listener] = (await readReceivers(store.db)).filter(
				({ partner_id }) => partner_id === LISTENING_PARTNER,
			);
			deepEqual([listener?.endpoint_id, listener?.endpoint_epoch], [null, 4]);
			const forms = await store.db.selectFrom("endpoints").select("form").distinct().execute();
			deepEqual(forms, [{ form: "json" }]);
		});
	}

	test(`an erasure of a partner that was in progress begins its round again after the upgrade (${kind})`, async (t) => {
		const database = await createKeptDatabase(kind, readKeptState(1));
		t.after(() => database.remove());
		const store = database.open();
		const { db } = store;
		await migrateToListening(store);
		const add = (publicId: string, whose: "person" | "partner", finishedAtMs: number | null) =>
			sql`insert into erasures (kind, subject_id, public_id, erased_at_ms, round, step, position, finished_at_ms)
				values (${whose}, 1, ${publicId}, 1, 2, 7, '90', ${finishedAtMs})`.execute(db);
		await add("done", "partner", 1);
		await add("in progress", "partner", null);
		await add("of a person", "person", null);
		await store.migrate(START_MS);
		const erasures = db
			.selectFrom("erasures")
			.select(["public_id", "round", "step", "position"])
			.orderBy("id");
		deepEqual(
			(await erasures.execute()).map((row) => Object.values(row)),
			[
				["done", 2, 7, "90"],
				["in progress", 2, 0, ""],
				["of a person", 2, 7, "90"],
			],
		);
	});
}

/** Brings a database to the last schema in which a partner could listen without a URL. */
async function migrateToListening(store: Store): Promise<void> {
	const last = MIGRATIONS.findIndex(({ name }) => name === "endpoints with URLs only");
	await store.migrate(START_MS, { migrations: MIGRATIONS.slice(0, last) });
}

/** A partner of the kept state without a receiver. */
const LISTENING_PARTNER = 5;
const LISTENER_ID = "ptn_01M7RWPWEYHETAFRC9V7H0CW03";

function readReceivers(db: Db) {
	return db.selectFrom("receivers").selectAll().orderBy("id").execute();
}

/** Adds the rows that the previous version wrote when a partner listened without a URL and had a test callback. */
async function addListener(db: Db) {
	const inserted = sql<{ id: ReceiverId }>`insert into receivers (kind, partner_id, endpoint_epoch)
		values ('partner', ${LISTENING_PARTNER}, 3) returning id`;
	const [{ id } = { id: 0 as ReceiverId }] = (await inserted.execute(db)).rows;
	await sql`insert into endpoints (id, receiver_id, url, form, saved_at_ms) values (900, ${id}, '', 'listen', 1)`.execute(
		db,
	);
	await sql`update receivers set endpoint_id = 900 where id = ${id}`.execute(db);
	await sql`insert into events (id, public_id, receiver_id, name, body, created_at_ms)
		values (900, 'dlv_listened', ${id}, 'conversion.recorded', '{}', 1)`.execute(db);
	await sql`insert into queue (id, receiver_id, due_at_ms, endpoint_epoch, run, counted, seq)
		values (900, ${id}, 1, 3, 1, 0, 0)`.execute(db);
	await addAnswer(db, id);
	return db.selectFrom("receivers").selectAll().where("id", "=", id).executeTakeFirstOrThrow();
}

async function addAnswer(db: Db, receiverId: ReceiverId): Promise<void> {
	await storeListener(db, receiverId, START_MS);
	const answer = { conversionId: "cnv_1", event: "conversion.recorded", outcome: "verified" } as const;
	await insertLocalAnswers(
		db,
		receiverId,
		[{ ...answer, httpStatus: null, code: null, tookMs: null }],
		START_MS,
	);
}
