// Queries about programmes. A programme's shop is a receiver of callbacks, which is read together with the programme.

import type { Insertable, Selectable, Updateable } from "kysely";
import { zeroIn } from "../../domain/money.ts";
import { type ProgrammeRates, readByType, readRate, readRates } from "../../domain/rate.ts";
import { type Locked, lockRow } from "../locked.ts";
import type { Db } from "../store.ts";
import type { ProgrammesTable } from "../tables/programmes.ts";
import { storeProgrammeRates } from "./rate-history.ts";
import { insertShopReceiver, RECEIVER_COLUMNS, type ReceiverColumns } from "./receivers.ts";

export type Programme = Selectable<ProgrammesTable> & ReceiverColumns;

/** Inserts a programme with its receiver. A programme has a receiver even before its shop has a Postback URL. */
export async function insertProgramme(trx: Db, programme: Insertable<ProgrammesTable>): Promise<Programme> {
	if (!trx.isTransaction) throw new Error("a programme can be inserted only in a transaction");
	const row = await trx.insertInto("programmes").values(programme).returningAll().executeTakeFirstOrThrow();
	return { ...row, ...(await insertShopReceiver(trx, row.id)) };
}

export function selectProgrammes(db: Db) {
	return db
		.selectFrom("programmes")
		.innerJoin("receivers", "receivers.programme_id", "programmes.id")
		.selectAll("programmes")
		.select(RECEIVER_COLUMNS);
}

export async function findProgramme(db: Db, publicId: string): Promise<Programme | undefined> {
	const [found] = await findProgrammesByPublicId(db, [publicId]);
	return found;
}

export async function findFirstProgramme(db: Db): Promise<string | undefined> {
	const query = db.selectFrom("programmes").select("public_id").orderBy("id").limit(1);
	return (await query.executeTakeFirst())?.public_id;
}

export async function listCurrencies(db: Db): Promise<string[]> {
	const query = db.selectFrom("programmes").select("currency").distinct().orderBy("currency");
	return (await query.execute()).map(({ currency }) => currency);
}

export async function findProgrammesByPublicId(db: Db, publicIds: readonly string[]): Promise<Programme[]> {
	if (publicIds.length === 0) return [];
	return selectProgrammes(db).where("programmes.public_id", "in", publicIds).execute();
}

/**
 * Finds programmes by name. Archived programmes are left out. Names are not unique, so one name can find several
 * programmes.
 */
export async function findProgrammesByName(db: Db, names: readonly string[]): Promise<Programme[]> {
	if (names.length === 0) return [];
	return selectProgrammes(db)
		.where("programmes.name", "in", names)
		.where("archived_at_ms", "is", null)
		.orderBy("programmes.id")
		.execute();
}

export async function findProgrammesById(db: Db, ids: readonly number[]): Promise<Map<number, Programme>> {
	if (ids.length === 0) return new Map();
	const rows = await selectProgrammes(db).where("programmes.id", "in", ids).execute();
	return new Map(rows.map((row) => [row.id, row]));
}

export async function findProgrammeNames(db: Db, ids: readonly number[]): Promise<Map<number, string>> {
	if (ids.length === 0) return new Map();
	const rows = await db.selectFrom("programmes").select(["id", "name"]).where("id", "in", ids).execute();
	return new Map(rows.map(({ id, name }) => [id, name]));
}

/** Returns the ids of programmes that have no usable API key, the oldest first. Archived programmes are left out. */
export async function listKeylessProgrammes(db: Db, limit: number): Promise<number[]> {
	const rows = await db
		.selectFrom("programmes")
		.select("id")
		.where("archived_at_ms", "is", null)
		.where(({ not, exists, selectFrom }) =>
			not(
				exists(
					selectFrom("api_keys")
						.select("programme_id")
						.whereRef("api_keys.programme_id", "=", "programmes.id")
						.where("revoked_at_ms", "is", null),
				),
			),
		)
		.orderBy("id")
		.limit(limit)
		.execute();
	return rows.map(({ id }) => id);
}

/**
 * Cached rates of programmes that were read. Callers are cached for a second, so many sales use the same row, and
 * parsing its rates again for each sale would take 1 to 10 µs.
 */
const ratesOfRows = new WeakMap<Selectable<ProgrammesTable>, ProgrammeRates>();

export function ratesOf(programme: Selectable<ProgrammesTable>): ProgrammeRates {
	const cached = ratesOfRows.get(programme);
	if (cached !== undefined) return cached;
	const rates = readProgrammeRates(programme, zeroIn(programme.currency));
	ratesOfRows.set(programme, rates);
	return rates;
}

/** Parses stored rates. `zero` is the amount 0 of the programme's currency. */
export function readProgrammeRates(row: Pick<Programme, RateColumn>, zero: string): ProgrammeRates {
	return {
		commission: readRate(row.commission_rate, zero),
		fee: readRate(row.fee_rate, zero),
		byType: readByType(row.event_rates, (text) => readRates(text, zero)),
	};
}

const RATE_COLUMNS = ["commission_rate", "fee_rate", "event_rates"] as const;
type RateColumn = (typeof RATE_COLUMNS)[number];

export async function updateProgramme(
	trx: Db,
	{ id }: Locked<Programme>,
	change: Omit<Updateable<ProgrammesTable>, RateColumn>,
): Promise<void> {
	await trx.updateTable("programmes").set(change).where("id", "=", id).execute();
}

/** Updates a programme, including its rates. New rates apply from `atMs` on. */
export async function updateTerms(
	trx: Db,
	programme: Locked<Programme>,
	change: Updateable<ProgrammesTable>,
	atMs: number,
): Promise<void> {
	const rates = {
		commission_rate: change.commission_rate ?? programme.commission_rate,
		fee_rate: change.fee_rate ?? programme.fee_rate,
		event_rates: change.event_rates ?? programme.event_rates,
	};
	const isChanged = RATE_COLUMNS.some((column) => rates[column] !== programme[column]);
	if (isChanged) await storeProgrammeRates(trx, programme.id, rates, atMs);
	await trx.updateTable("programmes").set(change).where("id", "=", programme.id).execute();
}

/**
 * Locks the programme and its receiver. The programme's people, keys, secrets and Postback URL change only under this
 * lock, so it protects them, too.
 */
export function lockProgramme(trx: Db, programmeId: number): Promise<Locked<Programme> | undefined> {
	return lockRow(trx, selectProgrammes(trx).where("programmes.id", "=", programmeId));
}
