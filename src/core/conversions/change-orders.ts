// Path of every change of a conversion: calls of shops and pixels, decisions on pages and in files, ended windows,
// assignments, imports and tests. A batch of requests is read, judged in memory, and written at once.
//
//   look ─▶ lock what may change ─▶ read what depends on it ─▶ judge one after the other ─▶ write
//
// An order without a conversion cannot be locked. If another transaction stores it first, or removes or replaces a
// conversion between the look and the lock, the batch fails with a ConflictError. Callers whose orders may be
// reported concurrently then repeat the whole transaction (store/conflict.ts).

import type { Result } from "../domain/fault.ts";
import { succeed } from "../domain/fault.ts";
import { idOfStarted, type Looked, type OrderKey, type Written } from "../store/batch.ts";
import { ConflictError } from "../store/conflict.ts";
import type { Owed } from "../store/queries/queue.ts";
import type { Db } from "../store/store.ts";
import type { Conversion } from "../store/tables/conversions.ts";
import { Batch } from "./batch.ts";
import { BATCH_ROWS, type InTransaction } from "./deps.ts";
import { type Facts, type Found, readFacts } from "./facts.ts";
import type { OrderRequest } from "./order-request.ts";

/** Maximum number of requests in a batch. No caller passes this many, so exceeding it is a programming error. */
export const MAX_REQUESTS = 2 * BATCH_ROWS;

export interface Changed<Done> {
	results: readonly Result<Done>[];
	/** Deliveries that became due. The caller must announce them to the engines after the commit. */
	owed: Owed;
}

/** Handles requests in the caller's transaction. `locked` are conversions that the caller has locked. */
export async function changeOrders<Done>(
	trx: Db,
	deps: InTransaction,
	requests: readonly OrderRequest<Done>[],
	locked: readonly Conversion[] = [],
): Promise<Changed<Done>> {
	const readAtMs = deps.clock.monotonicMs();
	const looked = await deps.store.batch.look(trx, {
		nonces: [],
		orders: ordersOf(requests),
		programmeIds: [],
	});
	const found = await lockFound(trx, deps, requests, looked, locked);
	const judged = await judgeFound(trx, deps, requests, found);
	const written = await deps.store.batch.write(trx, judged.batch.rows());
	return { results: judged.results(written), owed: judged.batch.owedAfter(written, readAtMs) };
}

/** Returns the orders that must be looked up, because their requests do not name a conversion. */
export function ordersOf(requests: readonly OrderRequest<unknown>[]): OrderKey[] {
	const named = requests.filter(({ conversionId }) => conversionId === undefined);
	return named.map(({ programmeId, orderId }) => ({ programme_id: programmeId, order_id: orderId }));
}

/**
 * Returns a function that finds the id of the conversion that a request may change. The id is null if the request
 * changes no stored conversion.
 */
export function findIdToLock(
	conversions: readonly Conversion[],
): (request: OrderRequest<unknown>) => number | null {
	const byName = new Map(conversions.map((found) => [nameOf(found), found]));
	return ({ programmeId, orderId, eventType, conversionId, mayChange = () => true }) => {
		if (conversionId !== undefined) return conversionId;
		if (byName.size === 0) return null;
		const name = nameOf({ programme_id: programmeId, order_id: orderId, event_type: eventType });
		const found = byName.get(name);
		return found !== undefined && mayChange(found) ? found.id : null;
	};
}

/** Locks the conversions that the requests may change, and reads the shops that receive their events. */
export async function lockFound(
	trx: Db,
	{ store: { batch } }: InTransaction,
	requests: readonly OrderRequest<unknown>[],
	{ conversions }: Pick<Looked, "conversions">,
	alreadyLocked: readonly Conversion[] = [],
): Promise<Found> {
	const lockedIds = new Set(alreadyLocked.map(({ id }) => id));
	const wanted = requests.map(findIdToLock(conversions));
	const ids = [...new Set(wanted)].flatMap((id) => (id === null || lockedIds.has(id) ? [] : id));
	const locked = [...alreadyLocked, ...(await batch.lock(trx, ids))];
	const lockedById = new Map(locked.map((conversion) => [conversion.id, conversion]));
	const asked = new Set(ids);
	for (const { id, order_id } of conversions) {
		if (asked.has(id) && lockedById.get(id)?.order_id !== order_id) throw new ConflictError();
	}
	const programmeIds = [...new Set(requests.map(({ programmeId }) => programmeId))];
	const { shops } = await batch.look(trx, { nonces: [], orders: [], programmeIds });
	const others = conversions.filter(({ id }) => !lockedById.has(id));
	return { conversions: [...locked, ...others], lockedIds: new Set(lockedById.keys()), shops };
}

export interface JudgedBatch<Done> {
	/** State of the batch after all requests, with the rows to write. */
	batch: Batch;
	/**
	 * Returns the results in the order of the requests. Until the batch is written, the conversions that it starts have
	 * provisional ids.
	 */
	results(written?: Written): Result<Done>[];
}

/** Judges the requests one after the other. No statement runs while they are judged. */
export async function judgeFound<Done>(
	db: Db,
	deps: InTransaction,
	requests: readonly OrderRequest<Done>[],
	found: Found,
): Promise<JudgedBatch<Done>> {
	if (requests.length > MAX_REQUESTS)
		throw new Error(`${requests.length} requests at once; the maximum is ${MAX_REQUESTS}`);
	const { modules } = deps.changes;
	const facts = await readFacts(db, deps.store.batch, modules, requests, found, deps.clock.nowMs());
	const batch = new Batch(modules, facts, deps.random);
	const judged = requests.map((request) => judgeNext(batch, facts, request));
	return {
		batch,
		results: (written) => {
			const withId = (conversion: Conversion) =>
				written === undefined || conversion.id > 0
					? conversion
					: { ...conversion, id: idOfStarted(written, conversion.id) };
			return judged.map((resultWith) => resultWith(withId));
		},
	};
}

/** Judges a request and applies its step. Returns a function that composes the request's result. */
function judgeNext<Done>(batch: Batch, { batch: facts }: Facts, request: OrderRequest<Done>) {
	const { now, known } = batch.find(request);
	const about = { namesakes: () => batch.namesakesOf(request), known, facts };
	const judgement = request.judge(now, about);
	if (judgement.kind === "answer") return () => judgement.result;
	const conversion = judgement.kind === "keep" ? now : batch.apply(request, judgement.step);
	if (conversion === null) throw new Error("there is no conversion to answer with");
	return (withId: (conversion: Conversion) => Conversion) => succeed(judgement.done(withId(conversion)));
}

function nameOf({
	programme_id,
	order_id,
	event_type,
}: Pick<Conversion, "programme_id" | "order_id" | "event_type">): string {
	return `${programme_id} ${event_type} ${order_id}`;
}
