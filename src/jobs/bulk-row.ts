// One row of many decisions: which conversion it names, and what it decides, checked with the words that the signed
// API would use.

import type { Decision } from "../conversions/decide.ts";
import { type DecisionMove, judgeDecision, parseMove, type Side } from "../conversions/decide.ts";
import { parseEventType } from "../domain/conversion.ts";
import { type Result, refuse, succeed } from "../domain/fault.ts";
import { MAX_ORDER_ID_CHARACTERS, parseOrderId } from "../domain/order-id.ts";

export interface RawRow {
	line: number;
	/** Empty where the line names none, and is about an order. */
	conversionId: string;
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

/** In UTF-16 units. The longest that makes sense is an order id of characters that take two each, as emoji do. */
const MAX_KEPT_UNITS = 2 * MAX_ORDER_ID_CHARACTERS;
/** As domain/id makes them. */
const CONVERSION_ID = /^cnv_[0-9A-Z]{26}$/;

/** As people write it who have seen the status that comes of it. */
const DECISION_WORDS: ReadonlyMap<string, DecisionMove> = new Map([
	["approved", "approve"],
	["rejected", "reject"],
	["reversed", "reverse"],
]);

export function checkRow(raw: RawRow): CheckedRow {
	const conversionId = raw.conversionId.trim();
	const row = keepShowable({
		line: raw.line,
		conversionId,
		// As it is: with a space more or less it would be the name of another order.
		orderId: raw.orderId,
		eventType: raw.eventType.trim().toUpperCase() || (conversionId === "" ? "SALE" : ""),
		decision: DECISION_WORDS.get(raw.decision.trim().toLowerCase()) ?? raw.decision.trim().toLowerCase(),
		reason: reasonWord(raw.reason),
	});
	// As most lines of an export to which a decision column was added.
	if (row.decision === "") return { ...row, verdict: "left", problem: null };
	const problem = findProblem({ ...row, orderId: raw.orderId });
	return { ...row, verdict: problem === null ? null : "malformed", problem };
}

/** "Out of stock", as the page writes it, is OUT_OF_STOCK. */
export function reasonWord(text: string): string {
	return text
		.trim()
		.toUpperCase()
		.replace(/[\s_-]+/g, "_");
}

function findProblem(row: RawRow): string | null {
	const target = checkTarget(row);
	if (!target.ok) return target.fault.detail;
	// In the name of the shop, which may decide everything: who is deciding is judged where it is known.
	const decision = parseDecision(row, "shop");
	return decision.ok ? null : decision.fault.detail;
}

/** That it names a conversion or an order. Whether there is one is looked up later, a batch of rows at a time. */
function checkTarget({ conversionId, orderId, eventType }: RawRow): Result<unknown> {
	if (conversionId === "") {
		const order = parseOrderId(orderId);
		return order.ok ? parseEventType(eventType) : order;
	}
	if (!CONVERSION_ID.test(conversionId)) {
		return refuse(
			"invalid_field",
			"conversionId must be one from an export, such as cnv_01KZ…, or be left empty to decide by orderId.",
			"conversionId",
		);
	}
	// The orderId is not held against what may come in today: it is compared with the one on record.
	return eventType === "" ? succeed(eventType) : parseEventType(eventType);
}

/** Of a row as it was read, or as it is stored. */
export function parseDecision(
	{ decision, reason }: Pick<RawRow, "decision" | "reason">,
	side: Side,
): Result<Decision> {
	const move = parseMove(decision);
	if (!move.ok) return move;
	if (move.value === "approve" && reason !== "") {
		return refuse("unknown_field", "An approval has no reason. Leave the reason empty.", "reason");
	}
	return judgeDecision(side, move.value, reason);
}

/** Whatever somebody's program wrote there: bounded, and nothing that a database refuses to store. */
function keepShowable(row: RawRow): RawRow {
	const keep = (text: string) =>
		text
			.slice(0, MAX_KEPT_UNITS)
			.toWellFormed()
			.replace(/\p{Cc}/gu, "\u{FFFD}");
	return {
		line: row.line,
		conversionId: keep(row.conversionId),
		orderId: keep(row.orderId),
		eventType: keep(row.eventType),
		decision: keep(row.decision),
		reason: keep(row.reason),
	};
}
