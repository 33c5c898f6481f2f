// One row of many decisions, checked with the words that the signed API would use.

import { type EventType, parseEventType } from "../domain/conversion.ts";
import { type Result, refuse, succeed } from "../domain/fault.ts";
import { parseOrderId } from "../domain/order-id.ts";
import type { BulkRow } from "../store/bulk-rows.ts";
import type { Decision } from "./decide.ts";
import { judgeDecision, parseMove, type Side } from "./decision-rights.ts";

export interface RawRow {
	line: number;
	orderId: string;
	eventType: string;
	decision: string;
	reason: string;
}

export interface CheckedRow extends RawRow {
	/** Settled by looking at it alone: it makes no sense, or asks for nothing. */
	verdict: "malformed" | "left" | null;
	/** Why it makes no sense. */
	problem: string | null;
}

export interface OrderDecision {
	orderId: string;
	eventType: EventType;
	decision: Decision;
}

/** Longer than anything that makes sense; the rest of a cell is of no use to anybody. */
const MAX_KEPT_CHARACTERS = 200;

/** `lineByOrder` is what the rows before this one are about. */
export function checkRow(raw: RawRow, lineByOrder: Map<string, number>): CheckedRow {
	const tidy = {
		line: raw.line,
		orderId: raw.orderId.trim(),
		eventType: raw.eventType.trim().toUpperCase() || "SALE",
		decision: raw.decision.trim().toLowerCase(),
		reason: raw.reason.trim().toUpperCase(),
	};
	// As most lines of an export to which a decision column was added.
	if (tidy.decision === "") return { ...keepShowable(tidy), verdict: "left", problem: null };
	const problem = findProblem(tidy, lineByOrder);
	if (problem === null) return { ...tidy, verdict: null, problem };
	return { ...keepShowable(tidy), verdict: "malformed", problem };
}

function findProblem(row: RawRow, lineByOrder: Map<string, number>): string | null {
	// In the name of the shop, which may decide everything: who is deciding is judged where it is known.
	const parsed = parseRow(row, "shop");
	if (!parsed.ok) return parsed.fault.detail;
	const key = `${parsed.value.eventType} ${parsed.value.orderId}`;
	const earlier = lineByOrder.get(key);
	if (earlier !== undefined)
		return `Line ${earlier} already decides this order. Keep one line for each order.`;
	lineByOrder.set(key, row.line);
	return null;
}

function parseRow(
	row: Pick<RawRow, "orderId" | "eventType" | "decision" | "reason">,
	side: Side,
): Result<OrderDecision> {
	const orderId = parseOrderId(row.orderId);
	if (!orderId.ok) return orderId;
	const eventType = parseEventType(row.eventType);
	if (!eventType.ok) return eventType;
	const move = parseMove(row.decision);
	if (!move.ok) return move;
	if (move.value === "approve" && row.reason !== "") {
		return refuse("unknown_field", "An approval has no reason. Leave the reason empty.", "reason");
	}
	const decision = judgeDecision(side, move.value, row.reason);
	if (!decision.ok) return decision;
	return succeed({ orderId: orderId.value, eventType: eventType.value, decision: decision.value });
}

/** The same from the store, where the columns have the database's names. */
export function parseStoredRow(row: BulkRow, side: Side): Result<OrderDecision> {
	return parseRow({ ...row, orderId: row.order_id, eventType: row.event_type }, side);
}

/** Whatever somebody's program wrote there: bounded, and nothing that a database refuses to store. */
function keepShowable(row: RawRow): RawRow {
	const keep = (text: string) =>
		text
			.slice(0, MAX_KEPT_CHARACTERS)
			.toWellFormed()
			.replace(/\p{Cc}/gu, "\u{FFFD}");
	return {
		line: row.line,
		orderId: keep(row.orderId),
		eventType: keep(row.eventType),
		decision: keep(row.decision),
		reason: keep(row.reason),
	};
}
