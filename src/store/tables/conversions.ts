// Conversions and the history of their moves.

import type { Generated, Selectable } from "kysely";
import {
	type DecidedBy,
	EVENT_TYPES,
	type EventType,
	type Move,
	type Reason,
	type Source,
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

/**
 * Columns of `conversions` that we write. The database adds `list_kind` and `list_key`, which only the queries of lists
 * use.
 */
export interface ConversionsTable {
	id: Generated<number>;
	public_id: string;
	programme_id: number;
	order_id: string;
	event_type: EventType;
	status: Status;
	basket_value: string;
	commission: string;
	network_fee: string;
	currency: string;
	/**
	 * Rates from which commission and fee are computed now, as domain/rate.ts writes them. Both are 0 while nobody is
	 * credited in a programme that credits partners. Null for a conversion with amounts of other software, until they
	 * change.
	 */
	rates: string | null;
	/**
	 * Rate of the network fee, which is fixed when the conversion is recorded or confirmed, also if no fee is charged now.
	 * Null for a parked conversion, and for one that an earlier version recorded. `feeRateOf` in conversions/later-credit.ts
	 * then finds the rate.
	 */
	fee_rate: string | null;
	/**
	 * The partnership that had the conversion first, and its commission, in the form of a rate in `rates`. Both are null
	 * until the conversion gets another partner.
	 */
	first_partnership_id: number | null;
	first_commission: string | null;
	/** Sum of all partial refunds, or null if there are none. `basket_value` is what is left. */
	refunded_value: string | null;
	reason: Reason | null;
	test: 0 | 1;
	source: Source;
	/** Amount that a pixel reported, if the server's amount has replaced it. */
	pixel_basket_value: string | null;
	/** Time at which the shop's server confirmed what a pixel had reported, or null. */
	confirmed_at_ms: number | null;
	decided_by: DecidedBy | null;
	occurred_at_ms: number;
	/**
	 * Time of recording. It rises with the ids except at `recording_breaks`, so that lists can find a time by a search over
	 * the ids.
	 */
	created_at_ms: number;
	/**
	 * End of the approval window (RECORDED), or of the wait for a confirmation (PARKED, EXPIRED). Expired conversions are
	 * removed some time after it. Null for every other status, and if only a pixel has reported the sale.
	 */
	window_ends_at_ms: number | null;
	/** Time of the last change. It is later than the time of recording exactly if the conversion changed after that. */
	updated_at_ms: number;
	/**
	 * Time of the last approval, rejection or reversal. For an imported conversion it is the time in the file, or null if
	 * the file has none.
	 */
	decided_at_ms: number | null;
}

export type Conversion = Selectable<ConversionsTable>;
export type NewConversion = Omit<Conversion, "id">;

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
