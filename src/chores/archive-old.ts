// Conversions and audit entries past a retention of their own: written to files first, removed afterwards. A file takes
// many batches, so that a network with millions of them does not get as many files; each batch is removed by itself.
// One process at a time is on duty (store/archive-duty). One that dies after a file was written leaves its rows to the
// next, which writes them again: no line is lost, some may come twice.

import { DAY_MS, isoTime } from "../domain/time.ts";
import type { Archive, Clock, Log } from "../ports.ts";
import { endDuty, renewDuty, takeDuty } from "../store/archive-duty.ts";
import {
	listOldAuditEntries,
	listOldConversions,
	type OldRows,
	removeArchived,
	removeAuditEntries,
} from "../store/archive-rows.ts";
import type { Store } from "../store/store.ts";

export interface ArchiveSettings {
	archive: Archive;
	/** Null: kept for ever. */
	conversionDays: number | null;
	auditDays: number | null;
}

export interface ArchiveDeps {
	store: Store;
	clock: Clock;
	log: Log;
	/** Null when nothing is ever archived. */
	archiving: ArchiveSettings | null;
}

const BATCH_ROWS = 500;
/** About 6 MB of text, a tenth of it compressed. */
const MAX_FILE_ROWS = 10_000;

export async function archiveOld(deps: ArchiveDeps, isStopping: () => boolean): Promise<void> {
	const { store, clock, archiving } = deps;
	if (archiving === null) return;
	const takenMs = await store.transact((trx) => takeDuty(trx, clock.nowMs()));
	if (takenMs === null) return;
	let untilMs = takenMs;
	const renew = async (): Promise<void> => {
		const renewedMs = await store.transact((trx) => renewDuty(trx, untilMs, clock.nowMs()));
		if (renewedMs === null)
			throw new Error("archiving stood still for so long that another process took over");
		untilMs = renewedMs;
	};
	try {
		await archiveOnDuty(deps, archiving, renew, isStopping);
	} finally {
		await store.transact((trx) => endDuty(trx, untilMs));
	}
}

async function archiveOnDuty(
	deps: ArchiveDeps,
	{ archive, conversionDays, auditDays }: ArchiveSettings,
	renew: () => Promise<void>,
	isStopping: () => boolean,
): Promise<void> {
	const { store, clock } = deps;
	if (conversionDays !== null) {
		const olderThanMs = clock.nowMs() - conversionDays * DAY_MS;
		await archiveAll(deps, archive, renew, isStopping, {
			what: "conversions",
			list: (afterId) => listOldConversions(store, afterId, olderThanMs, BATCH_ROWS),
			write: (row) => JSON.stringify(row),
			keep: ({ id, updated_at_ms }) => ({ id, updated_at_ms }),
			remove: (rows) => removeArchived(store, rows),
		});
	}
	if (auditDays !== null) {
		const olderThanMs = clock.nowMs() - auditDays * DAY_MS;
		await archiveAll(deps, archive, renew, isStopping, {
			what: "audit-entries",
			list: (afterId) => listOldAuditEntries(store, afterId, olderThanMs, BATCH_ROWS),
			write: (row) => JSON.stringify(row),
			keep: ({ id }) => id,
			remove: (ids) => removeAuditEntries(store.db, ids),
		});
	}
}

interface Kind<Row, Kept> {
	/** The files begin with it. */
	what: string;
	list(afterId: number): Promise<OldRows<Row>>;
	write(row: Row): string;
	/** What is needed to remove it. */
	keep(row: Row): Kept;
	remove(rows: readonly Kept[]): Promise<number>;
}

async function archiveAll<Row, Kept>(
	{ clock, log }: ArchiveDeps,
	archive: Archive,
	renew: () => Promise<void>,
	isStopping: () => boolean,
	kind: Kind<Row, Kept>,
): Promise<void> {
	let nextId: number | null = 0;
	/** The batch that a file begins with: without one, no file is made. */
	let first = await nextRows();
	while (first.length > 0 && !isStopping()) {
		const written: Kept[][] = [];
		const lines = async function* (): AsyncIterable<string> {
			let count = 0;
			for (let rows = first; rows.length > 0; rows = await nextRows()) {
				written.push(rows.map(kind.keep));
				yield* rows.map(kind.write);
				count += rows.length;
				// A stop leaves a file that is shorter, and whole.
				if (count >= MAX_FILE_ROWS || isStopping()) break;
				await clock.yieldLoop();
			}
		};
		const name = `${kind.what}-${isoTime(clock.nowMs()).slice(0, 19).replaceAll(":", "-")}Z`;
		const file = await archive.store(name, lines());
		let removed = 0;
		for (const rows of written) {
			await renew();
			removed += await kind.remove(rows);
			await clock.yieldLoop();
		}
		log.info({ file, what: kind.what, removed }, "old records were archived and removed");
		first = await nextRows();
	}

	async function nextRows(): Promise<readonly Row[]> {
		while (nextId !== null && !isStopping()) {
			await renew();
			const found: OldRows<Row> = await kind.list(nextId);
			nextId = found.nextId;
			if (found.rows.length > 0) return found.rows;
			await clock.yieldLoop();
		}
		return [];
	}
}
