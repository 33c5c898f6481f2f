// The lifecycle as the house rules tell it, in the fewest words: what is reported, decided or left to wait, and
// what must come of it. Shares no code with the service.

export interface ModelConversion {
	status: string;
	basketValue: string;
	/** What the pixel had claimed, once the shop's own postback replaced it. */
	pixelBasketValue: string | null;
	/** Nobody but a pixel has spoken for it so far. */
	isHearsay: boolean;
	occurredAtMs: number;
	isTest: boolean;
	reason: string | null;
	/** Names of what the shop was owed, in order. */
	events: string[];
	/** When the window ends, or the wait for confirmation ends or ended; null when it was decided. */
	endsAtMs: number | null;
}

export interface Model {
	/** By programme, order and event type. */
	conversions: Map<string, ModelConversion>;
	/** Programmes that have a Postback URL now. */
	withUrl: Set<string>;
}

export interface ModelReport {
	programme: "parking" | "recording";
	source: "pixel" | "postback";
	order: string;
	basketValue: string;
	/** Null when it does not say. */
	occurredAtMs: number | null;
	isTest: boolean;
}

export type ModelMove = "approve" | "reject" | "reverse";

/** Ours in these tests: the same for both waits. */
export const WINDOW_MS = 30 * 24 * 60 * 60_000;

const MOVES = {
	approve: { from: ["RECORDED"], to: "APPROVED", event: "conversion.approved" },
	reject: { from: ["RECORDED"], to: "REJECTED", event: "conversion.rejected" },
	reverse: { from: ["RECORDED", "APPROVED"], to: "REVERSED", event: "conversion.reversed" },
} as const;

/** Gives the outcome word, or the code of the refusal. */
export function modelReport(model: Model, report: ModelReport, nowMs: number): string {
	const { programme, source, order, basketValue, isTest, occurredAtMs } = report;
	const key = keyOf(programme, order);
	const known = model.conversions.get(key);
	if (known === undefined) {
		const parks = source === "pixel" && programme === "parking";
		const made: ModelConversion = {
			status: parks ? "PARKED" : "RECORDED",
			basketValue,
			pixelBasketValue: null,
			isHearsay: source === "pixel",
			occurredAtMs: occurredAtMs ?? nowMs,
			isTest,
			reason: null,
			events: [],
			endsAtMs: nowMs + WINDOW_MS,
		};
		model.conversions.set(key, made);
		if (!parks) owe(model, programme, made, "conversion.recorded");
		return made.status;
	}
	const isOpen = ["PARKED", "EXPIRED", "RECORDED"].includes(known.status);
	if (source === "pixel" || !known.isHearsay || !isOpen) return "DUPLICATE";
	const isLate = known.status === "EXPIRED";
	known.status = "RECORDED";
	known.pixelBasketValue = known.basketValue;
	known.basketValue = basketValue;
	known.isHearsay = false;
	known.occurredAtMs = occurredAtMs ?? nowMs;
	known.isTest = isTest;
	known.endsAtMs = nowMs + WINDOW_MS;
	// What was held or announced before is not announced again.
	if (isLate) owe(model, programme, known, "conversion.recorded");
	return isLate ? "RECORDED" : "CONFIRMED";
}

export function modelDecide(
	model: Model,
	programme: string,
	order: string,
	move: ModelMove,
	reason: string | null,
): string {
	const known = model.conversions.get(keyOf(programme, order));
	if (known === undefined) return "unknown_order";
	const { from, to, event } = MOVES[move];
	if (known.status === to) return to;
	if (!from.some((status) => status === known.status)) return "move_not_allowed";
	known.status = to;
	known.reason = reason;
	known.endsAtMs = null;
	owe(model, programme, known, event);
	return to;
}

/** Windows end: what was recorded is approved, what was parked expires. */
export function modelWait(model: Model, nowMs: number): void {
	for (const [key, conversion] of model.conversions) {
		if (conversion.endsAtMs === null || conversion.endsAtMs > nowMs) continue;
		const [programme = ""] = key.split(" ");
		if (conversion.status === "PARKED") {
			conversion.status = "EXPIRED";
			conversion.endsAtMs = nowMs;
		}
		if (conversion.status === "RECORDED") {
			conversion.status = "APPROVED";
			conversion.endsAtMs = null;
			owe(model, programme, conversion, "conversion.approved");
		}
	}
}

export function keyOf(programme: string, order: string): string {
	return `${programme} ${order}`;
}

/** Without a URL at that moment nothing is owed, ever. */
function owe(model: Model, programme: string, conversion: ModelConversion, event: string): void {
	if (model.withUrl.has(programme)) conversion.events.push(event);
}
