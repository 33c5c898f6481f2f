// "Why is order 1234 not here?": what is known of an order id, what came in for it, and, when nothing did, the
// refused calls that could have been it.

import { listConversions } from "../store/queries/conversion-list.ts";
import type { Conversion } from "../store/queries/conversions.ts";
import { type ListedCall, listInboundCalls, resultOf } from "../store/queries/inbound-calls.ts";
import type { Db } from "../store/store.ts";

export interface OrderExplanation {
	orderId: string;
	conversions: readonly Conversion[];
	/** Calls that named the order, the newest first. */
	calls: readonly ListedCall[];
	/** The same order in another spelling, when this one is unknown. */
	otherSpelling: string | null;
	/** When nothing names it: refused before its body was read, the newest first. */
	unreadCalls: readonly ListedCall[];
}

const MAX_SHOWN = 10;

export async function explainOrder(db: Db, programmeId: number, orderId: string): Promise<OrderExplanation> {
	const { rows: conversions } = await listConversions(db, { programmeId, orderId, limit: MAX_SHOWN });
	const calls = await listInboundCalls(db, { programmeId, orderId, limit: MAX_SHOWN });
	const isUnknown = conversions.length === 0 && calls.rows.length === 0;
	return {
		orderId,
		conversions,
		calls: calls.rows,
		otherSpelling: conversions.length === 0 ? await findOtherSpelling(db, programmeId, orderId) : null,
		unreadCalls: isUnknown ? await listUnread(db, programmeId) : [],
	};
}

async function findOtherSpelling(db: Db, programmeId: number, orderId: string): Promise<string | null> {
	const bare = orderId.replace(/^#/, "");
	const spellings = new Set([
		bare,
		`#${bare}`,
		orderId.toUpperCase(),
		orderId.toLowerCase(),
		bare.replace(/^0+/, ""),
	]);
	for (const spelling of spellings) {
		if (spelling === orderId || spelling === "") continue;
		const { rows } = await listConversions(db, { programmeId, orderId: spelling, limit: 1 });
		if (rows.length > 0) return spelling;
	}
	return null;
}

async function listUnread(db: Db, programmeId: number): Promise<ListedCall[]> {
	const { rows } = await listInboundCalls(db, { programmeId, result: "refused", limit: MAX_SHOWN });
	return rows.filter((call) => call.orderId === null && resultOf(call) === "refused");
}
