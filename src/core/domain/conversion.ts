// The life of a conversion, and the event that each move announces (contract section 3).
//
//   none ──record──────────▶ RECORDED   conversion.recorded
//   none ──park────────────▶ PARKED     (never on the wire; pixels only)
//   PARKED ──confirm───────▶ RECORDED   no event, because the answer to the shop's own sale report says it
//   PARKED ──expire────────▶ EXPIRED    (never on the wire)
//   RECORDED ──confirm─────▶ RECORDED   no event; only for a conversion that a pixel alone has reported
//   EXPIRED | REJECTED | REVERSED, reported by a pixel alone: the server's report becomes a new conversion of the order
//                                       (none ──record─▶), and the old one stays as it is
//   RECORDED ──approve─────▶ APPROVED   conversion.approved
//   RECORDED ──reject──────▶ REJECTED   conversion.rejected (final)
//   RECORDED | APPROVED ──reverse──▶ REVERSED   conversion.reversed (final)
//   RECORDED | APPROVED ──refund───▶ same       no event; a part of the value was refunded. The rest would be a reversal
//   RECORDED | APPROVED ──credit───▶ same       no event; the sale is credited to another partner
//   none ──import──────────▶ RECORDED | APPROVED | REJECTED | REVERSED   no event, because the shop knows it from other
//                                       software. Later moves of an imported conversion announce their events as usual
//
// Anyone can call a pixel, so a pixel call never overrides the shop's server. It cannot block an order, its amount and time
// count only until the server reports them, and the approval window never approves a conversion that a pixel alone reported.
//
// Repeating a move that has already happened changes nothing and sends nothing. Every other move is refused, and the
// refusal names the present status.

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
 * The source of a sale report: the shop's server, a tracking pixel in a browser (which anybody can call), a
 * test from the pages, or an imported file with conversions of other software.
 */
export const SOURCES = ["postback", "pixel", "test", "import"] as const;
export type Source = (typeof SOURCES)[number];
/**
 * Sources of reports about new sales. An import is not one of them, because other software has recorded its
 * conversions.
 */
export type Reporter = Exclude<Source, "import">;

/**
 * The party that decided about a conversion: the shop, the network's review team, or the end of the approval
 * window.
 */
export const DECIDERS = ["shop", "review", "window"] as const;
export type DecidedBy = (typeof DECIDERS)[number];

/**
 * A move that happens in this service. An import is not one of them, because it repeats what happened in
 * other software.
 */
export type LivedMove = ReportMove | "credit" | "refund" | "expire" | "approve" | "reject" | "reverse";

/**
 * Any move of a conversion. "import" is the first move of a conversion that comes from other software, and
 * sets its status.
 */
export type Move = LivedMove | "import";

export const DECIDED_STATUSES = ["APPROVED", "REJECTED", "REVERSED"] as const satisfies readonly Status[];
export type DecidedStatus = (typeof DECIDED_STATUSES)[number];

/**
 * Statuses that an imported conversion can have. RECORDED means that it is not decided yet, and its partner must then
 * be known.
 */
export const IMPORTED_STATUSES = ["RECORDED", ...DECIDED_STATUSES] as const;
export type ImportedStatus = (typeof IMPORTED_STATUSES)[number];

interface MoveRule {
	/**
	 * Statuses from which the move may start. The first report of an order starts from no status (see
	 * judgeReport).
	 */
	from: readonly Status[];
	/** Status after the move, or null if the move leaves the status as it is. */
	to: Status | null;
	announces: EventName | null;
	/** Past participle of the move for use in sentences, such as "approved" in "cannot be approved". */
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
	// The sale is credited to another partner. The amounts change with it, and the next event contains the new
	// amounts.
	credit: { from: ["RECORDED", "APPROVED"], to: null, announces: null, done: "credited" },
	// A part of the value was refunded. A refund of the rest is the move "reverse".
	refund: { from: ["RECORDED", "APPROVED"], to: null, announces: null, done: "refunded" },
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

/**
 * Moves that judgeMove judges by the present status. A refund also depends on the amounts (see
 * modules/refunds/domain/refund.ts), and judgeReport judges reports.
 */
type JudgedMove = Exclude<LivedMove, ReportMove | "credit">;

export function moveRule(move: LivedMove): MoveRule {
	return MOVES[move];
}

/** Returns the status after the move. `present` is null for a new conversion. */
export function statusAfter(move: LivedMove, present: Status | null): Status {
	const status = MOVES[move].to ?? present;
	if (status === null) throw new Error(`no conversion starts with ${move}`);
	return status;
}

/** Moves that decide about a conversion. The time of such a move is the conversion's time of decision. */
const DECIDING_MOVES: readonly LivedMove[] = ["approve", "reject", "reverse"];

export function isDecision(move: LivedMove): boolean {
	return DECIDING_MOVES.includes(move);
}

const STATUS_OF_EVENT: ReadonlyMap<EventName, Status> = new Map(
	Object.values(MOVES).flatMap(({ announces, to }) =>
		announces === null || to === null ? [] : [[announces, to]],
	),
);

export function announcedStatus(event: EventName): Status {
	const status = STATUS_OF_EVENT.get(event);
	if (status === undefined) throw new Error(`no move announces ${event}`);
	return status;
}

/**
 * Returns the event that announces the move, or null if the move sends no event. An import sends none,
 * because the software that it comes from has already sent its own.
 */
export function announcedBy(move: Move): EventName | null {
	return move === "import" ? null : MOVES[move].announces;
}

/**
 * Returns the event that tells the credited partner about the move, or null if the partner hears nothing of it.
 * `status` is the status after the move. A partner hears of a sale once the shop's server has reported it, so the move
 * "confirm" announces it. A partner to whom the sale is credited later hears of its present status.
 */
export function partnerEventOf(move: Move, status: Status): EventName | null {
	if (move === "confirm") return "conversion.recorded";
	if (move !== "credit") return announcedBy(move);
	return status === "APPROVED" ? "conversion.approved" : "conversion.recorded";
}

export interface NamedConversion {
	/**
	 * Order ID as it is stored. If the conversion was replaced, the stored order ID has an ending (see nameAsReplaced).
	 */
	orderId: string;
	publicId: string;
}

/**
 * Returns the order ID under which a finished conversion stays stored after the server reports the same order
 * again. Each event of a conversion is sent only once, so the new report needs a new conversion, which gets
 * the plain order ID. The old conversion gets its own public id as an ending, which nobody can guess in
 * advance.
 */
export function nameAsReplaced({ orderId, publicId }: NamedConversion): string {
	return `${orderId} (${publicId})`;
}

/**
 * Returns the order ID as the shop reported it, without the ending of a replaced conversion. Events and the API show
 * this order ID.
 */
export function reportedOrderId({ orderId, publicId }: NamedConversion): string {
	const mark = ` (${publicId})`;
	return orderId.endsWith(mark) ? orderId.slice(0, -mark.length) : orderId;
}

export type MoveVerdict = { kind: "apply" } | { kind: "already" } | { kind: "refuse"; fault: Fault };

export function judgeMove(present: Status, move: JudgedMove): MoveVerdict {
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

/** Returns the refusal in words for people on a page, without terms of the API. */
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

/** The conversion that already exists for an order when the order is reported again. */
export interface KnownOrder {
	status: Status;
	source: Source;
	isConfirmed: boolean;
}

export type ReportVerdict = { kind: "apply"; move: ReportMove } | { kind: "duplicate" };

/**
 * Decides what a sale report does. `known` is the order's existing conversion, or null for the first report.
 * A test report never confirms a sale. The sale would otherwise disappear from the totals, and people without
 * the right to decide could decide about it.
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

/**
 * Parses the reason of a rejection, reversal or refund. It is mandatory, because the shop must be able to read why.
 */
export function parseReason(text: string | undefined): Result<Reason> {
	const known = REASONS.join(", ");
	if (text === undefined || text === "") {
		return refusalOf("missing_reason", { known }, "Choose a reason first. The shop and the partner read it.");
	}
	const reason = REASONS.find((known) => known === text);
	if (reason !== undefined) return succeed(reason);
	return refusalOf("unknown_reason", { known }, "There is no such reason. Choose one.");
}

/**
 * Returns whether only a pixel has reported the sale. Anyone can call a pixel, so amount and partner are
 * uncertain until the shop's server reports the sale, too.
 */
export function isByPixelAlone({ source, isConfirmed }: Pick<KnownOrder, "source" | "isConfirmed">): boolean {
	return source === "pixel" && !isConfirmed;
}

/**
 * Returns whether the conversion is open and only a pixel has reported it. Its amount can then not be refunded, and it
 * cannot be credited, before the shop has confirmed the order. The shop does that with a report of its server, or by
 * approving the conversion. After the approval a report of the server changes nothing any more.
 */
export function awaitsConfirmation(order: KnownOrder): boolean {
	return isByPixelAlone(order) && (order.status === "PARKED" || order.status === "RECORDED");
}
