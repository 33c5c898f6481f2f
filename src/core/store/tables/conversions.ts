// Conversions and the history of their moves.

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

/** PostgreSQL's name for the type of a column. */
export type ColumnType = "text" | "integer" | "bigint";

/** The kinds of columns, with the type of PostgreSQL. A word is one of a fixed list, and an amount has its decimals. */
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
	/** The words of a column of this kind. */
	words?: readonly string[];
	/** True if the column may be null. It then is null in a new conversion, unless the first report has a value for it. */
	isNullable?: true;
	/**
	 * What may change the column: a decision, or also another move, such as a refund or a correction. Lists are sorted by
	 * the columns that only other moves change. Without it, the column stays as it was inserted.
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
	 * Time of recording. It rises with the ids except at `recording_breaks`, so that lists can find a time by a search over
	 * the ids.
	 */
	created_at_ms: { kind: "time" },
	status: { kind: "word", words: STATUSES, changedBy: "decision" },
	commission: { kind: "amount", changedBy: "decision" },
	network_fee: { kind: "amount", changedBy: "decision" },
	currency: { kind: "text", changedBy: "decision" },
	/**
	 * Rates from which commission and fee are computed now, as domain/rate.ts writes them. Both are 0 while nobody is
	 * credited in a programme that credits partners. Null for a conversion with amounts of other software, until they
	 * change.
	 */
	rates: { kind: "text", isNullable: true, changedBy: "decision" },
	/**
	 * Rate of the network fee, which is fixed when the conversion is recorded or confirmed, also if no fee is charged now.
	 * Null for a parked conversion, and for one that an earlier version recorded. `feeRateOf` in
	 * modules/partners/use-cases/later-credit.ts then finds the rate.
	 */
	fee_rate: { kind: "text", isNullable: true, changedBy: "decision" },
	/** The partnership that had the conversion first. Null until the conversion gets another partner. */
	first_partnership_id: { kind: "reference", isNullable: true, changedBy: "decision" },
	/** Commission of the first partnership, in the form of a rate in `rates`. It is null together with it. */
	first_commission: { kind: "text", isNullable: true, changedBy: "decision" },
	reason: { kind: "word", words: REASONS, isNullable: true, changedBy: "decision" },
	test: { kind: "flag", changedBy: "decision" },
	/** Amount that a pixel reported, if the server's amount has replaced it. */
	pixel_basket_value: { kind: "amount", isNullable: true, changedBy: "decision" },
	/** Time at which the shop's server confirmed what a pixel had reported. */
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
	/** Time of the last change. It is later than the time of recording exactly if the conversion changed after that. */
	updated_at_ms: { kind: "time", changedBy: "decision" },
	basket_value: { kind: "amount", changedBy: "other moves" },
	/** Sum of all partial refunds, or null if there are none. `basket_value` is what is left. */
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

/** A conversion without its row number. */
export type NewConversion = { [Name in keyof Columns]: Stored<Columns[Name]> };

export interface ConversionsTable extends NewConversion {
	id: Generated<number>;
}

export type Conversion = Selectable<ConversionsTable>;

type ColumnsWhere<Wanted> = {
	[Name in keyof Columns as Columns[Name] extends Wanted ? Name : never]: ColumnType;
};

/** Returns the columns that meet a condition, with their types. The condition must select the same columns as `Wanted`. */
function columnsWhere<Wanted>(isWanted: (column: Column) => boolean): ColumnsWhere<Wanted> {
	const wanted = Object.entries<Column>(COLUMNS).filter(([, column]) => isWanted(column));
	return Object.fromEntries(
		wanted.map(([name, { kind }]) => [name, SQL_TYPES[kind]]),
	) as ColumnsWhere<Wanted>;
}

export const CONVERSION = columnsWhere<unknown>(() => true);

/** Columns that a decision changes. */
export const DECIDING = columnsWhere<{ changedBy: "decision" }>(({ changedBy }) => changedBy === "decision");

/** Columns that a move may change. The remaining columns identify a conversion and its origin. */
export const CHANGING = columnsWhere<{ changedBy: string }>(({ changedBy }) => changedBy !== undefined);

type NullableColumn = {
	[Name in keyof Columns]: Columns[Name] extends { isNullable: true } ? Name : never;
}[keyof Columns];

/** The values of a new conversion in the columns that may be null. */
export const EMPTY_AT_START = Object.fromEntries(
	Object.entries<Column>(COLUMNS).flatMap(([name, { isNullable }]) => (isNullable ? [[name, null]] : [])),
) as { [Name in NullableColumn]: null };

/** One row is an id at which times of recording start again, because the clock was set back. The database fills it. */
export interface RecordingBreaksTable {
	first_id: number;
}

/** Order ids for the search by any part. The database fills it. See schema/first-schema/order-search.ts. */
export interface OrderSearchTable {
	/** The conversion's id. */
	rowid: number;
	/** Order id as the search sees it. Queries must compare it by LIKE with a pattern in lower case. */
	order_id: string;
}

/** One row is a move of a conversion from one status to another. */
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
	 * is stored when the amounts change afterwards. A move that announced no event gets a body in the same form then,
	 * because mails name the amounts of its time.
	 */
	announced_body: string | null;
	/** Partner to whom the conversion was credited before the move, or null if the move takes the credit from nobody. */
	lost_partner_id: number | null;
	/** Commission that this partner had for the conversion. */
	lost_commission: string | null;
	/**
	 * Partner to whom the move credits the conversion, or null if it leaves the partner as it is or credits nobody. Moves
	 * of earlier versions have null.
	 */
	gained_partner_id: number | null;
}

/** Compares two conversions by the columns of the unique index conversions_by_order. */
export function byOrder(a: NewConversion, b: NewConversion): number {
	if (a.programme_id !== b.programme_id) return a.programme_id - b.programme_id;
	const [first, second] = [a, b].map(({ order_id, event_type }) => `${order_id}\n${event_type}`);
	return (first ?? "") < (second ?? "") ? -1 : 1;
}
