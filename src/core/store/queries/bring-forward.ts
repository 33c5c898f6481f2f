// Implements "Send now", which sets the due time of a delivery's row in the queue to the present. A result is stored
// only if the row still has the due time that the engine read, so the row must not change while its delivery may be in
// progress.

import { type RawBuilder, sql } from "kysely";
import type { ReceiverId } from "../../domain/receiver.ts";
import { SECOND_MS } from "../../domain/time.ts";
import type { Clock } from "../../ports.ts";
import type { Db, Store } from "../store.ts";

export interface Waiting {
	id: number;
	/**
	 * Number of the last attempt that the person saw. If the delivery has been tried since, the request no longer
	 * applies.
	 */
	seq: number;
}

interface WaitingRow extends Waiting {
	dueAtMs: number;
}

/** Maximum number of rows in a transaction, so that other transactions do not wait for long. */
export const BATCH_ROWS = 500;

/**
 * Time before the due time in which a row is not changed, because its delivery may be in progress by the time of the
 * commit. The clocks of the engines agree within milliseconds, and this transaction takes a few more.
 */
const IN_PROGRESS_SOON_MS = 5 * SECOND_MS;

/**
 * Makes deliveries due now. Returns the ids of the deliveries that were brought forward, or null if the receiver has
 * no URL or no secret. The other deliveries are due already or almost due, have been tried since, belong to a URL
 * that was removed, or are finished.
 */
export async function bringForward(
	trx: Db,
	receiverId: ReceiverId,
	waiting: readonly Waiting[],
	nowMs: number,
): Promise<number[] | null> {
	const epoch = await findSendingEpoch(trx, receiverId);
	if (epoch === undefined) return null;
	if (waiting.length === 0) return [];
	const list = waiting.map(({ id, seq }) => ({ id, seq }));
	// One statement checks and updates the rows, so the second of two requests for the same row finds it already due. The
	// condition on the ids keeps SQLite from reading the whole queue.
	const { rows } = await sql<{ id: number }>`with ${valueList("seen", { id: "bigint", seq: "integer" }, list)}
		update queue set due_at_ms = ${nowMs} from seen
			where queue.id = seen.id and queue.seq = seen.seq and queue.id in (select id from seen)
				and queue.receiver_id = ${receiverId} and queue.due_at_ms > ${nowMs + IN_PROGRESS_SOON_MS}
				and queue.endpoint_epoch = ${epoch}
			returning queue.id`.execute(trx);
	return rows.map(({ id }) => id);
}

/**
 * Makes pending deliveries of a removed Postback URL due now, so that the engine finds their epoch outdated and
 * cancels them. Stops early if `goesOn` returns false. Deliveries that are left after that, or after a crash, are
 * cancelled at their own due time. Returns true if no delivery is left.
 */
export async function bringRemovedForward(
	store: Store,
	clock: Clock,
	receiverId: ReceiverId,
	goesOn: () => boolean,
): Promise<boolean> {
	for await (const waiting of walkWaiting(store, clock, receiverId)) {
		if (!goesOn()) return false;
		const dueAtMs = clock.nowMs();
		const ids = waiting.map(({ id }) => id);
		await store.db
			.updateTable("queue")
			.set({ due_at_ms: dueAtMs })
			.where("id", "in", ids)
			.where("due_at_ms", ">", dueAtMs + IN_PROGRESS_SOON_MS)
			.where("endpoint_epoch", "<", (eb) =>
				eb.selectFrom("receivers").select("receivers.endpoint_epoch").where("receivers.id", "=", receiverId),
			)
			.execute();
		store.announceDue({ receiverIds: [receiverId], dueAtMs });
	}
	return true;
}

/**
 * Yields the deliveries that wait for their next attempt, in the order of their due times. Uses the index queue_by_due.
 * Leaves out deliveries that were tried since the walk began. Otherwise a delivery that fails again meanwhile would be
 * brought forward again and again.
 */
export async function* walkWaiting(
	store: Pick<Store, "lookAlongIndexes">,
	clock: Clock,
	receiverId: ReceiverId,
): AsyncGenerator<readonly Waiting[]> {
	const untilMs = clock.nowMs();
	let after: Pick<WaitingRow, "id" | "dueAtMs"> = { dueAtMs: untilMs, id: Number.MAX_SAFE_INTEGER };
	for (;;) {
		const waiting = await store.lookAlongIndexes((db) => listWaiting(db, receiverId, after, untilMs));
		if (waiting.length > 0) yield waiting;
		const last = waiting.at(-1);
		if (last === undefined || waiting.length < BATCH_ROWS) return;
		after = last;
		await clock.yieldLoop();
	}
}

async function listWaiting(
	db: Db,
	receiverId: ReceiverId,
	after: Pick<WaitingRow, "id" | "dueAtMs">,
	untilMs: number,
): Promise<WaitingRow[]> {
	return db
		.selectFrom("queue")
		.select(["queue.id", "queue.seq", "queue.due_at_ms as dueAtMs"])
		.where("queue.receiver_id", "=", receiverId)
		.where((eb) => eb(eb.refTuple("queue.due_at_ms", "queue.id"), ">", eb.tuple(after.dueAtMs, after.id)))
		.where(({ not, exists, selectFrom }) =>
			not(
				exists(
					selectFrom("attempts")
						.select("attempts.seq")
						.whereRef("attempts.delivery_id", "=", "queue.id")
						.whereRef("attempts.seq", "=", "queue.seq")
						.where("attempts.started_at_ms", ">", untilMs),
				),
			),
		)
		.orderBy("queue.due_at_ms")
		.orderBy("queue.id")
		.limit(BATCH_ROWS)
		.execute();
}

/**
 * Returns the epoch of the receiver's Postback URL, or undefined if it has no URL or no active signing secret (contract
 * section 1, rule 4).
 */
export async function findSendingEpoch(trx: Db, receiverId: ReceiverId): Promise<number | undefined> {
	const receiver = await trx
		.selectFrom("receivers")
		.innerJoin("signing_secrets", "signing_secrets.receiver_id", "receivers.id")
		.select("endpoint_epoch")
		.where("receivers.id", "=", receiverId)
		.where("endpoint_id", "is not", null)
		.where("activated_at_ms", "is not", null)
		.where("replaced_at_ms", "is", null)
		.executeTakeFirst();
	return receiver?.endpoint_epoch;
}

// Builds a list of values as a table, so that one statement changes many rows on both databases.

/** Columns of the list with their types. Without a type, PostgreSQL treats a value as text. */
type Columns = Readonly<Record<string, "text" | "integer" | "bigint">>;

/** Returns the SQL `name (columns) as (values …)`, which follows `with`. There must be at least one row. */
function valueList<List extends Columns>(
	name: string,
	columns: List,
	rows: readonly Readonly<Record<keyof List & string, string | number | null>>[],
): RawBuilder<unknown> {
	const names = Object.keys(columns);
	const values = rows.map((row: Readonly<Record<string, string | number | null>>) =>
		names.map((column) => sql`cast(${row[column] ?? null} as ${sql.raw(columns[column] ?? "text")})`),
	);
	return sql`${sql.ref(name)} (${sql.join(names.map((column) => sql.ref(column)))}) as (values ${sql.join(
		values.map((row) => sql`(${sql.join(row)})`),
	)})`;
}
