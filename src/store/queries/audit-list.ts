// The whole audit log as staff search it and take it away as a file: the newest first, along an index whatever is asked
// for.

import type { Selectable } from "kysely";
import type { AuditAction } from "../../domain/action.ts";
import { MINUTE_MS } from "../../domain/time.ts";
import type { Db } from "../store.ts";
import type { AuditEntriesTable } from "../tables/audit.ts";
import { type ListPage, type PageRequest, readNewestFirst } from "./list-page.ts";

export interface AuditFilter {
	personId?: number | undefined;
	programmeId?: number | undefined;
	action?: AuditAction | undefined;
	fromMs?: number | undefined;
	beforeMs?: number | undefined;
}

export interface ListedAuditEntry extends Selectable<AuditEntriesTable> {
	/** Who did it; null for the command line, or the service itself. */
	email: string | null;
	name: string | null;
	/** The programme's public id and name. */
	programme: string | null;
	programmeName: string | null;
}

/**
 * Numbers follow the time, but a transaction that waited may have written an earlier time under a later number. None
 * lives for so long.
 */
const OUT_OF_ORDER_MS = MINUTE_MS;

export async function listAudit(
	db: Db,
	filter: AuditFilter,
	page: PageRequest,
): Promise<ListPage<ListedAuditEntry>> {
	const bounds = await findBounds(db, filter);
	return readNewestFirst(page, (beforeId, limit) => readEntries(db, filter, bounds, beforeId, limit));
}

/** All of it, a batch at a time. */
export async function* readAllAudit(
	db: Db,
	filter: AuditFilter,
	batchRows: number,
): AsyncGenerator<readonly ListedAuditEntry[]> {
	const bounds = await findBounds(db, filter);
	let beforeId = Number.MAX_SAFE_INTEGER;
	for (;;) {
		const batch = await readEntries(db, filter, bounds, beforeId, batchRows);
		yield batch;
		const last = batch.at(-1);
		if (last === undefined || batch.length < batchRows) return;
		beforeId = last.id;
	}
}

/** Both are outside of it. */
interface IdBounds {
	above: number;
	below: number;
}

/** Where a period begins and ends among the numbers: at entries that are surely earlier and surely later. */
async function findBounds(db: Db, { fromMs, beforeMs }: AuditFilter): Promise<IdBounds> {
	const one = db.selectFrom("audit_entries").select("id").limit(1);
	const earlier =
		fromMs === undefined
			? undefined
			: await one
					.where("at_ms", "<", fromMs - OUT_OF_ORDER_MS)
					.orderBy("at_ms", "desc")
					.orderBy("id", "desc")
					.executeTakeFirst();
	const later =
		beforeMs === undefined
			? undefined
			: await one
					.where("at_ms", ">=", beforeMs + OUT_OF_ORDER_MS)
					.orderBy("at_ms")
					.orderBy("id")
					.executeTakeFirst();
	return { above: earlier?.id ?? 0, below: later?.id ?? Number.MAX_SAFE_INTEGER };
}

function readEntries(
	db: Db,
	{ personId, programmeId, action, fromMs, beforeMs }: AuditFilter,
	{ above, below }: IdBounds,
	beforeId: number,
	limit: number,
): Promise<ListedAuditEntry[]> {
	let query = db
		.selectFrom("audit_entries")
		.leftJoin("people", "people.id", "audit_entries.person_id")
		.leftJoin("programmes", "programmes.id", "audit_entries.programme_id")
		.selectAll("audit_entries")
		.select(["people.email", "people.name"])
		.select(["programmes.public_id as programme", "programmes.name as programmeName"])
		.where("audit_entries.id", "<", Math.min(beforeId, below))
		.orderBy("audit_entries.id", "desc")
		.limit(limit);
	if (above > 0) query = query.where("audit_entries.id", ">", above);
	if (personId !== undefined) query = query.where("audit_entries.person_id", "=", personId);
	if (programmeId !== undefined) query = query.where("audit_entries.programme_id", "=", programmeId);
	if (action !== undefined) query = query.where("audit_entries.action", "=", action);
	if (fromMs !== undefined) query = query.where("audit_entries.at_ms", ">=", fromMs);
	if (beforeMs !== undefined) query = query.where("audit_entries.at_ms", "<", beforeMs);
	return query.execute();
}
