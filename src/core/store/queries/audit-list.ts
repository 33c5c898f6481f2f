// Reads the audit log for the search and the export by staff, the newest entries first. Every filter uses an index.

import type { Selectable } from "kysely";
import type { Job } from "#modules/jobs/store/jobs.ts";
import type { StoredAction } from "../../domain/action.ts";
import { MINUTE_MS } from "../../domain/time.ts";
import type { Db } from "../store.ts";
import type { AuditEntriesTable } from "../tables/notices.ts";
import {
	type ListPage,
	type ListWalk,
	type PageRequest,
	readListPage,
	walkAll,
	walkNewest,
} from "./list-page.ts";

export interface AuditFilter {
	personId?: number | undefined;
	programmeId?: number | undefined;
	action?: StoredAction | undefined;
	fromMs?: number | undefined;
	beforeMs?: number | undefined;
}

export interface ListedAuditEntry extends Selectable<AuditEntriesTable> {
	/** Email address of the person who acted, or null for the command line and the service itself. */
	email: string | null;
	name: string | null;
	programme: string | null;
	programmeName: string | null;
	/** Name of the API token with which a program acted in the person's name, or null. */
	tokenName: string | null;
}

/**
 * Maximum time by which entries can be out of order. Ids rise with time, but a transaction that had to wait may store
 * an earlier time under a higher id. No transaction lasts this long.
 */
const OUT_OF_ORDER_MS = MINUTE_MS;

export async function listAudit(
	db: Db,
	filter: AuditFilter,
	page: PageRequest,
): Promise<ListPage<ListedAuditEntry>> {
	return readListPage(await walkAudit(db, filter), page);
}

export async function* readAllAudit(
	db: Db,
	filter: AuditFilter,
	batchRows: number,
): AsyncGenerator<readonly ListedAuditEntry[]> {
	for await (const { rows } of walkAll(await walkAudit(db, filter), batchRows)) yield rows;
}

async function walkAudit(db: Db, filter: AuditFilter): Promise<ListWalk<ListedAuditEntry>> {
	const { personId, programmeId, action } = filter;
	const entries = selectEntries(db, filter, await findBounds(db, filter));
	// Each of these three filters uses its own index. If a count combined two of them, it might read all rows that one
	// of them finds.
	const indexed = [personId, programmeId, action].filter((value) => value !== undefined);
	return walkNewest(db, entries, "audit_entries.id", { isCountable: indexed.length <= 1 });
}

/** Range of ids that contains all entries of the period. Both ends are excluded. */
interface IdBounds {
	above: number;
	below: number;
}

/** Returns the id of an entry that is certainly before the period, and the id of one that is certainly after it. */
async function findBounds(db: Db, { fromMs, beforeMs }: AuditFilter): Promise<IdBounds> {
	const one = db.selectFrom("audit_entries").select("id").limit(1);
	const earlier = one.where("at_ms", "<", (fromMs ?? 0) - OUT_OF_ORDER_MS).orderBy("at_ms", "desc");
	const later = one.where("at_ms", ">=", (beforeMs ?? 0) + OUT_OF_ORDER_MS).orderBy("at_ms");
	const above = fromMs === undefined ? undefined : await earlier.orderBy("id", "desc").executeTakeFirst();
	const below = beforeMs === undefined ? undefined : await later.orderBy("id").executeTakeFirst();
	return { above: above?.id ?? 0, below: below?.id ?? Number.MAX_SAFE_INTEGER };
}

function selectEntries(
	db: Db,
	{ personId, programmeId, action, fromMs, beforeMs }: AuditFilter,
	{ above, below }: IdBounds,
) {
	let query = db
		.selectFrom("audit_entries")
		.leftJoin("people", "people.id", "audit_entries.person_id")
		.leftJoin("programmes", "programmes.id", "audit_entries.programme_id")
		.leftJoin("api_tokens", "api_tokens.id", "audit_entries.token_id")
		.selectAll("audit_entries")
		.select(["people.email", "people.name"])
		.select(["programmes.public_id as programme", "programmes.name as programmeName"])
		.select("api_tokens.name as tokenName")
		.where("audit_entries.id", "<", below);
	if (above > 0) query = query.where("audit_entries.id", ">", above);
	if (personId !== undefined) query = query.where("audit_entries.person_id", "=", personId);
	if (programmeId !== undefined) query = query.where("audit_entries.programme_id", "=", programmeId);
	if (action !== undefined) query = query.where("audit_entries.action", "=", action);
	if (fromMs !== undefined) query = query.where("audit_entries.at_ms", ">=", fromMs);
	if (beforeMs !== undefined) query = query.where("audit_entries.at_ms", "<", beforeMs);
	return query;
}

// Names under which people know the subjects of audit entries, such as the order of a conversion or of a callback,
// the file of a job, or the name of a person. Each table is read once, by a unique column.

export interface AuditSubjects {
	orders: ReadonlyMap<string, string>;
	callbacks: ReadonlyMap<string, { event: string; orderId: string }>;
	jobs: ReadonlyMap<string, Pick<Job, "file_name">>;
	people: ReadonlyMap<string, string>;
}

/** Returns the names of the subjects. Subjects that retention has removed are missing. */
export async function readAuditSubjects(
	db: Db,
	entries: readonly { subject: string | null }[],
): Promise<AuditSubjects> {
	const subjects = new Set(entries.flatMap(({ subject }) => subject ?? []));
	// Neither database accepts an empty list, so the list always contains the id "none", which does not exist.
	const subjectsWith = (part: string) => [
		...[...subjects].filter((subject) => subject.includes(part)),
		"none",
	];
	const orders = await db
		.selectFrom("conversions")
		.select(["public_id", "order_id"])
		.where("public_id", "in", subjectsWith("cnv_"))
		.execute();
	const callbacks = await db
		.selectFrom("events")
		.innerJoin("conversions", "conversions.id", "events.conversion_id")
		.select(["events.public_id", "events.name as event", "conversions.order_id as orderId"])
		.where("events.public_id", "in", subjectsWith("dlv_"))
		.execute();
	const jobs = await db
		.selectFrom("jobs")
		.select(["public_id", "file_name"])
		.where("public_id", "in", subjectsWith("job_"))
		.execute();
	const people = await db
		.selectFrom("people")
		.select(["email", "name"])
		.where("email", "in", subjectsWith("@"))
		.execute();
	return {
		orders: new Map(orders.map(({ public_id, order_id }) => [public_id, order_id])),
		callbacks: new Map(callbacks.map(({ public_id, ...callback }) => [public_id, callback])),
		jobs: new Map(jobs.map(({ public_id, ...job }) => [public_id, job])),
		people: new Map(people.map(({ email, name }) => [email, name])),
	};
}
