// The lifecycle as the house rules tell it, in the fewest words: what is reported, decided or left to wait, and
// what must come of it. Shares no code with the service.

export interface ModelConversion {
	status: string;
	basketValue: string;
	/** What the pixel had claimed, once the shop's own postback replaced it. */
	pixelBasketValue: string | null;
	isTest: boolean;
	reason: string | null;
	/** Names of what the shop was owed, in order. */
	events: string[];
	/** When the window ends, or the wait for confirmation; null when there is nothing to wait for. */
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
	const { programme, source, order, basketValue, isTest } = report;
	const key = keyOf(programme, order);
	const known = model.conversions.get(key);
	if (known === undefined) {
		const parks = source === "pixel" && programme === "parking";
		const made: ModelConversion = {
			status: parks ? "PARKED" : "RECORDED",
			basketValue,
			pixelBasketValue: null,
			isTest,
			reason: null,
			events: [],
			endsAtMs: nowMs + WINDOW_MS,
		};
		model.conversions.set(key, made);
		if (!parks) owe(model, programme, made, "conversion.recorded");
		return made.status;
	}
	if (source === "postback" && known.status === "EXPIRED") return "conversion_expired";
	if (source === "pixel" || known.status !== "PARKED") return "DUPLICATE";
	known.status = "RECORDED";
	known.pixelBasketValue = known.basketValue;
	known.basketValue = basketValue;
	known.isTest = isTest;
	known.endsAtMs = nowMs + WINDOW_MS;
	return "CONFIRMED";
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
		conversion.endsAtMs = null;
		if (conversion.status === "PARKED") conversion.status = "EXPIRED";
		else {
			conversion.status = "APPROVED";
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
