// The life of a conversion, and which event each step announces (contract section 3).
//
//   none ──record──────────▶ RECORDED   conversion.recorded
//   none ──park────────────▶ PARKED     (never on the wire; pixels only)
//   PARKED ──confirm───────▶ RECORDED   no event: the answer to the shop's own postback says it
//   PARKED ──expire────────▶ EXPIRED    (never on the wire)
//   RECORDED ──confirm─────▶ RECORDED   no event; only what a pixel reported and no server has confirmed
//   EXPIRED | REJECTED | REVERSED, likewise: the server's report is a new conversion of the order (none ──record─▶),
//                                       and this one stays as it is
//   RECORDED ──approve─────▶ APPROVED   conversion.approved
//   RECORDED ──reject──────▶ REJECTED   conversion.rejected (final)
//   RECORDED | APPROVED ──reverse──▶ REVERSED   conversion.reversed (final)
//   none ──import──────────▶ APPROVED | REJECTED | REVERSED   no event: it was decided in other software, before
//
// Anyone can call a pixel, so a pixel call never takes anything from the shop's server: it cannot block an order,
// its amount and time hold only until the server reports them, and the approval window passes over what only a pixel has
// reported.
//
// Repeating the move that already happened changes nothing and sends nothing. Every other move is
// refused, and the refusal names the present status.

import type { EventName } from "./event-name.ts";
import { type Fault, faultOf, type Result, refusalOf, succeed } from "./fault.ts";

export const STATUSES = ["PARKED", "EXPIRED", "RECORDED", "APPROVED", "REJECTED", "REVERSED"] as const;
export type Status = (typeof STATUSES)[number];

export const EVENT_TYPES = ["SALE", "LEAD", "SIGNUP", "SUBSCRIPTION", "RENEWAL", "INSTALL", "OTHER"] as const;
export type EventType = (typeof EVENT_TYPES)[number];

export const REASONS = [
	"RETURN",
	"CANCELLED",
	"PAYMENT_FAILED",
	"CHARGEBACK",
	"OUT_OF_STOCK",
	"DUPLICATE",
	"FRAUD",
	"TERMS_VIOLATION",
	"SELF_REFERRAL",
	"OTHER_CHANNEL",
	"INVALID_LEAD",
	"TEST_ORDER",
	"TRACKING_ERROR",
	"OTHER",
] as const;
export type Reason = (typeof REASONS)[number];

/**
 * Who reported the sale: the shop's server, a browser (which anyone can be), a test from the pages, or a file of what was
 * decided in other software.
 */
export const SOURCES = ["postback", "pixel", "test", "import"] as const;
export type Source = (typeof SOURCES)[number];
/** Who may report one now. */
export type Reporter = Exclude<Source, "import">;

/** Who decided: the shop, the service's review team, or nobody but the approval window. */
export const DECIDERS = ["shop", "review", "window"] as const;
export type DecidedBy = (typeof DECIDERS)[number];

/** What happens to a conversion here. */
export type LivedMove = ReportMove | "credit" | "expire" | "approve" | "reject" | "reverse";

/** An import is the first move of what happened elsewhere: it ends where the other software left the conversion. */
export type Move = LivedMove | "import";

/** What can be imported: with everything else, somebody would still have to be told. */
export const DECIDED_STATUSES = ["APPROVED", "REJECTED", "REVERSED"] as const satisfies readonly Status[];
export type DecidedStatus = (typeof DECIDED_STATUSES)[number];

interface MoveRule {
	/** Where it starts, besides a first report: see judgeReport. */
	from: readonly Status[];
	to: Status;
	announces: EventName | null;
	/** Past participle for sentences: "cannot be approved". */
	done: string;
}

const MOVES: Readonly<Record<LivedMove, MoveRule>> = {
	record: {
		from: ["EXPIRED", "REJECTED", "REVERSED"],
		to: "RECORDED",
		announces: "conversion.recorded",
		done: "recorded",
	},
	park: { from: [], to: "PARKED", announces: null, done: "parked" },
	confirm: { from: ["PARKED", "RECORDED"], to: "RECORDED", announces: null, done: "confirmed" },
	// Another partner than was known so far has brought the sale. The amounts follow, and the next event tells them.
	credit: { from: ["RECORDED"], to: "RECORDED", announces: null, done: "credited" },
	expire: { from: ["PARKED"], to: "EXPIRED", announces: null, done: "expired" },
	approve: { from: ["RECORDED"], to: "APPROVED", announces: "conversion.approved", done: "approved" },
	reject: { from: ["RECORDED"], to: "REJECTED", announces: "conversion.rejected", done: "rejected" },
	reverse: {
		from: ["RECORDED", "APPROVED"],
		to: "REVERSED",
		announces: "conversion.reversed",
		done: "reversed",
	},
};

/** Moves that are judged by the status alone. What a report does is judged by judgeReport. */
type DecisionOrExpiry = Exclude<LivedMove, ReportMove | "credit">;

/** Where a move starts and ends, and what it announces. */
export function moveRule(move: LivedMove): MoveRule {
	return MOVES[move];
}

/** Null where nobody is told: imported history was told by whoever decided it. */
export function announcedBy(move: Move): EventName | null {
	return move === "import" ? null : MOVES[move].announces;
}

interface NamedConversion {
	order_id: string;
	public_id: string;
}

/**
 * What is over has told its events, each of which is told once, so what the server reports after it is a conversion with
 * an ID of its own. The order's name goes to that one, and the old one's name gets its own ID behind it, which no report
 * can have guessed.
 */
export function nameAsReplaced({ order_id, public_id }: NamedConversion): string {
	return `${order_id} (${public_id})`;
}

/** As it was reported: what events and the API say. */
export function reportedOrderId({ order_id, public_id }: NamedConversion): string {
	const mark = ` (${public_id})`;
	return order_id.endsWith(mark) ? order_id.slice(0, -mark.length) : order_id;
}

export type MoveVerdict = { kind: "apply" } | { kind: "already" } | { kind: "refuse"; fault: Fault };

export function judgeMove(present: Status, move: DecisionOrExpiry): MoveVerdict {
	const rule = MOVES[move];
	if (rule.from.includes(present)) return { kind: "apply" };
	if (present === rule.to) return { kind: "already" };
	const places = { status: present, done: rule.done, advice: advice(present, rule) };
	return { kind: "refuse", fault: faultOf("move_not_allowed", places, plainRefusal(present, rule)) };
}

function advice(present: Status, rule: MoveRule): string {
	if (present === "PARKED") return "Confirm it first with POST /v1/conversions.";
	if (present === "EXPIRED") return "Report the sale first with POST /v1/conversions.";
	return `Only a conversion that is ${rule.from.join(" or ")} can be ${rule.done}.`;
}

/** For people: no word of the API, and statuses as they read on pages. */
function plainRefusal(present: Status, rule: MoveRule): string {
	if (present === "PARKED") {
		return `This conversion is parked until the shop's server confirms the order. It can be ${rule.done} after that.`;
	}
	if (present === "EXPIRED") {
		return `This conversion is expired: the shop's server did not confirm it in time. It can be ${rule.done} once the server reports the sale.`;
	}
	const from = rule.from.join(" or ").toLowerCase();
	return `This conversion is ${present.toLowerCase()} and cannot be ${rule.done}. Only one that is ${from} can.`;
}

export type ReportMove = "record" | "park" | "confirm";

/** What is known of an order when somebody reports it. */
export interface KnownOrder {
	status: Status;
	source: Source;
	/** The shop's server has confirmed what a pixel reported. */
	isConfirmed: boolean;
}

export type ReportVerdict = { kind: "apply"; move: ReportMove } | { kind: "duplicate" };

/**
 * What a report makes of an order; `known` is null for the first report. No pixel reports a test, and a test confirms
 * nothing: the sale would leave the totals, and who may not decide could decide about it.
 */
export function judgeReport(
	{ source, isTest }: { source: Reporter; isTest: boolean },
	parksPixels: boolean,
	known: KnownOrder | null,
): ReportVerdict {
	const move = reportMove(source, parksPixels, known);
	if (move === null || (move === "confirm" && isTest)) return { kind: "duplicate" };
	const mayStart = known === null || MOVES[move].from.includes(known.status);
	return mayStart ? { kind: "apply", move } : { kind: "duplicate" };
}

function reportMove(source: Reporter, parksPixels: boolean, known: KnownOrder | null): ReportMove | null {
	if (known === null) return source === "pixel" && parksPixels ? "park" : "record";
	if (source === "pixel" || known.source !== "pixel" || known.isConfirmed) return null;
	return MOVES.record.from.includes(known.status) ? "record" : "confirm";
}

export function parseEventType(text: string): Result<EventType> {
	const eventType = EVENT_TYPES.find((known) => known === text);
	if (eventType !== undefined) return succeed(eventType);
	return refusalOf("unknown_event_type", { known: EVENT_TYPES.join(", ") });
}

/** Mandatory for rejections and reversals: a shop that reads "rejected" must be able to read why. */
export function parseReason(text: string | undefined): Result<Reason> {
	const known = REASONS.join(", ");
	if (text === undefined || text === "") {
		return refusalOf("missing_reason", { known }, "Choose a reason first: the callback names it.");
	}
	const reason = REASONS.find((known) => known === text);
	if (reason !== undefined) return succeed(reason);
	return refusalOf("unknown_reason", { known }, "There is no such reason. Choose one.");
}

/** Only a pixel has reported it, which anybody can call: the shop's server has yet to say how much it was and who brought it. */
export function isByPixelAlone({
	source,
	confirmed_at_ms,
}: {
	source: Source;
	confirmed_at_ms: number | null;
}): boolean {
	return source === "pixel" && confirmed_at_ms === null;
}
