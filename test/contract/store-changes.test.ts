// Tests status changes of conversions on both databases. A set of any size takes the same number of
// statements, each change is stored once, and conversions that another process has changed in the meantime
// stay as they are.

import { deepEqual, equal, rejects } from "node:assert/strict";
import { test } from "node:test";
import { creditStep, MAX_STEPS, makeMoves, type Step } from "../../src/conversions/make-moves.ts";
import type { Status } from "../../src/domain/conversion.ts";
import { NOBODY } from "../../src/domain/credit.ts";
import { createRandom } from "../../src/outside/random.ts";
import {
	type Conversion,
	findByPublicId,
	findManyByPublicId,
	listMoves,
	takeWindowEnded,
} from "../../src/store/queries/conversions.ts";
import type { Programme } from "../../src/store/queries/programmes.ts";
import type { Store } from "../../src/store/store.ts";
import { createClock, START_MS } from "../support/clock.ts";
import { eachDatabase } from "../support/databases.ts";
import { recordQueries } from "../support/query-plan.ts";
import { addConversion, addProgramme, findConversion, newConversion } from "../support/rows.ts";

const PRICED = {
	...{ commission: "50.00", network_fee: "1.00", rates: "50 1", fee_rate: "1" },
	...{ first_partnership_id: null, first_commission: null },
} as const;
const deps = { clock: createClock(), random: createRandom() };

type Kind = keyof typeof KINDS;

/**
 * Every kind of status change, with the status before it, the status after it, and the event that it
 * announces.
 */
const KINDS = {
	record: { from: null, to: "RECORDED", announces: "conversion.recorded" },
	park: { from: null, to: "PARKED", announces: null },
	"record an expired one": { from: "EXPIRED", to: "RECORDED", announces: "conversion.recorded" },
	"confirm a parked one": { from: "PARKED", to: "RECORDED", announces: null },
	"confirm a recorded one": { from: "RECORDED", to: "RECORDED", announces: null },
	credit: { from: "RECORDED", to: "RECORDED", announces: null },
	expire: { from: "PARKED", to: "EXPIRED", announces: null },
	approve: { from: "RECORDED", to: "APPROVED", announces: "conversion.approved" },
	reject: { from: "RECORDED", to: "REJECTED", announces: "conversion.rejected" },
	reverse: { from: "APPROVED", to: "REVERSED", announces: "conversion.reversed" },
} as const;
const ALL_KINDS = Object.keys(KINDS) as readonly Kind[];

async function makeStep(store: Store, { id }: Programme, kind: Kind): Promise<Step> {
	const { from } = KINDS[kind];
	const { status: _, created_at_ms: __, updated_at_ms: ___, ...sale } = newConversion(id);
	if (from === null) return { move: kind === "park" ? "park" : "record", known: null, sale };
	const known = await addConversion(store, id, { status: from, source: "pixel" });
	const by = { decidedBy: "shop", reason: "FRAUD" } as const;
	switch (kind) {
		case "record an expired one":
			return {
				move: "record",
				known: null,
				replaced: known,
				sale: { ...sale, order_id: known.order_id, event_type: known.event_type },
			};
		case "confirm a parked one":
		case "confirm a recorded one":
			return {
				move: "confirm",
				known,
				change: { basket_value: "7.00", confirmed_at_ms: START_MS },
				programId: "",
			};
		case "credit":
			return creditStep({ public_id: "" }, known, NOBODY, PRICED);
		case "expire":
			return { move: "expire", known, change: { window_ends_at_ms: START_MS } };
		case "approve":
			return { move: "approve", known, change: { decided_by: "shop" }, decidedBy: "shop" };
		case "reject":
		case "reverse":
			return { move: kind, known, change: { decided_by: "shop", reason: by.reason }, ...by };
		default:
			throw new Error(`${kind} starts from nothing`);
	}
}

eachDatabase("storing status changes", (database) => {
	const transact = (steps: readonly Step[], store: Store = database.store) =>
		store.transact((trx) => makeMoves(trx, { ...deps, store }, steps));

	async function stepsOf(programme: Programme, count: number): Promise<Step[]> {
		const steps: Step[] = [];
		for (let n = 0; n < count; n++) {
			for (const kind of ALL_KINDS) steps.push(await makeStep(database.store, programme, kind));
		}
		return steps;
	}

	async function eventOf({ id }: Conversion): Promise<string | null> {
		const events = database.store.db.selectFrom("events").select("name").where("conversion_id", "=", id);
		return (await events.executeTakeFirst())?.name ?? null;
	}

	test("a set with every kind of status change stores the status, the history and the event of each change", async () => {
		const { store } = database;
		const programme = await addProgramme(store);
		const { conversions, owed } = await transact(await stepsOf(programme, 1));
		deepEqual(owed.receiverIds, [programme.receiver_id]);
		const found: [kind: string, status: Status, event: string | null][] = [];
		for (const [index, kind] of ALL_KINDS.entries()) {
			const made = conversions[index];
			const stored = await findByPublicId(store.db, programme.id, made?.public_id ?? "");
			deepEqual({ ...made }, written(stored), kind);
			if (stored === undefined) continue;
			const last = (await listMoves(store.db, stored.id)).at(-1);
			equal(last?.to_status, stored.status);
			found.push([kind, stored.status, await eventOf(stored)]);
		}
		deepEqual(
			found,
			ALL_KINDS.map((kind) => [kind, KINDS[kind].to, KINDS[kind].announces]),
		);
	});

	test("storing 200 status changes takes as many statements as storing 10", async () => {
		const programme = await addProgramme(database.store);
		const statementsFor = async (steps: readonly Step[]) => {
			return database.store.transact(async (trx) => {
				const { db, queries } = recordQueries(trx);
				await makeMoves(db, { ...deps, store: database.store }, steps);
				return queries.length;
			});
		};
		const few = await statementsFor(await stepsOf(programme, 1));
		equal(await statementsFor(await stepsOf(programme, 20)), few);
		// On SQLite the hot writes use prepared statements of their own, which the recorder does not see.
		// Two of them read the partners that the moves concern, before and after the credits change.
		equal(few, database.kind === "PostgreSQL" ? 12 : 0);
	});

	for (const kind of ALL_KINDS) {
		test(`${kind}: a conversion that another process has changed since it was read stays as it is, and the others of the set are stored`, async () => {
			const { store, rival } = database;
			const programme = await addProgramme(store);
			const [first, last] = [
				await makeStep(store, programme, "approve"),
				await makeStep(store, programme, "record"),
			];
			const step = await makeStep(store, programme, kind);
			const theirs = await transact([step], rival);
			const [own] = theirs.conversions;
			const before = await listMoves(store.db, own?.id ?? 0);
			const { conversions } = await transact([first, step, last]);
			deepEqual(
				conversions.map((conversion) => conversion?.status),
				["APPROVED", undefined, "RECORDED"],
			);
			const stored = await findByPublicId(store.db, programme.id, own?.public_id ?? "");
			deepEqual(written(stored), { ...own });
			deepEqual(await listMoves(store.db, own?.id ?? 0), before);
		});
	}

	test("a decision that was based on the amounts before a credit is not stored", async () => {
		const { store } = database;
		const credit = await makeStep(store, await addProgramme(store), "credit");
		const { known } = credit;
		if (known === null) throw new Error("a credit needs an existing conversion");
		equal((await transact([credit])).conversions[0]?.commission, "50.00");
		deepEqual((await transact([{ move: "approve", known, change: {} }])).conversions, [undefined]);
	});

	test("two processes that move the same rows in opposite orders do not deadlock", async () => {
		const { store, rival } = database;
		const programme = await addProgramme(store);
		for (let round = 0; round < 5; round++) {
			const steps = await stepsOf(programme, 4);
			const made = await Promise.all([transact(steps, store), transact(steps.toReversed(), rival)]);
			const count = made.flatMap(({ conversions }) => conversions).filter((one) => one !== undefined).length;
			equal(count, steps.length);
		}
	});

	test("a set with an illegal status change, or with too many changes, stores nothing", async () => {
		const { store } = database;
		const programme = await addProgramme(store);
		const rejected = await addConversion(store, programme.id, { status: "REJECTED" });
		const good = await makeStep(store, programme, "record");
		const orderId = good.known === null ? good.sale.order_id : "";
		await rejects(
			transact([good, { move: "approve", known: rejected, change: {} }]),
			/REJECTED cannot approve/,
		);
		await rejects(transact(Array.from({ length: MAX_STEPS + 1 }, () => good)), /the maximum is 1000/);
		equal(await findConversion(store.db, programme.id, orderId), undefined);
	});

	test("the same order is another conversion for another event type, programme or spelling", async () => {
		const { store } = database;
		const { id } = await addProgramme(store);
		const other = await addProgramme(store);
		await addConversion(store, id, { order_id: "a-2" });
		for (const change of [{ event_type: "LEAD" }, { programme_id: other.id }, { order_id: "A-2" }] as const) {
			const conversion = newConversion(id, { order_id: "a-2", ...change });
			equal(
				(await store.writes.insertConversions(store.db, [conversion]))[0]?.public_id,
				conversion.public_id,
			);
		}
		deepEqual(await store.writes.insertConversions(store.db, [newConversion(id, { order_id: "a-2" })]), []);
	});

	test("inserting a set of orders skips those that exist or occur twice, and the others keep their sequence", async () => {
		const { store } = database;
		const { id } = await addProgramme(store);
		await addConversion(store, id, { order_id: "b" });
		const rows = ["a", "b", "c", "a", "d"].map((order_id) => newConversion(id, { order_id }));
		const stored = await store.transact((trx) => store.writes.insertConversions(trx, rows));
		deepEqual(
			stored.map(({ public_id }) => public_id),
			[0, 2, 4].map((at) => rows[at]?.public_id),
		);
		const numbers = stored.map((conversion) => conversion.id);
		deepEqual(numbers, numbers.toSorted());
		const found = await findManyByPublicId(
			store.db,
			stored.map(({ public_id }) => public_id),
		);
		deepEqual(
			stored.map((conversion) => ({ ...conversion })),
			found.toSorted((a, b) => a.id - b.id).map(written),
		);
	});

	test("a conversion is not found under another programme", async () => {
		const { store } = database;
		const owner = await addProgramme(store);
		const stranger = await addProgramme(store);
		const { public_id } = await addConversion(store, owner.id);
		equal((await findByPublicId(store.db, owner.id, public_id))?.public_id, public_id);
		equal(await findByPublicId(store.db, stranger.id, public_id), undefined);
	});
});

eachDatabase("windows that have ended", (database) => {
	test("conversions whose window has ended are listed with the oldest first, and only those of the requested status", async () => {
		const { store } = database;
		const { id } = await addProgramme(store);
		const ended = [];
		for (const agoMs of [1, 3, 2, 0]) {
			ended.push(await addConversion(store, id, { window_ends_at_ms: START_MS - agoMs }));
		}
		const [newer, oldest, older, newest] = ended.map((row) => row.id);
		await addConversion(store, id, { window_ends_at_ms: START_MS + 1 });
		await addConversion(store, id, { window_ends_at_ms: null });
		await addConversion(store, id, { status: "REJECTED" });
		const parked = await addConversion(store, id, { status: "PARKED" });
		const list = async (status: Status, limit: number) =>
			(await takeWindowEnded(store.db, store, { status, fromMs: 0, byMs: START_MS, limit })).map(
				(row) => row.id,
			);
		deepEqual(await list("RECORDED", 3), [oldest, older, newer]);
		deepEqual(await list("RECORDED", 10), [oldest, older, newer, newest]);
		deepEqual(await list("PARKED", 10), [parked.id]);
	});
});

/** Returns the columns that the program writes. The database computes the keys of lists. */
function written(conversion: Conversion | undefined): Partial<Conversion> {
	const columns: Record<string, unknown> = { ...conversion };
	delete columns["list_key"];
	delete columns["list_kind"];
	return columns;
}
