// The steps to which a request may lead. A step starts a conversion or changes one, and becomes a move in its history.

import {
	type DecidedBy,
	type ImportedStatus,
	isDecision,
	type LivedMove,
	moveRule,
	type Reason,
	statusAfter,
} from "../domain/conversion.ts";
import { type Conversion, EMPTY_AT_START, type NewConversion } from "../store/tables/conversions.ts";
import type { StepParts } from "./module-facts.ts";

/**
 * Columns that this file fills in. The status follows from the move, and both times are the time at which the batch
 * is judged.
 */
type Derived = "status" | "created_at_ms" | "updated_at_ms";

type Sale = Omit<NewConversion, Derived | keyof typeof EMPTY_AT_START> &
	Partial<Pick<NewConversion, keyof typeof EMPTY_AT_START>>;

export type Step = StepParts & {
	/** Side that decided, or the approval window. The history shows it. */
	decidedBy?: DecidedBy;
	reason?: Reason | null;
} & (Start | Change);

/**
 * Starts a conversion with the first report of its order, or with the status that it had in other software. If the order
 * has an earlier conversion, that one keeps its history, and its order id goes to the new one.
 */
export type Start =
	| { move: "record" | "park"; sale: Sale }
	| { move: "import"; sale: Sale & { status: ImportedStatus } };

export interface Change {
	move: Exclude<LivedMove, "record" | "park">;
	change: Partial<Omit<Conversion, Derived | "id" | "public_id">>;
}

/** Moves that may change fields of an event that was announced before. */
const CORRECTIONS: readonly string[] = ["confirm", "credit", "refund"] satisfies readonly LivedMove[];

/**
 * Returns whether the step changes fields that an event has announced. If a correction also changes the status, it confirms
 * a parked conversion, about which no event was announced.
 */
export function isCorrection({ move }: Change, before: Conversion, after: Conversion): boolean {
	return CORRECTIONS.includes(move) && before.status === after.status;
}

export function composeNewConversion(step: Start, nowMs: number): NewConversion {
	const status = step.move === "import" ? step.sale.status : statusAfter(step.move, null);
	return { ...EMPTY_AT_START, ...step.sale, status, created_at_ms: nowMs, updated_at_ms: nowMs };
}

export function composeChanged(before: Conversion, { change, move }: Change, nowMs: number): Conversion {
	// The caller must have checked the transition. Reaching this line is a programming error.
	if (!moveRule(move).from.includes(before.status)) throw new Error(`${before.status} cannot ${move}`);
	return {
		...before,
		...change,
		...(isDecision(move) ? { decided_at_ms: nowMs } : {}),
		status: statusAfter(move, before.status),
		// A changed conversion must be later than its recording, also if the clock was set back.
		updated_at_ms: Math.max(nowMs, before.created_at_ms + 1),
	};
}
