import type { Generated, Selectable } from "kysely";
import type { Reason } from "#core/domain/conversion.ts";
import { moduleTable } from "#core/store/module-parts.ts";

declare module "#core/store/schema/tables.ts" {
	interface Schema {
		refunds: RefundsTable;
	}
}

/** One row is a refund of a part of a conversion's value. */
export interface RefundsTable {
	id: Generated<number>;
	programme_id: number;
	conversion_id: number;
	/** The shop's name for the refund, unique within the conversion. */
	refund_id: string;
	amount: string;
	/** Value of the conversion that was left after the refund. */
	basket_value: string;
	reason: Reason;
	/** The person who entered the refund on a page, or null if the shop's server reported it. */
	person_id: number | null;
	at_ms: number;
}

export type Refund = Selectable<RefundsTable>;
/** A refund without its row number. */
export type NewRefund = Omit<Refund, "id">;

export const REFUNDS = moduleTable<NewRefund>({
	name: "refunds",
	columns: {
		programme_id: "bigint",
		conversion_id: "bigint",
		refund_id: "text",
		amount: "text",
		basket_value: "text",
		reason: "text",
		person_id: "bigint",
		at_ms: "bigint",
	},
	writtenWith: "corrections",
});
