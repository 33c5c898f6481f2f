// The history of a conversion: when, what, by whom, why.

import { html } from "hono/html";
import type { HistoryMove } from "../../store/conversion-history.ts";
import type { Role } from "../../store/tables/people.ts";
import { statusBadge } from "../components/conversion-cells.ts";
import { decidedByWords, reasonWords } from "../components/conversion-words.ts";
import { timeTag } from "../components/text.ts";
import type { Html } from "../html.ts";

export function moveTimeline(moves: readonly HistoryMove[], reader: Role): Html {
	return html`<ol class="timeline">${moves.map(
		(move, index) =>
			html`<li><div class="row">${statusBadge(move.to_status)}<span>${sentenceFor(move, index === 0)}</span></div><p class="small soft">${timeTag(move.at_ms)}${whoDecided(move, reader)}</p></li>`,
	)}</ol>`;
}

function sentenceFor(move: HistoryMove, isFirst: boolean): string {
	const why = move.reason === null ? "" : `: ${reasonWords(move.reason)}`;
	switch (move.move) {
		case "record":
			return isFirst ? "Reported" : "Reported by the shop's server as a new sale";
		case "park":
			return "Waits for the shop's postback";
		case "confirm":
			return "Confirmed by the shop's postback";
		case "expire":
			return "No postback came in time";
		case "approve":
		case "reject":
		case "reverse": {
			const who = move.decided_by === null ? "decided" : decidedByWords(move.decided_by);
			return `${who}${why}`;
		}
		default:
			return move.move satisfies never;
	}
}

/** A shop's people see their colleagues' names; who it was in the review team is the network's own business. */
function whoDecided(move: HistoryMove, reader: Role): string {
	if (move.person_email !== null && (reader === "staff" || move.person_role === "owner")) {
		return ` · ${move.person_email}`;
	}
	return move.decided_by === "shop" && move.person_email === null ? " · over the API" : "";
}
