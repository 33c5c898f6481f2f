// Implements `ringback move`. It copies the file of a stopped service into an empty PostgreSQL database. The
// file never changes. The new database gets everything or nothing, because the copy and its checks run in one
// transaction.

import { existsSync } from "node:fs";
import type { DatabaseSync } from "node:sqlite";
import { copyRows, countCopied, countRows, findFilled, type RowCounts } from "#core/store/move.ts";
import { POSTGRES_DEFAULTS } from "#core/store/postgres/setting.ts";
import { openPostgres } from "#core/store/postgres/store.ts";
import type { BrokenRule } from "#core/store/queries/ledger.ts";
import { isReplacing, readSealingKey } from "#core/store/queries/sealing-key.ts";
import { findSchema, MIGRATIONS } from "#core/store/schema/migrations.ts";
import { findDamage, openAlone } from "#core/store/sqlite/file.ts";
import { createSqliteStore } from "#core/store/sqlite/store.ts";
import type { Db, Store } from "#core/store/store.ts";
import { realClock } from "../outside/clock.ts";
import { createLog } from "../outside/log.ts";
import { checkLedger } from "./check-ledger.ts";
import { BackupError, type Tell } from "./file-work.ts";
import type { KeySettings } from "./sealing-keys.ts";
import { checkStore, findKeysFor } from "./verify.ts";

export interface MoveReport {
	counts: RowCounts;
	/** Rules of the ledger that the SQLite file violates. The new database violates the same rules. */
	broken: readonly BrokenRule[];
}

/**
 * Copies the database. `path` is the SQLite file. `url` is the address of the PostgreSQL server itself, not
 * of a connection pooler.
 */
export async function moveToPostgres(
	config: KeySettings,
	path: string,
	url: string,
	tell: Tell,
): Promise<MoveReport> {
	using from = openSource(path, tell);
	const broken = await checkSource(createSqliteStore(from, realClock), findKeysFor(path, config), path, tell);
	const counts = countCopied(from);
	const { log } = createLog("silent", { instance: "", role: "command", version: "" });
	const setting = { kind: "postgres", url, ...POSTGRES_DEFAULTS } as const;
	const target = openPostgres(setting, { clock: realClock, log, name: "ringback-move" });
	try {
		await refuseOthers(target.db);
		await target.migrate(realClock.nowMs(), { tell });
		await target.transact((trx) => fill(from, { counts, broken }, trx, tell));
		return { counts, broken };
	} finally {
		await target.close();
	}
}

function openSource(path: string, tell: Tell): DatabaseSync {
	if (!existsSync(path)) throw new BackupError(`There is no database file ${path}. Correct DATABASE_URL.`);
	tell("checking the database's pages");
	const [damage] = findDamage(path);
	if (damage !== undefined) throw new BackupError(`${path} is damaged: ${damage}. Restore a backup first.`);
	const alone = openAlone(path);
	if (alone !== null) return alone;
	throw new BackupError(
		`Something works on ${path} just now. Stop the service first, and every command that uses it.`,
	);
}

/**
 * Checks the SQLite file. Violated rules of the ledger do not prevent the move, but they must be the same in
 * both databases.
 */
async function checkSource(
	source: Store,
	keys: readonly Uint8Array[],
	path: string,
	tell: Tell,
): Promise<readonly BrokenRule[]> {
	const { schema, schemaProblem, ledger, sealed } = await checkStore(source, keys, tell);
	if (schemaProblem !== null) throw new BackupError(`${path} cannot be moved: ${schemaProblem}`);
	if (schema.version !== MIGRATIONS.length) {
		throw new BackupError(
			`${path} has schema version ${schema.version}, and this Ringback moves version ${MIGRATIONS.length}. If the file is older, run \`ringback migrate\` first. If it is newer, use a newer Ringback.`,
		);
	}
	if (isReplacing(await readSealingKey(source.db))) {
		throw new BackupError(
			`The replacement of the sealing key in ${path} is not finished. Run \`ringback rekey\` to its end, then move.`,
		);
	}
	if (sealed.total > 0 && (sealed.unopened === null || sealed.isWrongKey)) {
		throw new BackupError(
			`The key that opens the signing secrets in ${path} is not here. Put its .key file beside it, or set RINGBACK_SECRET_KEY: the service needs the same key on PostgreSQL.`,
		);
	}
	return ledger?.broken ?? [];
}

async function refuseOthers(db: Db): Promise<void> {
	const { version } = await findSchema(db);
	const tables = (await db.introspection.getTables()).filter(({ isView }) => !isView);
	if (version > 0 || tables.length === 0) return;
	throw new BackupError(
		`The PostgreSQL database has tables of another program, such as ${tables[0]?.name}. Create a database for Ringback alone, and name that one.`,
	);
}

/**
 * Copies all rows and compares the two databases. It throws if they differ, and the transaction is then
 * rolled back.
 */
async function fill(from: DatabaseSync, { counts, broken }: MoveReport, trx: Db, tell: Tell): Promise<void> {
	const filled = await findFilled(trx, counts);
	if (filled.length > 0) {
		throw new BackupError(
			`The PostgreSQL database is not empty: there are rows in ${filled.join(", ")}. Nothing was changed. Create an empty database and name that one. If an earlier run of this command came to its end there, the move is done.`,
		);
	}
	await copyRows(from, counts, trx, tell);
	tell("checking the ledger of the new database");
	const there = await countRows(trx, counts);
	const ledger = await checkLedger({ db: trx });
	const differing = [...counts.keys()].filter((table) => there.get(table) !== counts.get(table));
	if (differing.length === 0 && JSON.stringify(ledger.broken) === JSON.stringify(broken)) return;
	const problems = ledger.broken.map(({ count, problem }) => `${count} ${problem}`);
	throw new BackupError(
		`The new database does not agree with the file, so nothing of it was kept: ${[...differing, ...problems].join("; ")}.`,
	);
}
