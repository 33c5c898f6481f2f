// The reason and the buttons by which people decide: the same on a list, on a conversion's own page and in Review.

import { html } from "hono/html";
import { REASONS } from "../../domain/conversion.ts";
import { type Fault, plainWords } from "../../domain/fault.ts";
import type { Content, Html } from "../html.ts";
import { message } from "./blocks.ts";
import { reasonWords } from "./conversion-words.ts";
import { type Button, button, selectField } from "./forms.ts";

type BarMove = "approve" | "reject" | "reverse";

/** What somebody sent and what was wrong with it: shown again, so that nothing has to be chosen twice. */
export interface RefusedDecision {
	ticked: readonly string[];
	/** Whether everything that the filters find was asked for. */
	isAll?: boolean;
	reason: string;
	fault: Fault;
}

export interface DecisionBar {
	/** What this reader may do here. */
	moves: readonly BarMove[];
	refused?: RefusedDecision | undefined;
	/** Asked by the browser, where no page comes in between that asks. */
	confirm?: string;
}

const BUTTONS: Readonly<Record<BarMove, Button>> = {
	// Approving needs no reason, so the required field is not checked.
	approve: { label: "Approve", tone: "primary", skipsChecks: true },
	reject: { label: "Reject", tone: "danger" },
	reverse: { label: "Reverse", tone: "danger" },
};

export function decisionBar({ moves, refused, confirm }: DecisionBar): Html {
	const needsReason = moves.filter((move) => move !== "approve");
	const reason = selectField({
		name: "reason",
		label: needsReason.length === moves.length ? "Reason" : `Reason (to ${needsReason.join(" or ")})`,
		value: refused?.reason ?? "",
		error: refused !== undefined && isAboutReason(refused) ? plainWords(refused.fault) : undefined,
		isRequired: true,
		options: [
			{ value: "", label: "Choose a reason" },
			...REASONS.map((value) => ({ value, label: reasonWords(value) })),
		],
	});
	const question = confirm === undefined ? {} : { confirm };
	return html`<div class="decision-bar">${needsReason.length === 0 ? null : reason}<div class="row">${moves.map(
		(move) => button({ ...BUTTONS[move], name: "decision", value: move, ...question }),
	)}</div></div>`;
}

/** What is wrong with anything but the reason, for above the list or the page. */
export function refusalMessage(refused: RefusedDecision | undefined): Content {
	return refused === undefined || isAboutReason(refused) ? null : message("bad", plainWords(refused.fault));
}

function isAboutReason({ fault }: RefusedDecision): boolean {
	return fault.field === "reason";
}
