// One line of decided history: what it says by itself, and what that is in the currency and at the rates of its programme.

import {
	DECIDED_STATUSES,
	type DecidedStatus,
	EVENT_TYPES,
	type EventType,
	parseEventType,
	parseReason,
	REASONS,
	type Reason,
} from "../domain/conversion.ts";
import { type Result, refuse, succeed } from "../domain/fault.ts";
import { parseAmount, shareOf } from "../domain/money.ts";
import { parseOrderId } from "../domain/order-id.ts";
import { saleTimeProblem } from "../domain/sale-time.ts";
import { DAY_MS } from "../domain/time.ts";
import type { Programme } from "../store/queries/programmes.ts";
import { reasonWord } from "./bulk-row.ts";
import { type Cells, cellOf, type ImportColumn, pointed } from "./import-kind.ts";
import { readWrittenTime } from "./written-time.ts";

export const HISTORY_COLUMNS: readonly ImportColumn[] = [
	{ name: "programme", means: "Its name as it is here, or its id (prg_…)." },
	// With a space more or less it would be the name of another order.
	{ name: "order_id", means: "The shop's own order number.", keepsSpace: true },
	{ name: "event_type", means: `${EVENT_TYPES.join(", ")}. Left out, it is SALE.`, isOptional: true },
	{
		name: "status",
		means: "approved, rejected or reversed. Conversions that are still open cannot come in.",
	},
	{
		name: "sold_at",
		means:
			"2026-02-01, 2026-02-01 10:15, 2026-02-01T10:15:00+01:00 or 01.02.2026 10:15. In UTC unless it says otherwise.",
	},
	{ name: "decided_at", means: "When it was decided, written like sold_at.", isOptional: true },
	{ name: "amount", means: "129.90 or 129,90, without a separator for thousands." },
	{ name: "currency", means: "Only to make sure: it must be the programme's.", isOptional: true },
	{
		name: "commission",
		means: "An amount, not a percentage. Left out, it follows from the programme's rate.",
		isOptional: true,
	},
	{ name: "fee", means: "An amount, like commission.", isOptional: true },
	{
		name: "reason",
		means: `Where it is rejected or reversed: ${REASONS.join(", ")}, or in words such as Out of stock. Write OTHER where the old software kept none.`,
		isOptional: true,
	},
];

export interface History {
	orderId: string;
	eventType: EventType;
	status: DecidedStatus;
	soldAtMs: number;
	decidedAtMs: number | null;
	basket: string;
	commission: string;
	fee: string;
	reason: Reason | null;
	/** Which of them the file says itself; the others follow from the programme's rates of this moment. */
	says: { commission: boolean; fee: boolean };
}

export function eventTypeOf(cells: Cells): string {
	return cellOf(cells, "event_type").toUpperCase() || "SALE";
}

export function readHistory(cells: Cells, programme: Programme, nowMs: number): Result<History> {
	const orderId = parseOrderId(cellOf(cells, "order_id"));
	if (!orderId.ok) return refuse(orderId.fault.code, orderId.fault.plain ?? orderId.fault.detail);
	const eventType = parseEventType(eventTypeOf(cells));
	if (!eventType.ok) return eventType;
	const status = readStatus(cellOf(cells, "status"));
	if (!status.ok) return status;
	const times = readTimes(cells, nowMs);
	if (!times.ok) return times;
	const money = readMoney(cells, programme);
	if (!money.ok) return money;
	const reason = readReason(cellOf(cells, "reason"), status.value);
	if (!reason.ok) return reason;
	return succeed({
		orderId: orderId.value,
		eventType: eventType.value,
		status: status.value,
		...times.value,
		...money.value,
		reason: reason.value,
	});
}

/** Also as decisions are written. */
const STATUS_WORDS: ReadonlyMap<string, DecidedStatus> = new Map([
	...DECIDED_STATUSES.map((status) => [status.toLowerCase(), status] as const),
	["approve", "APPROVED"],
	["reject", "REJECTED"],
	["reverse", "REVERSED"],
]);
const OPEN_WORDS = ["recorded", "open", "pending", "new", "parked", "waiting"];

function readStatus(text: string): Result<DecidedStatus> {
	const word = text.toLowerCase();
	const status = STATUS_WORDS.get(word);
	if (status !== undefined) return succeed(status);
	// Its shop waits for the decision, and its callbacks would begin in the middle.
	const detail = OPEN_WORDS.includes(word)
		? `A conversion that is still ${word} cannot be imported: only decided ones can, because imports send no callbacks. Decide it in the old software first, or let the shop report it with POST /v1/conversions.`
		: "The status must be approved, rejected or reversed.";
	return refuse("invalid_field", detail, "status");
}

function readTimes(cells: Cells, nowMs: number): Result<Pick<History, "soldAtMs" | "decidedAtMs">> {
	const soldAt = readMoment("sold_at", cellOf(cells, "sold_at"), nowMs);
	if (!soldAt.ok) return soldAt;
	const decidedText = cellOf(cells, "decided_at");
	if (decidedText === "") return succeed({ soldAtMs: soldAt.value, decidedAtMs: null });
	const decidedAt = readMoment("decided_at", decidedText, nowMs);
	if (!decidedAt.ok) return decidedAt;
	// A day without a time begins at midnight: what was sold and decided on one day may seem to be decided first.
	if (decidedAt.value <= soldAt.value - DAY_MS) {
		return refuse("invalid_field", "decided_at is before sold_at. Correct one of the two.", "decided_at");
	}
	return succeed({ soldAtMs: soldAt.value, decidedAtMs: decidedAt.value });
}

function readMoment(column: string, text: string, nowMs: number): Result<number> {
	const atMs = readWrittenTime(text);
	const refuseTime = (sentence: string) => refuse("invalid_field", `${column} ${sentence}`, column);
	if (text === "") return refuseTime("is missing.");
	if (atMs === null) {
		return refuseTime("must be a time such as 2026-03-01 13:30 or 2026-03-01T13:30:00+01:00, or a day.");
	}
	const problem = saleTimeProblem(atMs, nowMs);
	return problem === null ? succeed(atMs) : refuseTime(problem);
}

function readMoney(
	cells: Cells,
	{ currency, commission_rate, fee_rate }: Programme,
): Result<Pick<History, "basket" | "commission" | "fee" | "says">> {
	const said = cellOf(cells, "currency").toUpperCase();
	if (said !== "" && said !== currency) {
		const detail = `The programme is in ${currency}, and the line in ${said}. Convert the amounts, or correct the currency.`;
		return refuse("wrong_currency", detail, "currency");
	}
	const read = (column: string) => parseAmount(pointed(cellOf(cells, column)), currency, column);
	const basket = read("amount");
	if (!basket.ok) return basket;
	const says = { commission: cellOf(cells, "commission") !== "", fee: cellOf(cells, "fee") !== "" };
	const commission = says.commission ? read("commission") : succeed(shareOf(basket.value, commission_rate));
	if (!commission.ok) return commission;
	const fee = says.fee ? read("fee") : succeed(shareOf(basket.value, fee_rate));
	if (!fee.ok) return fee;
	return succeed({ basket: basket.value, commission: commission.value, fee: fee.value, says });
}

function readReason(text: string, status: DecidedStatus): Result<Reason | null> {
	if (status !== "APPROVED") {
		const reason = parseReason(reasonWord(text));
		if (reason.ok || text !== "") return reason;
		const detail = `A ${status.toLowerCase()} conversion needs a reason. Write OTHER where the old software kept none.`;
		return refuse("missing_reason", detail, "reason");
	}
	if (text === "") return succeed(null);
	return refuse("unknown_field", "An approved conversion has no reason. Leave the reason empty.", "reason");
}
