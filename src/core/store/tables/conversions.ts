import type { Generated, Selectable } from "kysely";
import {
	DECIDERS,
	type DecidedBy,
	EVENT_TYPES,
	type Move,
	REASONS,
	type Reason,
	SOURCES,
	STATUSES,
	type Status,
} from "../../domain/conversion.ts";

/**
 * SQL for the basket value in minor units. It works because an amount has exactly the number of decimals of its
 * currency. A query must use this very expression, or the databases do not use the index `conversions_by_basket`.
 */
export const BASKET_MINOR = "(cast(replace(basket_value, '.', '') as bigint))";

/** Factor of the list key, which is the programme's id times this number, plus the list kind. */
export const KINDS_PER_PROGRAMME = 128;

/** Returns the list kind, which is the same number in every programme. The schema computes it from each row. */
export function listKind({ status, event_type, test }: Pick<Conversion, "status" | "event_type" | "test">) {
	return STATUSES.indexOf(status) * 16 + EVENT_TYPES.indexOf(event_type) * 2 + test;
}

/** Name of a column's type on PostgreSQL. */
export type ColumnType = "text" | "integer" | "bigint";

/**
 * Kinds of columns, with their types on PostgreSQL. A "word" is one of a fixed list, and an "amount" has its
 * currency's decimals.
 */
const SQL_TYPES = {
	text: "text",
	word: "text",
	amount: "text",
	flag: "integer",
	reference: "bigint",
	time: "bigint",
} as const satisfies Readonly<Record<string, ColumnType>>;

interface KindTypes {
	text: string;
	amount: string;
	flag: 0 | 1;
	reference: number;
	time: number;
}

interface Column {
	kind: keyof typeof SQL_TYPES;
	/** Allowed values of a column of the kind "word". */
	words?: readonly string[];
	/**
	 * True if the column may be null. In a new conversion it is then null, unless the first report has a value for it.
	 */
	isNullable?: true;
	/**
	 * Kind of change that may change the column: a decision, or another move such as a refund or a correction. Lists
	 * are sorted only by columns that decisions do not change. Without `changedBy`, the column never changes.
	 */
	changedBy?: "decision" | "other moves";
}

/**
 * Columns of `conversions` that we write, except the id. The types of its rows and the lists of columns for statements
 * follow from this table. The database adds `list_kind` and `list_key`, which only the queries of lists use.
 */
export const COLUMNS = {
	public_id: { kind: "text" },
	programme_id: { kind: "reference" },
	order_id: { kind: "text" },
	event_type: { kind: "word", words: EVENT_TYPES },
	source: { kind: "word", words: SOURCES },
	/**
	 * Time of recording. It rises with the ids except at `recording_breaks`, so that lists can find a time by a binary
	 * search over the ids.
	 */
	created_at_ms: { kind: "time" },
	status: { kind: "word", words: STATUSES, changedBy: "decision" },
	commission: { kind: "amount", changedBy: "decision" },
	network_fee: { kind: "amount", changedBy: "decision" },
	currency: { kind: "text", changedBy: "decision" },
	/**
	 * Present rates of commission and fee, in the form of domain/rate.ts. If the programme credits partners, both are
	 * 0 until a partner is credited. Null if another software computed the amounts and they have not changed since.
	 */
	rates: { kind: "text", isNullable: true, changedBy: "decision" },
	/**
	 * Rate of the network fee. It is fixed when the conversion is recorded or confirmed, even if no fee is charged now.
	 * Null for a parked conversion, and for a conversion that an earlier version recorded. `feeRateOf` in
	 * modules/partners/use-cases/later-credit.ts then finds the rate.
	 */
	fee_rate: { kind: "text", isNullable: true, changedBy: "decision" },
	/**
	 * Partnership to which the conversion was credited first. Null until the conversion is credited to another partner.
	 */
	first_partnership_id: { kind: "reference", isNullable: true, changedBy: "decision" },
	/**
	 * Commission of the first partnership, in the same form as a rate in `rates`. Null if `first_partnership_id` is
	 * null.
	 */
	first_commission: { kind: "text", isNullable: true, changedBy: "decision" },
	reason: { kind: "word", words: REASONS, isNullable: true, changedBy: "decision" },
	test: { kind: "flag", changedBy: "decision" },
	/** Amount that a pixel reported, if the amount of the shop's server has replaced it. */
	pixel_basket_value: { kind: "amount", isNullable: true, changedBy: "decision" },
	/** Time at which the shop's server confirmed a sale that a pixel had reported. */
	confirmed_at_ms: { kind: "time", isNullable: true, changedBy: "decision" },
	decided_by: { kind: "word", words: DECIDERS, isNullable: true, changedBy: "decision" },
	/**
	 * Time of the last approval, rejection or reversal. For an imported conversion it is the time in the file, or null if
	 * the file has none.
	 */
	decided_at_ms: { kind: "time", isNullable: true, changedBy: "decision" },
	/**
	 * End of the approval window (RECORDED), or of the wait for a confirmation (PARKED, EXPIRED). Expired conversions are
	 * removed some time after it. Null for every other status, and if only a pixel has reported the sale.
	 */
	window_ends_at_ms: { kind: "time", isNullable: true, changedBy: "decision" },
	/**
	 * Time of the last change. It is later than the time of recording if and only if the conversion has changed since.
	 */
	updated_at_ms: { kind: "time", changedBy: "decision" },
	basket_value: { kind: "amount", changedBy: "other moves" },
	/** Sum of all partial refunds, or null if there were none. `basket_value` is the value that is left. */
	refunded_value: { kind: "amount", isNullable: true, changedBy: "other moves" },
	occurred_at_ms: { kind: "time", changedBy: "other moves" },
} as const satisfies Readonly<Record<string, Column>>;

type Columns = typeof COLUMNS;
type Stored<C extends Column> =
	| (C extends { words: readonly (infer Word)[] }
			? Word
			: C["kind"] extends keyof KindTypes
				? KindTypes[C["kind"]]
				: never)
	| (C extends { isNullable: true } ? null : never);

/** Row of a conversion without its id. */
export type NewConversion = { [Name in keyof Columns]: Stored<Columns[Name]> };

export interface ConversionsTable extends NewConversion {
	id: Generated<number>;
}

export type Conversion = Selectable<ConversionsTable>;

type ColumnsWhere<Wanted> = {
	[Name in keyof Columns as Columns[Name] extends Wanted ? Name : never]: ColumnType;
};

/**
 * Returns the columns that meet a condition, with their types. The condition must select the same columns as the type
 * `Wanted`.
 */
function columnsWhere<Wanted>(isWanted: (column: Column) => boolean): ColumnsWhere<Wanted> {
	const wanted = Object.entries<Column>(COLUMNS).filter(([, column]) => isWanted(column));
	return Object.fromEntries(
		wanted.map(([name, { kind }]) => [name, SQL_TYPES[kind]]),
	) as ColumnsWhere<Wanted>;
}

export const CONVERSION = columnsWhere<unknown>(() => true);

export const DECIDING = columnsWhere<{ changedBy: "decision" }>(({ changedBy }) => changedBy === "decision");

/** Columns that a move may change. The remaining columns identify a conversion and its origin. */
export const CHANGING = columnsWhere<{ changedBy: string }>(({ changedBy }) => changedBy !== undefined);

type NullableColumn = {
	[Name in keyof Columns]: Columns[Name] extends { isNullable: true } ? Name : never;
}[keyof Columns];

/** Null values for the columns of a new conversion that may be null. */
export const EMPTY_AT_START = Object.fromEntries(
	Object.entries<Column>(COLUMNS).flatMap(([name, { isNullable }]) => (isNullable ? [[name, null]] : [])),
) as { [Name in NullableColumn]: null };

/** Each row is an id at which times of recording start again, because the clock was set back. The database fills it. */
export interface RecordingBreaksTable {
	first_id: number;
}

/** Order ids for the search by any part. The database fills this table. See schema/first-schema/order-search.ts. */
export interface OrderSearchTable {
	rowid: number;
	/** Order id in the form in which the search reads it. Queries must compare it by LIKE with a lower-case pattern. */
	order_id: string;
}

/** Each row is a move of a conversion from one status to another. */
export interface MovesTable {
	id: Generated<number>;
	programme_id: number;
	conversion_id: number;
	move: Move;
	to_status: Status;
	decided_by: DecidedBy | null;
	person_id: number | null;
	reason: Reason | null;
	at_ms: number;
	/**
	 * Body of the event that the move announced, or null if the body can still be derived from the conversion. The body
	 * is stored when the amounts change after the move. If the move announced no event, it gets a body in the same
	 * form, because mails mention the amounts at the time of the move.
	 */
	announced_body: string | null;
	/** Partner to whom the conversion was credited before the move, or null if the move takes the credit from nobody. */
	lost_partner_id: number | null;
	/** Commission that the partner `lost_partner_id` had for the conversion. */
	lost_commission: string | null;
	/**
	 * Partner to whom the move credits the conversion, or null if the move does not change the partner or credits
	 * nobody. Null in moves of earlier versions.
	 */
	gained_partner_id: number | null;
}

/** Compares two conversions by the columns of the unique index conversions_by_order. */
export function byOrder(a: NewConversion, b: NewConversion): number {
	if (a.programme_id !== b.programme_id) return a.programme_id - b.programme_id;
	const [first, second] = [a, b].map(({ order_id, event_type }) => `${order_id}\n${event_type}`);
	return (first ?? "") < (second ?? "") ? -1 : 1;
}
