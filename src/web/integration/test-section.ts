// "Send test conversion", and the buttons that walk the last one through every move. What each of its callbacks
// came to shows in place as it arrives.

import { type LivedMove, REASONS, type Status } from "../../domain/conversion.ts";
import { isGoodAnswer } from "../../domain/local-answer.ts";
import type { Conversion } from "../../store/queries/conversions.ts";
import type { ListedDelivery } from "../../store/queries/delivery-list.ts";
import type { StoredLocalAnswer } from "../../store/queries/local-answers.ts";
import { nextAttempt, reasonWords, stateBadge, statusBadge } from "../conversion-ui.ts";
import { conversionPath, deliveryPath } from "../paths.ts";
import * as ui from "../ui.ts";
import { type Content, type Html, html } from "../ui.ts";
import { describeAttempt } from "./attempt-words.ts";
import { awaitsListener, type CallbacksView, type TestedConversion } from "./callbacks-view.ts";

export const TEST_TARGET = "test-live";

const SECTION = "test";

/** `isNext`: the listener it goes to is started from this very page. */
export function testSection(view: CallbacksView, isNext: boolean): Html {
	const { path, hidden } = view;
	return ui.section({
		id: SECTION,
		title: "Test conversion",
		hint: "Behaves like a real conversion, is marked “test” and stays out of all totals.",
		actions: view.mayIntegrate
			? ui.buttonForm({
					action: `${path}/test`,
					csrf: hidden,
					changes: SECTION,
					label: "Send test conversion",
					...(isNext || view.next === "test" ? { tone: "primary" } : {}),
				})
			: null,
		told: view.told("test"),
		body: html`<div id="${TEST_TARGET}" aria-live="polite">${testResult(view)}</div>
<noscript><p class="card-body small soft">Reload the page to see what has arrived.</p></noscript>`,
	});
}

/** What is pushed. */
export function testResult(view: CallbacksView): Html {
	const { test, programme } = view;
	if (test === null) return ui.emptyState({ title: "No test conversion yet", text: adviceBefore(view) });
	const { conversion } = test;
	return html`${ui.padded(
		html`<div class="row-end"><p class="grow"><a class="mono" href="${conversionPath(programme.public_id, conversion.public_id)}">${conversion.order_id}</a> ${statusBadge(conversion.status)}</p>${walkForms(view, conversion)}</div>`,
	)}${test.localAnswers.length === 0 ? null : localAnswersTable(test.localAnswers)}${
		test.deliveries.length === 0 && test.localAnswers.length > 0 ? null : deliveredTable(view, test)
	}`;
}

function deliveredTable(view: CallbacksView, { conversion, deliveries }: TestedConversion): Html {
	const { programme, nowMs } = view;
	return ui.dataTable<ListedDelivery>({
		caption: "Callbacks of this test conversion",
		rows: deliveries,
		empty: nothingSent(view, conversion),
		stacks: "tight",
		columns: [
			{
				title: "Event",
				namesRow: true,
				cell: (row) => html`<a href="${deliveryPath(programme.public_id, row.publicId)}">${row.event}</a>`,
			},
			{ title: "State", cell: (row) => stateBadge(row) },
			{ title: "What came back", cell: (row) => whatCameBack(row, view) },
			{ title: "Next attempt", cell: (row) => nextAttempt(row, nowMs) },
			{ title: "When", cell: (row) => ui.timeTag(row.lastAttemptAtMs ?? row.createdAtMs) },
		],
	});
}

/** In one line, so that nobody has to open the delivery to know what to do. */
function whatCameBack(
	{ lastHttpStatus, lastAttempt }: ListedDelivery,
	{ mayIntegrate }: CallbacksView,
): Content {
	if (lastAttempt === null) {
		return lastHttpStatus === null ? html`<span class="faint">—</span>` : `HTTP ${lastHttpStatus}`;
	}
	const { title, meaning, advice } = describeAttempt(lastAttempt);
	return html`${title}<span class="secondary break">${meaning} ${mayIntegrate ? advice : null}</span>`;
}

function adviceBefore({ url, hasSecret, mayIntegrate, isListening }: CallbacksView): Content {
	if (!mayIntegrate) return "Owners and developers can send one.";
	if (!hasSecret)
		return html`First <a href="#keys">issue an API key</a>: without a secret no callback is sent.`;
	if (url === null && isListening)
		return html`Send one: it goes to your machine, through <code>listen</code>.`;
	if (url === null)
		return html`No callback would be sent yet: paste the command into a terminal, or <a href="#callback">save a Postback URL</a>.`;
	return "Send one: its callback appears here within a second or two.";
}

function nothingSent(view: CallbacksView, conversion: Conversion): Html {
	if (view.url !== null || !view.isListening) {
		return ui.emptyState({ title: "No callback was sent for it", text: adviceAfter(view) });
	}
	if (awaitsListener(conversion, view.nowMs)) {
		return ui.emptyState({ title: "On its way", text: html`To <code>listen</code> on your machine.` });
	}
	return ui.emptyState({
		title: "Nobody was listening",
		text: html`<code>listen</code> shows what happens while it runs. Send a new test conversion.`,
	});
}

function adviceAfter(view: CallbacksView): Content {
	if (view.mayIntegrate && (view.url === null || !view.hasSecret)) return adviceBefore(view);
	return "There was no Postback URL or no signing secret when its status changed, and earlier changes are never sent. Send a new test conversion.";
}

const OFFERED: readonly {
	move: Exclude<LivedMove, "confirm" | "expire">;
	label: string;
	from: readonly Status[];
}[] = [
	{ move: "approve", label: "Approve", from: ["RECORDED"] },
	{ move: "reject", label: "Reject", from: ["RECORDED"] },
	{ move: "reverse", label: "Reverse", from: ["RECORDED", "APPROVED"] },
];

function walkForms(
	{ path, hidden, mayIntegrate }: CallbacksView,
	{ public_id: conversionId, status }: Conversion,
): Content {
	if (!mayIntegrate) return null;
	const offered = OFFERED.filter(({ from }) => from.includes(status));
	if (offered.length === 0)
		return html`<p class="small soft">This test is finished. Send another to start over.</p>`;
	return ui.postForm({
		action: `${path}/test/${conversionId}`,
		csrf: hidden,
		className: "row-end",
		changes: SECTION,
		body: html`${ui.selectField({
			name: "reason",
			id: "test-reason",
			label: offered.some(({ move }) => move === "reject") ? "Reason (to reject or reverse)" : "Reason",
			value: "RETURN",
			options: REASONS.map((reason) => ({ value: reason, label: reasonWords(reason) })),
		})}<div class="row">${offered.map(({ move, label }) => ui.button({ label, name: "move", value: move }))}</div>`,
	});
}

// What `ringback listen` told of events on a developer's machine: in words, and never as if it were a callback to the
// saved URL.

function localAnswersTable(answers: readonly StoredLocalAnswer[]): Html {
	return ui.dataTable<StoredLocalAnswer>({
		caption: "What came of it on your machine",
		rows: answers,
		empty: null,
		stacks: "tight",
		columns: [
			{ title: "Event", namesRow: true, cell: ({ event }) => event },
			{ title: "On your machine", cell: stateOf },
			{ title: "What that means", cell: meaningOf },
			{ title: "When", cell: ({ atMs }) => ui.timeTag(atMs) },
		],
	});
}

function stateOf(answer: StoredLocalAnswer): Html {
	return ui.badge(isGoodAnswer(answer) ? "good" : "bad", stateWords(answer));
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
			return html`Answered by your machine, through <code>listen</code>${tookMs === null ? null : ` in ${ui.count(tookMs)} ms`}.`;
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
