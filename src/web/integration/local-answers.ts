// What `ringback listen` told of events on a developer's machine: in words, and never as if it were a callback to the
// saved URL.

import { html } from "hono/html";
import { isGoodAnswer } from "../../domain/local-answer.ts";
import type { StoredLocalAnswer } from "../../store/local-answers.ts";
import { dataTable } from "../components/lists.ts";
import { badge, count, timeTag } from "../components/text.ts";
import type { Html } from "../html.ts";

export function localAnswersTable(answers: readonly StoredLocalAnswer[]): Html {
	return dataTable<StoredLocalAnswer>({
		caption: "What came of it on your machine",
		rows: answers,
		empty: null,
		stacks: "tight",
		columns: [
			{ title: "Event", namesRow: true, cell: ({ event }) => event },
			{ title: "On your machine", cell: stateOf },
			{ title: "What that means", cell: meaningOf },
			{ title: "When", cell: ({ atMs }) => timeTag(atMs) },
		],
	});
}

function stateOf(answer: StoredLocalAnswer): Html {
	return badge(isGoodAnswer(answer) ? "good" : "bad", stateWords(answer));
}

function stateWords({ outcome, httpStatus }: StoredLocalAnswer): string {
	switch (outcome) {
		case "answered":
			return `Answered ${httpStatus}`;
		case "timeout":
			return "No answer";
		case "no_connection":
			return "No connection";
		case "verified":
			return "Signature right";
		case "not_verified":
			return "Signature not right";
		default:
			return outcome satisfies never;
	}
}

function meaningOf({ outcome, code, tookMs }: StoredLocalAnswer): Html {
	switch (outcome) {
		case "answered":
			return html`Answered by your machine, through <code>listen</code>${tookMs === null ? null : ` in ${count(tookMs)} ms`}.`;
		case "timeout":
			return html`Your receiver did not answer <code>listen</code> within 5 seconds.`;
		case "no_connection":
			return html`<code>listen</code> found no receiver at its <code>--to</code> address${code === null ? null : ` (${code})`}.`;
		case "verified":
			return html`Checked on your machine by <code>listen</code>, with your secret.`;
		case "not_verified":
			return html`<code>listen</code> could not verify it${code === null ? null : ` (${code})`}. Compare its secret with the active one.`;
		default:
			return outcome satisfies never;
	}
}
