// Tests changes of conversions on both databases. A set of any size takes the same number of statements, each change is
// stored once, and a request is judged on what other processes have left.

import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { test } from "node:test";
import { changeOrders, MAX_REQUESTS } from "#core/conversions/change-orders.ts";
import { decisionRequest } from "#core/conversions/decide.ts";
import type { Decided } from "#core/conversions/deps.ts";
import { type OrderRequest, refuseBusy } from "#core/conversions/order-request.ts";
import { reportRequest } from "#core/conversions/record.ts";
import type { Status } from "#core/domain/conversion.ts";
import { ConflictError, repeatConflicts } from "#core/store/conflict.ts";
import {
	type Conversion,
	findByPublicId,
	findManyByPublicId,
	listMoves,
	takeWindowEnded,
} from "#core/store/queries/conversions.ts";
import type { Programme } from "#core/store/queries/programmes.ts";
import type { Db, Store } from "#core/store/store.ts";
import { NOBODY } from "#modules/partners/domain/credit.ts";
import { creditStep } from "#modules/partners/use-cases/later-credit.ts";
import { CHANGES } from "../../src/modules.ts";
import { createRandom } from "../../src/outside/random.ts";
import { holdsSomebodyUp } from "../support/between-statements.ts";
import { createClock, START_MS } from "../support/clock.ts";
import { eachDatabase } from "../support/databases.ts";
import { type GivenStep, makeSteps } from "../support/make-steps.ts";
import { recordQueries } from "../support/query-plan.ts";
import {
	addConversion,
	addConversions,
	addProgramme,
	findConversion,
	newConversion,
} from "../support/rows.ts";
import { until } from "../support/until.ts";

const PRICED = {
	...{ commission: "50.00", network_fee: "1.00", rates: "50 1", fee_rate: "1" },
	...{ first_partnership_id: null, first_commission: null },
} as const;
const deps = { clock: createClock(), random: createRandom(), changes: CHANGES };

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

/** A step with the conversion that it changes or replaces. */
interface Prepared {
	step: GivenStep;
	found: Conversion | null;
}

async function prepareStep(store: Store, { id }: Programme, kind: Kind): Promise<Prepared> {
	const { from } = KINDS[kind];
	const { status: _, created_at_ms: __, updated_at_ms: ___, ...sale } = newConversion(id);
	if (from === null)
		return { step: { move: kind === "park" ? "park" : "record", known: null, sale }, found: null };
	const found = await addConversion(store, id, { status: from, source: "pixel" });
	return { step: stepOn(kind, found), found };
}

function stepOn(kind: Kind, known: Conversion): GivenStep {
	const by = { decidedBy: "shop", reason: "FRAUD" } as const;
	switch (kind) {
		case "record an expired one": {
			const { status: _, created_at_ms: __, updated_at_ms: ___, ...sale } = newConversion(known.programme_id);
			const { order_id, event_type } = known;
			return { move: "record", known: null, sale: { ...sale, order_id, event_type } };
		}
		case "confirm a parked one":
		case "confirm a recorded one":
			return { move: "confirm", known, change: { basket_value: "7.00", confirmed_at_ms: START_MS } };
		case "credit":
			return { ...creditStep(NOBODY, PRICED), known };
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

/** Returns a request that is refused if another process has changed the conversion. */
function requestOnce({ step, found }: Prepared): OrderRequest<Conversion> {
	const about = "sale" in step ? step.sale : step.known;
	if (about === null) throw new Error("a step starts a conversion or changes one");
	return {
		programmeId: about.programme_id,
		orderId: about.order_id,
		eventType: about.event_type,
		judge: (present) =>
			present?.id === found?.id && present?.updated_at_ms === found?.updated_at_ms
				? { kind: "move", step, done: (conversion) => conversion }
				: { kind: "answer", result: refuseBusy() },
	};
}

eachDatabase("storing status changes", (database) => {
	const transact = (steps: readonly GivenStep[], store: Store = database.store) =>
		store.transact((trx) => makeSteps(trx, { ...deps, store }, steps));

	async function prepareAll(programme: Programme, count: number): Promise<Prepared[]> {
		const prepared: Prepared[] = [];
		for (let n = 0; n < count; n++) {
			for (const kind of ALL_KINDS) prepared.push(await prepareStep(database.store, programme, kind));
		}
		return prepared;
	}

	async function stepsOf(programme: Programme, count: number): Promise<GivenStep[]> {
		return (await prepareAll(programme, count)).map(({ step }) => step);
	}

	/**
	 * Judges a request while another process changes the same order in an open transaction. Returns the result and the number
	 * of turns.
	 */
	async function judgeMeanwhile<Done>(
		theirs: (trx: Db, store: Store) => Promise<unknown>,
		request: OrderRequest<Done>,
	) {
		const { kind, store, rival } = database;
		let turns = 0;
		const judge = () =>
			repeatConflicts(deps.clock, () =>
				store.transact((trx) => {
					turns++;
					return changeOrders(trx, { ...deps, store }, [request]);
				}),
			);
		let judged: ReturnType<typeof judge> | undefined;
		await rival.transact(async (trx) => {
			await theirs(trx, rival);
			judged = judge();
			// On SQLite the other transaction begins only after this one has ended.
			if (kind === "PostgreSQL") await until(() => holdsSomebodyUp(trx));
		});
		const [result] = (await judged)?.results ?? [];
		if (result === undefined) throw new Error("a request has no result");
		return { result, turns };
	}

	const decide = (programme: Programme, { order_id, event_type }: Conversion, move: "approve" | "reject") =>
		decisionRequest(
			programme,
			{ orderId: order_id, eventType: event_type },
			move === "approve" ? { move, decidedBy: "shop" } : { move, decidedBy: "shop", reason: "FRAUD" },
		);
	const wordOf = (result: { ok: true; value: Decided<string> } | { ok: false; fault: { code: string } }) =>
		result.ok ? result.value.outcome : result.fault.code;

	async function eventOf({ id }: Conversion): Promise<string | null> {
		const events = database.store.db.selectFrom("events").select("name").where("conversion_id", "=", id);
		return (await events.executeTakeFirst())?.name ?? null;
	}

	test("a set with every kind of status change stores the status, the history and the event of each change", async () => {
		const { store } = database;
		const programme = await addProgramme(store);
		const { results, owed } = await transact(await stepsOf(programme, 1));
		deepEqual(owed.receiverIds, [programme.receiver_id]);
		const found: [kind: string, status: Status, event: string | null][] = [];
		for (const [index, kind] of ALL_KINDS.entries()) {
			const made = results[index];
			ok(made?.ok === true);
			const stored = await findByPublicId(store.db, programme.id, made.value.public_id);
			deepEqual({ ...made.value }, written(stored), kind);
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
		const statementsFor = async (steps: readonly GivenStep[]) => {
			return database.store.transact(async (trx) => {
				const { db, queries } = recordQueries(trx);
				await makeSteps(db, { ...deps, store: database.store }, steps);
				return queries.length;
			});
		};
		const few = await statementsFor(await stepsOf(programme, 1));
		equal(await statementsFor(await stepsOf(programme, 20)), few);
		// The five statements find the orders, lock the conversions, read the shops, read the credits, and write. On
		// SQLite a batch uses prepared statements of its own, which the recorder does not see.
		equal(few, database.kind === "PostgreSQL" ? 5 : 0);
	});

	test("a decision waits for another process that changes the conversion, and is judged on what that process left", async () => {
		const { store } = database;
		const programme = await addProgramme(store);
		for (const [kind, move, outcome, status, commission] of [
			["credit", "approve", "APPROVED", "APPROVED", "50.00"],
			["approve", "approve", "APPROVED", "APPROVED", "7.50"],
			["approve", "reject", "move_not_allowed", "APPROVED", "7.50"],
			["reject", "approve", "move_not_allowed", "REJECTED", "7.50"],
			["confirm a parked one", "approve", "APPROVED", "APPROVED", "7.50"],
			["expire", "approve", "move_not_allowed", "EXPIRED", "7.50"],
		] as const) {
			const { step, found } = await prepareStep(store, programme, kind);
			ok(found !== null);
			const { result, turns } = await judgeMeanwhile(
				(trx, own) => makeSteps(trx, { ...deps, store: own }, [step]),
				decide(programme, found, move),
			);
			const stored = await findByPublicId(store.db, programme.id, found.public_id);
			deepEqual(
				[wordOf(result), stored?.status, stored?.commission, turns],
				[outcome, status, commission, 1],
				`${kind}, then ${move}`,
			);
			const moves = await listMoves(store.db, found.id);
			equal(new Set(moves.map((made) => made.move)).size, moves.length, "no move is made twice");
		}
	});

	test("a decision about an order whose conversion another process removes or replaces is judged again", async () => {
		const { kind, store } = database;
		const programme = await addProgramme(store);
		const lastTurn = kind === "PostgreSQL" ? 2 : 1;
		const removed = await addConversion(store, programme.id);
		const unknown = await judgeMeanwhile(
			(trx) => trx.deleteFrom("conversions").where("id", "=", removed.id).execute(),
			decide(programme, removed, "approve"),
		);
		deepEqual([wordOf(unknown.result), unknown.turns], ["unknown_order", lastTurn]);
		const { step, found } = await prepareStep(store, programme, "record an expired one");
		ok(found !== null);
		const replaced = await judgeMeanwhile(
			(trx, own) => makeSteps(trx, { ...deps, store: own }, [step]),
			decide(programme, found, "approve"),
		);
		deepEqual([wordOf(replaced.result), replaced.turns], ["APPROVED", lastTurn]);
		const approved = await findConversion(store.db, programme.id, found.order_id);
		deepEqual([approved?.status, approved?.id === found.id], ["APPROVED", false]);
	});

	test("a report of an order that another process is recording waits for it, and is a duplicate", async () => {
		const { kind, store } = database;
		const programme = await addProgramme(store);
		const { step } = await prepareStep(store, programme, "record");
		ok("sale" in step);
		const sale = { orderId: step.sale.order_id, eventType: "SALE", basketValue: "5.00" } as const;
		const report = { ...sale, source: "postback", occurredAtMs: null, isTest: false } as const;
		const { result, turns } = await judgeMeanwhile(
			(trx, own) => makeSteps(trx, { ...deps, store: own }, [step]),
			reportRequest(deps, programme, report),
		);
		deepEqual([wordOf(result), turns], ["DUPLICATE", kind === "PostgreSQL" ? 2 : 1]);
	});

	test("two processes that change the same rows in opposite orders do not deadlock, and each row is changed once", async () => {
		const { store, rival } = database;
		const programme = await addProgramme(store);
		for (let round = 0; round < 5; round++) {
			const requests = (await prepareAll(programme, 4)).map(requestOnce);
			const change = (own: Store, some: typeof requests) =>
				repeatConflicts(deps.clock, () =>
					own.transact((trx) => changeOrders(trx, { ...deps, store: own }, some)),
				);
			const made = await Promise.all([change(store, requests), change(rival, requests.toReversed())]);
			const results = made.flatMap((one) => one.results);
			equal(results.filter((result) => result.ok).length, requests.length);
		}
	});

	test("a set with an illegal status change, or with too many changes, stores nothing", async () => {
		const { store } = database;
		const programme = await addProgramme(store);
		const rejected = await addConversion(store, programme.id, { status: "REJECTED" });
		const { step: good } = await prepareStep(store, programme, "record");
		const orderId = "sale" in good ? good.sale.order_id : "";
		await rejects(
			transact([good, { move: "approve", known: rejected, change: {} }]),
			/REJECTED cannot approve/,
		);
		await rejects(transact(Array.from({ length: MAX_REQUESTS + 1 }, () => good)), /the maximum is 1000/);
		equal(await findConversion(store.db, programme.id, orderId), undefined);
	});

	test("a write of an order that another process has stored is a conflict, and stores nothing", async () => {
		const { kind, store } = database;
		const programme = await addProgramme(store);
		const known = await addConversion(store, programme.id);
		const [fresh, contested] = [newConversion(programme.id), newConversion(programme.id, known)];
		const started = [fresh, { ...contested, public_id: fresh.public_id.replace("cnv_", "cnv_X") }];
		const rows = started.map((row, index) => ({ ...row, id: -(index + 1) }));
		const nonces = [{ programme_id: programme.id, nonce: "contested", expires_at_ms: START_MS }];
		// On SQLite no other process can write between the look and the write, so only the index refuses this row.
		const conflict = kind === "PostgreSQL" ? ConflictError : /UNIQUE constraint failed/;
		await rejects(store.batch.write(store.db, { nonces, started: rows }), conflict);
		equal(await findConversion(store.db, programme.id, fresh.order_id), undefined);
		const { usedNonces } = await store.batch.look(store.db, { nonces, orders: [], programmeIds: [] });
		equal(usedNonces.size, 0);
	});

	test("the same order is another conversion for another event type, programme or spelling", async () => {
		const { store } = database;
		const { id } = await addProgramme(store);
		const other = await addProgramme(store);
		await addConversion(store, id, { order_id: "a-2" });
		for (const change of [{ event_type: "LEAD" }, { programme_id: other.id }, { order_id: "A-2" }] as const) {
			const { programme_id, order_id, event_type, ...rest } = newConversion(id, {
				order_id: "a-2",
				...change,
			});
			const { results } = await transact([
				{ move: "record", known: null, sale: { ...rest, programme_id, order_id, event_type } },
			]);
			equal(results[0]?.ok, true);
			const stored = await findConversion(store.db, programme_id, order_id, event_type);
			equal(stored?.public_id, rest.public_id);
		}
	});

	test("the ids of a set of new conversions are in the order of the set", async () => {
		const { store } = database;
		const { id } = await addProgramme(store);
		const rows = ["d", "a", "c", "B", "b"].map((order_id) => newConversion(id, { order_id }));
		const ids = await addConversions(store, rows);
		const found = await findManyByPublicId(
			store.db,
			rows.map(({ public_id }) => public_id),
		);
		deepEqual(
			rows.map((row, index) => ({ ...row, id: ids[index] })),
			rows.map(({ public_id }) => written(found.find((one) => one.public_id === public_id))),
		);
		deepEqual(
			ids,
			ids.toSorted((one, other) => one - other),
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
