// How a job of many decisions and its rows are named on pages and in result files.

import type { BulkState, BulkVerdict } from "../../store/tables/bulk.ts";
import { badge, type Tone } from "../components/text.ts";
import type { Html } from "../html.ts";

const STATES: Readonly<Record<BulkState, readonly [Tone, string]>> = {
	storing: ["plain", "Uploading"],
	uploaded: ["info", "Checking"],
	previewed: ["warn", "Waits for you"],
	applying: ["info", "Applying"],
	done: ["good", "Done"],
};

export function jobBadge(state: BulkState): Html {
	const [tone, text] = STATES[state];
	return badge(tone, text);
}

export const VERDICTS: readonly BulkVerdict[] = [
	"change",
	"already",
	"refused",
	"unknown",
	"malformed",
	"left",
];

/** Before and after it is applied. */
export const VERDICT_WORDS: Readonly<Record<BulkVerdict, readonly [before: string, after: string]>> = {
	change: ["Will change", "Changed"],
	already: ["No change needed", "No change needed"],
	refused: ["Refused", "Refused"],
	unknown: ["Unknown order", "Unknown order"],
	malformed: ["Needs fixing", "Needs fixing"],
	left: ["Skipped (no decision)", "Skipped (no decision)"],
};

const VERDICT_TONES: Readonly<Record<BulkVerdict, Tone>> = {
	change: "good",
	already: "plain",
	refused: "bad",
	unknown: "warn",
	malformed: "warn",
	left: "plain",
};

export function verdictBadge(verdict: BulkVerdict, isApplied: boolean): Html {
	return badge(VERDICT_TONES[verdict], VERDICT_WORDS[verdict][isApplied ? 1 : 0]);
}
