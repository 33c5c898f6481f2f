// The reason and the buttons by which people decide: the same on a list, on a conversion's own page and in Review.

import { html } from "hono/html";
import { REASONS } from "../../domain/conversion.ts";
import type { Html } from "../html.ts";
import { reasonWords } from "./conversion-words.ts";
import { button, selectField } from "./forms.ts";

type BarMove = "approve" | "reject" | "reverse";

export interface DecisionBar {
	/** What this reader may do here. */
	moves: readonly BarMove[];
	/** Said in the question before it is done: "the selected conversions". */
	what: string;
	/** False where a preview comes in between and asks by itself. */
	asks: boolean;
}

export function decisionBar({ moves, what, asks }: DecisionBar): Html {
	const needsReason = moves.filter((move) => move !== "approve");
	const reason = selectField({
		name: "reason",
		label: needsReason.length === moves.length ? "Reason" : `Reason (to ${needsReason.join(" or ")})`,
		options: [
			{ value: "", label: "Choose a reason" },
			...REASONS.map((value) => ({ value, label: reasonWords(value) })),
		],
	});
	return html`<div class="decision-bar">${needsReason.length === 0 ? null : reason}<div class="row">${moves.map((move) => decisionButton(move, what, asks))}</div></div>`;
}

function decisionButton(move: BarMove, what: string, asks: boolean): Html {
	const name = "decision";
	switch (move) {
		case "approve":
			return button({
				label: "Approve",
				tone: "primary",
				name,
				value: move,
				...ask(asks, `Approve ${what}?`),
			});
		case "reject":
			return button({
				label: "Reject",
				tone: "danger",
				name,
				value: move,
				...ask(asks, `Reject ${what}? This cannot be undone.`),
			});
		case "reverse":
			return button({
				label: "Reverse",
				tone: "danger",
				name,
				value: move,
				...ask(asks, `Reverse ${what}? This cannot be undone.`),
			});
		default:
			return move satisfies never;
	}
}

function ask(asks: boolean, question: string): { confirm?: string } {
	return asks ? { confirm: question } : {};
}
