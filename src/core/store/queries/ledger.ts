// Checks rules that the rows of every database must satisfy, whichever program wrote them and however they were
// restored. Each rule is checked by one statement for each range of ids. A statement sees a single snapshot of a
// database in use, takes a fraction of a second, and holds no rows in memory.

import { type RawBuilder, sql } from "kysely";
import { IMPORTED_STATUSES, type LivedMove, moveRule } from "../../domain/conversion.ts";
import type { Db, Store } from "../store.ts";

export interface BrokenRule {
	/** Description of the problem. It follows the number of rows, for example "rows of the queue have no event". */
	problem: string;
	count: number;
	examples: readonly number[];
}

export interface LedgerReport {
	rules: number;
	broken: readonly BrokenRule[];
}

export interface LedgerRule {
	problem: string;
	/** Table, and the column whose values are checked in ranges. An index must begin with this column. */
	table: string;
	key: string;
	/** FROM clause of the check, in which `r` is the row to be checked. */
	from: string;
	/** SQL condition for rows that break the rule. */
	where: string;
	/** Number of ids in a range, for a rule that reads many rows to check one id. The default is `IDS_AT_ONCE`. */
	idsAtOnce?: number;
	/** Column that identifies a row that breaks the rule. The default is `key`. */
	shown?: string;
	/**
	 * Name of the migration that added the columns or tables that the rule reads. Backups from before that migration
	 * are not checked.
	 */
	since?: string;
}

/**
 * Number of ids in a range. Checking a range takes some hundredths of a second, and PostgreSQL ends our statements
 * after 15 seconds.
 */
const IDS_AT_ONCE = 20_000;
const EXAMPLES = 5;
export const RATES_ON_RECORD = "rates on record";

const ANNOUNCING = ["record", "approve", "reject", "reverse"] as const satisfies readonly LivedMove[];
const MOVES: readonly LivedMove[] = [...ANNOUNCING, "park", "confirm", "credit", "refund", "expire"];
const MOVE_OF_EVENT = `case r.name ${ANNOUNCING.map((move) => `when '${moveRule(move).announces}' then '${move}'`).join(" ")} end`;
const STATUS_OF_MOVE = `case r.move ${MOVES.map((move) => `when '${move}' then ${statusSql(move)}`).join(" ")} end`;
const IS_IMPORT = `(r.move = 'import' and r.to_status in (${IMPORTED_STATUSES.map((status) => `'${status}'`).join(", ")}))`;

/** SQL condition for an event `r` that tells a partner about a sale. */
export const IS_FOR_PARTNER =
	"exists (select 1 from receivers partner where partner.id = r.receiver_id and partner.kind = 'partner')";

/**
 * SQL for the number of the newest attempt of the delivery `r`, and for its run. Both are null if the delivery was
 * never tried.
 */
const NEWEST_SEQ = "(select max(newest.seq) from attempts newest where newest.delivery_id = r.id)";
const NEWEST_RUN = "(select max(newest.run) from attempts newest where newest.delivery_id = r.id)";
/** SQL condition for an attempt `a` that was answered with 2xx. */
const SUCCEEDED = "(a.http_status is not null and a.http_status between 200 and 299)";

/**
 * Rules for invariants 1 to 3, 5 and 12 of ARCHITECTURE.md, as far as rows can show violations and the core is
 * responsible. Modules add further rules.
 */
export const CORE_RULES: readonly LedgerRule[] = [
	{
		problem: "rows of the queue have no event",
		...rangesOf("queue"),
		where: "not exists (select 1 from events e where e.id = r.id)",
	},
	{
		problem: "undelivered rows have no event",
		...rangesOf("undelivered"),
		where: "not exists (select 1 from events e where e.id = r.id)",
	},
	{
		problem: "deliveries have ended undelivered and are still in the queue",
		...rangesOf("undelivered"),
		where: "exists (select 1 from queue q where q.id = r.id)",
	},
	{
		problem: "rows of the queue do not agree with the attempts of their run",
		...rangesOf("queue"),
		where: `r.seq <> coalesce(${NEWEST_SEQ}, 0) or r.run < coalesce(${NEWEST_RUN}, 1)
			or r.counted <> (select count(*) from attempts a where a.delivery_id = r.id and a.run = r.run)`,
	},
	{
		problem: "deliveries have succeeded in their run and are still in the queue",
		...rangesOf("queue"),
		where: `exists (select 1 from attempts a where a.delivery_id = r.id and a.run = r.run and ${SUCCEEDED})`,
	},
	{
		problem: "failed deliveries have no failed attempt in the run that ended",
		...rangesOf("undelivered"),
		where: `r.state = 'failed' and not exists (select 1 from attempts a
			where a.delivery_id = r.id and a.run = r.run and a.seq = ${NEWEST_SEQ} and not ${SUCCEEDED})`,
	},
	{
		problem: "events are neither in the queue nor undelivered, and no attempt succeeded, so they are lost",
		...rangesOf("events"),
		where: `not exists (select 1 from queue q where q.id = r.id)
			and not exists (select 1 from undelivered u where u.id = r.id)
			and not exists (select 1 from attempts a where a.delivery_id = r.id and a.seq = ${NEWEST_SEQ} and ${SUCCEEDED})`,
	},
	{
		problem: "events belong to no conversion",
		...rangesOf("events"),
		where: `not exists (select 1 from conversions c where c.id = r.conversion_id)
			and (r.conversion_id is not null or not ${IS_FOR_PARTNER})`,
	},
	{
		problem: "events announce a move that their conversion never made",
		...rangesOf("events"),
		where: `r.conversion_id is not null and not exists (select 1 from moves m where m.conversion_id = r.conversion_id
			and (m.move = ${MOVE_OF_EVENT} or (${IS_FOR_PARTNER}
				and (m.move = 'credit' or (m.move = 'confirm' and r.name = 'conversion.recorded')))))`,
	},
	{
		problem: "events tell a shop about a sale of another programme",
		...rangesOf("events"),
		where: `exists (select 1 from receivers s where s.id = r.receiver_id and s.kind = 'shop'
			and not exists (select 1 from conversions c where c.id = r.conversion_id and c.programme_id = s.programme_id))`,
	},
	{
		problem: "conversions have another status than their moves lead to",
		...rangesOf("conversions"),
		where: `coalesce((select m.to_status from moves m where m.conversion_id = r.id
			order by m.conversion_id desc, m.id desc limit 1), '') <> r.status`,
	},
	{
		problem: "conversions belong to no programme",
		...rangesOf("conversions"),
		where: "not exists (select 1 from programmes p where p.id = r.programme_id)",
	},
	{
		problem: "moves belong to no conversion",
		...rangesOf("moves", "conversion_id"),
		where: "not exists (select 1 from conversions c where c.id = r.conversion_id)",
	},
	{
		problem: "moves lead to a status that they cannot lead to",
		...rangesOf("moves", "conversion_id"),
		where: `coalesce(${STATUS_OF_MOVE}, '') <> r.to_status and not ${IS_IMPORT}`,
	},
	{
		problem: "programmes have no receiver, so that their shops get no callbacks",
		...rangesOf("programmes"),
		where: "not exists (select 1 from receivers s where s.programme_id = r.id and s.kind = 'shop')",
	},
	{
		problem: "receivers belong to no programme and to no partner",
		...rangesOf("receivers"),
		where: `not exists (select 1 from programmes p where p.id = r.programme_id)
			and not exists (select 1 from partners p where p.id = r.partner_id)`,
	},
	{
		problem: "receivers have a Postback URL that is not on record",
		...rangesOf("receivers"),
		where: `r.endpoint_id is not null
			and not exists (select 1 from endpoints e where e.id = r.endpoint_id and e.receiver_id = r.id)`,
	},
	{
		problem: "conversions are charged at another network fee than the one that was recorded with them",
		...rangesOf("conversions"),
		where: "r.fee_rate is not null and r.rates <> '0 0' and r.rates not like '% ' || r.fee_rate",
		since: RATES_ON_RECORD,
	},
	{
		problem: "programmes have other rates than the newest on record",
		...rangesOf("programmes"),
		where: `not exists (select 1 from programme_rates h where h.programme_id = r.id
			and h.commission_rate = r.commission_rate and h.fee_rate = r.fee_rate and h.event_rates = r.event_rates
			and h.from_ms = (select max(from_ms) from programme_rates n where n.programme_id = r.id))`,
		since: RATES_ON_RECORD,
	},
];

export function rangesOf(table: string, key = "id"): Pick<LedgerRule, "table" | "key" | "from"> {
	return { table, key, from: `${table} r` };
}

/**
 * Checks the rules and reports them in the given order. A service may use the database at the same time, because each
 * statement is independent of the others.
 */
export async function checkRules(
	{ db }: Pick<Store, "db">,
	allRules: readonly LedgerRule[],
): Promise<LedgerReport> {
	const broken: BrokenRule[] = [];
	const ranges = new Map<string, IdRange>();
	const migrations = await db.selectFrom("schema_versions").select("name").execute();
	const presentMigrations = new Set(migrations.map(({ name }) => name));
	const rules = allRules.filter(({ since }) => since === undefined || presentMigrations.has(since));
	for (const rule of rules) {
		const column = `${rule.table}.${rule.key}`;
		const range = ranges.get(column) ?? (await findRange(db, rule));
		ranges.set(column, range);
		const found = await checkRanges(db, rule, range);
		if (found.count > 0) broken.push(found);
	}
	return { rules: rules.length, broken };
}

interface IdRange {
	first: number;
	last: number;
}

async function findRange(db: Db, { table, key }: LedgerRule): Promise<IdRange> {
	const column = sql.ref(key);
	// The lowest and the highest id are read by separate statements, because only then do both databases read just one
	// entry of the index.
	const readEnd = async (aggregate: RawBuilder<unknown>): Promise<number | null> => {
		const { rows } = await sql<{
			end: number | null;
		}>`select ${aggregate} as "end" from ${sql.table(table)}`.execute(db);
		return rows[0]?.end ?? null;
	};
	const first = await readEnd(sql`min(${column})`);
	const last = await readEnd(sql`max(${column})`);
	return { first: first ?? 0, last: last ?? -1 };
}

async function checkRanges(
	db: Db,
	{ problem, key, from, where, idsAtOnce = IDS_AT_ONCE, shown = key }: LedgerRule,
	{ first, last }: IdRange,
): Promise<BrokenRule> {
	let count = 0;
	const examples: number[] = [];
	for (let start = first; start <= last; start += idsAtOnce) {
		const to = Math.min(start + idsAtOnce - 1, last);
		const column = sql.ref(`r.${key}`);
		const { rows } = await sql<{ id: number }>`select ${sql.ref(`r.${shown}`)} as id from ${sql.raw(from)}
			where ${column} between ${start} and ${to} and (${sql.raw(where)})`.execute(db);
		count += rows.length;
		for (const { id } of rows.slice(0, EXAMPLES - examples.length)) examples.push(id);
	}
	return { problem, count, examples };
}

/**
 * Returns SQL for the status after the move. For a move that does not change the status, the SQL accepts every status
 * from which the move may start.
 */
function statusSql(move: LivedMove): string {
	const { from, to } = moveRule(move);
	if (to !== null) return `'${to}'`;
	return `case when r.to_status in (${from.map((status) => `'${status}'`).join(", ")}) then r.to_status end`;
}
