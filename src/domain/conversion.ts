// The life of a conversion, and which event each step announces (contract section 3).
//
//   none ──record──────────▶ RECORDED   conversion.recorded
//   none ──pixel, parks────▶ PARKED     (never on the wire)
//   PARKED ──confirm───────▶ RECORDED   no event: the answer to the shop's own postback says it
//   PARKED ──expire────────▶ EXPIRED    (never on the wire, final)
//   RECORDED ──approve─────▶ APPROVED   conversion.approved
//   RECORDED ──reject──────▶ REJECTED   conversion.rejected (final)
//   RECORDED | APPROVED ──reverse──▶ REVERSED   conversion.reversed (final)
//
// Repeating the move that already happened changes nothing and sends nothing. Every other move is
// refused, and the refusal names the present status.

import type { EventName } from "./event-name.ts";
import { type Fault, fault, type Result, refuse, succeed } from "./fault.ts";

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

/** Where a conversion was first heard of. */
export const SOURCES = ["postback", "pixel", "test"] as const;
export type Source = (typeof SOURCES)[number];

/** Who decided: the shop, the service's review team, or nobody but the approval window. */
export const DECIDERS = ["shop", "review", "window"] as const;
export type DecidedBy = (typeof DECIDERS)[number];

export type Move = "confirm" | "expire" | "approve" | "reject" | "reverse";

interface MoveRule {
	from: readonly Status[];
	to: Status;
	announces: EventName | null;
	/** Past participle for sentences: "cannot be approved". */
	done: string;
}

const MOVES: Readonly<Record<Move, MoveRule>> = {
	confirm: { from: ["PARKED"], to: "RECORDED", announces: null, done: "confirmed" },
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

export type MoveVerdict =
	| { kind: "apply"; to: Status; announces: EventName | null }
	| { kind: "already" }
	| { kind: "refuse"; fault: Fault };

export function judgeMove(present: Status, move: Move): MoveVerdict {
	const rule = MOVES[move];
	if (rule.from.includes(present)) return { kind: "apply", to: rule.to, announces: rule.announces };
	if (present === rule.to) return { kind: "already" };
	const plain = plainRefusal(present, rule);
	return { kind: "refuse", fault: fault("move_not_allowed", refusal(present, rule), undefined, plain) };
}

function refusal(present: Status, rule: MoveRule): string {
	const next =
		present === "PARKED"
			? "Confirm it first with POST /v1/conversions."
			: `Only a conversion that is ${rule.from.join(" or ")} can be ${rule.done}.`;
	return `This conversion is ${present} and cannot be ${rule.done}. ${next}`;
}

/** For people: no word of the API, and statuses as they read on pages. */
function plainRefusal(present: Status, rule: MoveRule): string {
	if (present === "PARKED") {
		return `This conversion is parked: it waits for the shop's postback. It can be ${rule.done} once that has come.`;
	}
	const from = rule.from.join(" or ").toLowerCase();
	return `This conversion is ${present.toLowerCase()} and cannot be ${rule.done}. Only one that is ${from} can.`;
}

/** What a first report makes of a conversion, and the event it announces. */
export function judgeArrival(
	source: Source,
	parksPixels: boolean,
): { status: Status; announces: EventName | null } {
	if (source === "pixel" && parksPixels) return { status: "PARKED", announces: null };
	return { status: "RECORDED", announces: "conversion.recorded" };
}

/** The event that a row of the history stands for; null where the shop is told nothing. */
export function announcedBy(move: Move | "record" | "park"): EventName | null {
	if (move === "park") return null;
	return move === "record" ? "conversion.recorded" : MOVES[move].announces;
}

export function parseEventType(text: string): Result<EventType> {
	const eventType = EVENT_TYPES.find((known) => known === text);
	if (eventType !== undefined) return succeed(eventType);
	return refuse("unknown_event_type", `eventType must be one of ${EVENT_TYPES.join(", ")}.`, "eventType");
}

/** Mandatory for rejections and reversals: a shop that reads "rejected" must be able to read why. */
export function parseReason(text: string | undefined): Result<Reason> {
	if (text === undefined || text === "") {
		const detail = `A reason is needed here: one of ${REASONS.join(", ")}.`;
		return refuse("missing_reason", detail, "reason", "Choose a reason first: the shop is told it.");
	}
	const reason = REASONS.find((known) => known === text);
	if (reason !== undefined) return succeed(reason);
	const detail = `reason must be one of ${REASONS.join(", ")}.`;
	return refuse("unknown_reason", detail, "reason", "There is no such reason. Choose one.");
}
