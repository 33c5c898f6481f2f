// Reads of a batch of changes on PostgreSQL. Each read is one statement for the whole set, and each column of a set
// is an array parameter. The write is in batch-write.ts.

import { type BatchStore, distinctOrders, keyOfNonce, type Looked, type NonceKey } from "../batch.ts";
import type { Key, KeyedRead } from "../module-parts.ts";
import { SHOP_TARGET_SELECT, type ShopTarget } from "../queries/queue.ts";
import { CONVERSION, type Conversion } from "../tables/conversions.ts";
import { write } from "./batch-write.ts";
import {
	arrayLiteral,
	arrayParameter,
	arraysOf,
	type HotStatement,
	hotStatement,
	listText,
} from "./hot-statement.ts";

const NONCE_KEY = { programme_id: "bigint", nonce: "text" } as const;
const ORDER = { programme_id: "bigint", order_id: "text" } as const;
const CONVERSION_COLUMNS = `id, ${Object.keys(CONVERSION).join(", ")}`;

/** A row of the batch's first read. Its value is JSON, so that one statement can return rows of several kinds. */
type LookedRow =
	| { kind: "nonce"; row: NonceKey }
	| { kind: "conversion"; row: Conversion }
	| { kind: "shop"; row: ShopTarget };

/**
 * First read of a batch. In this file, lateral joins with `offset 0` make the planner look up each key in an index,
 * whatever its statistics say, and `order by` makes it choose the index of the key. Otherwise a table without
 * statistics would be read through any index that begins with the programme.
 */
const LOOK = hotStatement<LookedRow>(`
	select 'nonce' as kind, row_to_json(found) as row from (
		select each.* from ${listText("wanted", NONCE_KEY)} cross join lateral (
			select programme_id, nonce from nonces
				where programme_id = wanted.programme_id and nonce = wanted.nonce order by nonce offset 0
		) as each
	) as found
	union all select 'conversion', row_to_json(found) from (
		select each.* from ${listText("wanted", ORDER, 2)} cross join lateral (
			select ${CONVERSION_COLUMNS} from conversions
				where programme_id = wanted.programme_id and order_id = wanted.order_id order by order_id, event_type offset 0
		) as each
	) as found
	union all select 'shop', row_to_json(found) from (
		${SHOP_TARGET_SELECT} where p.id = any(${arrayParameter(5, "bigint")}::bigint[])
	) as found`);

const LOCK = hotStatement<Conversion>(
	`select ${CONVERSION_COLUMNS} from conversions where id = any(${arrayParameter(1, "bigint")}::bigint[])
		order by id for no key update`,
);
export const POSTGRES_BATCH: BatchStore = {
	async look(db, { nonces, orders, programmeIds }): Promise<Looked> {
		if (nonces.length + orders.length + programmeIds.length === 0)
			return { usedNonces: new Set(), conversions: [], shops: [] };
		const rows = await LOOK.run(db, [
			...arraysOf(NONCE_KEY, nonces),
			...arraysOf(ORDER, distinctOrders(orders)),
			arrayLiteral(programmeIds),
		]);
		return {
			usedNonces: new Set(rows.flatMap((one) => (one.kind === "nonce" ? keyOfNonce(one.row) : []))),
			conversions: rows.flatMap((one) => (one.kind === "conversion" ? one.row : [])),
			shops: rows.flatMap((one) => (one.kind === "shop" ? one.row : [])),
		};
	},
	lock: async (db, ids) => (ids.length === 0 ? [] : LOCK.run(db, [arrayLiteral(ids)])),
	async find(db, read, keys) {
		if (keys.length === 0) return [];
		const rows = await statementOf(read).run(db, arraysOf(read.key, keys));
		return rows.map(read.rowOf);
	},
	write: (db, rows) => write(db, rows),
};

const KEYED_STATEMENTS = new Map<string, HotStatement<object>>();

/** Returns the statement that runs a module's query for each of the keys. */
function statementOf({ key, text }: Pick<KeyedRead<Key, unknown>, "key" | "text">): HotStatement<object> {
	const cached = KEYED_STATEMENTS.get(text);
	if (cached !== undefined) return cached;
	const ofKey = text.replaceAll(/(?<!:):(\w+)/g, "asked.$1");
	const statement = hotStatement<object>(
		`select each.* from ${listText("asked", key)} cross join lateral (${ofKey} offset 0) as each`,
	);
	KEYED_STATEMENTS.set(text, statement);
	return statement;
}
