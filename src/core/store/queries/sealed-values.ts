// All values that are sealed with the sealing key, wherever they are stored. If a column were missing from this list,
// its values could no longer be opened after the key was replaced, so a test compares the list with the tables.

import { sql } from "kysely";
import { type OpeningKeys, openText, SEALED_FOR } from "../../domain/sealing.ts";
import type { Db, Schema } from "../schema/tables.ts";

export interface SealedColumn {
	table: keyof Schema;
	column: string;
	/** Integer column that identifies the row. */
	key: string;
	/** SQL for the owner to whom the value is bound. */
	owner: string;
	bind(owner: string): string;
}

export const SEALED_COLUMNS: readonly SealedColumn[] = [
	{
		...{ table: "signing_secrets", column: "sealed", key: "id" },
		...{ owner: "receiver_id", bind: SEALED_FOR.receiver },
	},
	{
		...{ table: "authenticators", column: "secret", key: "person_id" },
		...{ owner: "person_id", bind: SEALED_FOR.person },
	},
	{
		...{ table: "authenticators", column: "backup_codes", key: "person_id" },
		...{ owner: "person_id", bind: SEALED_FOR.person },
	},
	{
		...{ table: "payment_details", column: "sealed", key: "partner_id" },
		...{ owner: "partner_id", bind: SEALED_FOR.paymentDetails },
	},
	{
		...{ table: "mail_queue", column: "sealed_text", key: "id" },
		...{ owner: "to_address", bind: SEALED_FOR.mail },
	},
	{
		...{ table: "statements", column: "sealed_parties", key: "id" },
		...{ owner: "public_id", bind: SEALED_FOR.statement },
	},
	{
		...{ table: "erasures", column: "sealed_words", key: "id" },
		...{ owner: "public_id", bind: SEALED_FOR.erasure },
	},
	{
		...{ table: "kept_keys", column: "sealed", key: "id" },
		...{ owner: "former_id || ' ' || kind", bind: SEALED_FOR.keptKeys },
	},
];

export interface SealedValue {
	at: SealedColumn;
	key: number;
	/** Name of the owner to whom the value is bound. */
	boundTo: string;
	sealed: string;
}

interface Row {
	key: number;
	owner: string;
	sealed: string;
}

/** Number of values that are read at once. The largest values are those of statements, with about a kilobyte. */
const VALUES_AT_ONCE = 500;

/**
 * Reads all sealed values in batches. A batch has values of one column only. Tables that the schema of an earlier
 * version lacks are left out.
 */
export async function* readSealedValues(db: Db): AsyncGenerator<readonly SealedValue[]> {
	for (const column of await presentColumns(db)) {
		for (let afterKey = Number.MIN_SAFE_INTEGER; ; ) {
			const values = await select(
				db,
				column,
				sql`${sql.ref(column.key)} > ${afterKey} order by ${sql.ref(column.key)} limit ${VALUES_AT_ONCE}`,
			);
			if (values.length > 0) yield values;
			const last = values.at(-1);
			if (last === undefined || values.length < VALUES_AT_ONCE) break;
			afterKey = last.key;
		}
	}
}

export async function readNewestSealed(db: Db): Promise<SealedValue[]> {
	const found: SealedValue[] = [];
	for (const column of await presentColumns(db)) {
		const order = sql`${sql.ref(column.key)} is not null order by ${sql.ref(column.key)} desc limit 1`;
		found.push(...(await select(db, column, order)));
	}
	return found;
}

async function presentColumns(db: Db): Promise<SealedColumn[]> {
	const tables = new Set((await db.introspection.getTables()).map(({ name }) => name));
	return SEALED_COLUMNS.filter(({ table }) => tables.has(table));
}

async function select(db: Db, at: SealedColumn, condition: ReturnType<typeof sql>): Promise<SealedValue[]> {
	const { rows } = await sql<Row>`select ${sql.ref(at.key)} as key, ${sql.raw(at.owner)} as owner,
		${sql.ref(at.column)} as sealed from ${sql.table(at.table)}
		where ${sql.ref(at.column)} <> '' and ${condition}`.execute(db);
	return rows.map(({ key, owner, sealed }) => ({ at, key, boundTo: at.bind(String(owner)), sealed }));
}

/**
 * Locks values of one column, and returns their present state. Rows that another transaction has locked are skipped,
 * so this function never waits for a lock while it holds others, and cannot take part in a deadlock.
 */
export async function lockFreeValues(
	trx: Db,
	takeFreeRows: ReturnType<typeof sql>,
	values: readonly SealedValue[],
): Promise<SealedValue[]> {
	const at = values[0]?.at;
	if (at === undefined) return [];
	const keys = sql.join(values.map(({ key }) => key));
	return select(trx, at, sql`${sql.ref(at.key)} in (${keys}) order by ${sql.ref(at.key)} ${takeFreeRows}`);
}

/** Stores a value that was locked in this transaction and sealed again. */
export async function replaceSealed(trx: Db, { at, key }: SealedValue, sealed: string): Promise<void> {
	await sql`update ${sql.table(at.table)} set ${sql.ref(at.column)} = ${sealed}
		where ${sql.ref(at.key)} = ${key}`.execute(trx);
}

export function openValue(ring: OpeningKeys, { boundTo, sealed }: SealedValue): string | null {
	return openText(ring, boundTo, sealed);
}
