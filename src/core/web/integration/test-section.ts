// Shows the section "Test conversion". It sends a test conversion, and moves the newest one to its next status. The
// results of its callbacks appear while the page is open.

import { explainAttempt } from "../../callbacks/attempt-cause.ts";
import { DECISION_MOVES, judgeTestDecision, parseMove, sideOf } from "../../conversions/decide.ts";
import { firstLineOf } from "../../domain/answer-excerpt.ts";
import { judgeMove } from "../../domain/conversion.ts";
import type { Result } from "../../domain/fault.ts";
import { isGoodAnswer, type LocalOutcome } from "../../domain/local-answer.ts";
import { showOrderId } from "../../domain/visible-text.ts";
import { testUseOf, useLimits } from "../../people/limits.ts";
import { sendTestConversion, type TestSent, walkTestConversion } from "../../programmes/test-conversion.ts";
import type { Conversion } from "../../store/queries/conversions.ts";
import type { ListedDelivery } from "../../store/queries/delivery-list.ts";
import type { StoredLocalAnswer } from "../../store/queries/local-answers.ts";
import { deliveryColumns, STATUS_WORDS, statusBadge } from "../conversion-ui.ts";
import { decisionBar } from "../conversions/decide-action.ts";
import { readTextFields } from "../form.ts";
import { actorOf, programmeOf, viewerOf, type WebContext, type WebDeps } from "../page.ts";
import { conversionPath, integrationPath } from "../paths.ts";
import * as ui from "../ui.ts";
import { type Content, type Html, html } from "../ui.ts";
import { type CallbacksView, isListened } from "./callbacks-view.ts";
import { type FormPart, finish } from "./frame.ts";

const SECTION = "test";

/** Returns the section "Test conversion". `isNext` highlights the button as the next step. */
export function testSection(view: CallbacksView, isNext: boolean): Html {
	return ui.section({
		id: SECTION,
		title: "Test conversion",
		hint: "It behaves like a real conversion, is marked “test” and stays out of all totals.",
		actions: view.mayIntegrate
			? ui.buttonForm({
					action: `${view.path}/test${view.query}`,
					changes: SECTION,
					label: "Send test conversion",
					...(isNext ? { tone: "primary" } : {}),
				})
			: null,
		message: view.messageAt("test"),
		body: html`<div id="test-live" aria-live="polite">${testResult(view)}</div>
<noscript><p class="card-body small soft">Reload the page to see what has arrived.</p></noscript>`,
	});
}

function testResult(view: CallbacksView): Html {
	const { test, programme } = view;
	if (test === null) return ui.emptyState({ title: "No test conversion yet", text: advice(view) });
	const { conversion, localAnswers, deliveries } = test;
	return html`${ui.padded(
		html`<p><a class="mono" href="${conversionPath(programme.public_id, conversion.public_id)}">${showOrderId(conversion.order_id)}</a> ${statusBadge(conversion.status)}</p>`,
		walkForms(view, conversion),
	)}${localAnswers.length === 0 ? null : localAnswersTable(localAnswers)}${
		deliveries.length === 0 && localAnswers.length > 0 ? null : deliveredTable(view, deliveries)
	}`;
}

function deliveredTable(view: CallbacksView, deliveries: readonly ListedDelivery[]): Html {
	const { event, state, next, when } = deliveryColumns(view.called, view.nowMs);
	return ui.dataTable<ListedDelivery>({
		caption: "Callbacks of this test conversion",
		rows: deliveries,
		empty:
			view.url === null && view.isListening
				? ui.emptyState({ title: "On its way", text: "If nothing comes, send a new test conversion." })
				: ui.emptyState({ title: "No callback was sent for it", text: NOTHING_SENT }),
		stacks: "tight",
		// The table explains each result, so that nobody has to open the callback to know what to do.
		columns: [
			event,
			state,
			{
				title: "What came back",
				cell: ({ lastHttpStatus, lastAttempt }) => {
					if (lastAttempt === null) return lastHttpStatus === null ? "—" : `HTTP ${lastHttpStatus}`;
					const { title, meaning, advice } = explainAttempt(lastAttempt);
					const firstLine = firstLineOf(lastAttempt.answer);
					return html`${title}<span class="secondary break">${firstLine === null ? null : html`Your server said: “${firstLine}” `}${meaning} ${view.mayIntegrate ? advice : null}</span>`;
				},
			},
			next,
			when,
		],
	});
}

function advice({ url, hasSecret, mayIntegrate, isListening }: CallbacksView): Content {
	if (!mayIntegrate) return "Owners and developers can send one.";
	if (!hasSecret) {
		return html`First <a href="#keys">issue an API key</a>. Without a secret no callback is sent.`;
	}
	if (url !== null) return "Send one. Its callback appears here within a few seconds.";
	return isListening
		? html`Send one. It goes to your machine, through <code>listen</code>.`
		: html`No callback can be sent yet. Paste the command into a terminal, or <a href="#callback">save a Postback URL</a>.`;
}

const NOTHING_SENT =
	"There was no Postback URL or no signing secret when its status changed, and earlier changes are never sent. Once you have both, send a new test conversion.";

function walkForms(
	{ path, query, mayIntegrate }: CallbacksView,
	{ public_id: conversionId, status }: Conversion,
): Content {
	if (!mayIntegrate) return null;
	const moves = DECISION_MOVES.filter((move) => judgeMove(status, move).kind === "apply");
	if (moves.length === 0) {
		return html`<p class="small soft">This test is finished. Send another to start over.</p>`;
	}
	return ui.postForm({
		action: `${path}/test/${conversionId}${query}`,
		changes: SECTION,
		body: decisionBar(moves),
	});
}

/**
 * Shows the results that `ringback listen` reported from a developer's machine. Another table lists callbacks to the
 * saved URL.
 */
function localAnswersTable(answers: readonly StoredLocalAnswer[]): Html {
	return ui.dataTable<StoredLocalAnswer>({
		caption: "Callbacks on your machine",
		rows: answers,
		empty: null,
		stacks: "tight",
		columns: [
			{ title: "Event", namesRow: true, cell: ({ event }) => event },
			{
				title: "On your machine",
				cell: (answer) => {
					const status = answer.httpStatus === null ? "" : ` ${answer.httpStatus}`;
					const words = `${LOCAL_WORDS[answer.outcome][0]}${status}`;
					return ui.badge(isGoodAnswer(answer) ? "good" : "bad", words);
				},
			},
			{
				title: "What that means",
				cell: ({ outcome, code, tookMs }) =>
					html`${LOCAL_WORDS[outcome][1]}${code === null ? null : ` (${code})`}${tookMs === null ? null : ` ${ui.count(tookMs)} ms.`}`,
			},
			{ title: "When", cell: ({ atMs }) => ui.timeTag(atMs) },
		],
	});
}

const LOCAL_WORDS: Readonly<Record<LocalOutcome, readonly [state: string, meaning: Html]>> = {
	answered: ["Answered", html`Answered by your machine, through <code>listen</code>.`],
	timeout: ["No answer", html`Your receiver did not answer <code>listen</code> within 5 seconds.`],
	no_connection: [
		"No connection",
		html`<code>listen</code> found no receiver at its <code>--to</code> address.`,
	],
	verified: ["Signature valid", html`Checked on your machine by <code>listen</code>, with your secret.`],
	not_verified: [
		"Signature not valid",
		html`<code>listen</code> could not verify it. Compare its secret with the active one.`,
	],
};

export async function sendTest(c: WebContext, deps: WebDeps): Promise<Response> {
	const programme = programmeOf(c);
	const uses = [testUseOf(programme.public_id)];
	const tooMany = await useLimits(deps.store.db, uses, deps.clock.nowMs());
	const sent = tooMany ?? (await sendTestConversion(deps, programme, actorOf(c)));
	return afterTest(c, deps, sent);
}

export async function moveTest(c: WebContext, deps: WebDeps): Promise<Response> {
	const { kind } = viewerOf(c);
	const { decision: move, reason } = await readTextFields(c, ["decision", "reason"]);
	const parsed = parseMove(move);
	const decision = parsed.ok ? judgeTestDecision(sideOf(kind), parsed.value, reason) : parsed;
	if (!decision.ok) return afterTest(c, deps, decision);
	const id = c.req.param("conversionId") ?? "";
	return afterTest(c, deps, await walkTestConversion(deps, programmeOf(c), id, decision.value, actorOf(c)));
}

/**
 * Redirects with a message that the conversion has changed. The result of its callback appears later, below
 * the message.
 */
async function afterTest(c: WebContext, deps: WebDeps, sent: Result<TestSent>): Promise<Response> {
	const programme = programmeOf(c);
	const isHeard = await isListened(deps, programme);
	const part: FormPart = { path: integrationPath(programme.public_id), part: SECTION };
	return finish(c, part, sent, ({ conversion, isOwed }) => {
		const what = `Test conversion ${showOrderId(conversion.order_id)} is ${STATUS_WORDS[conversion.status].toLowerCase()}.`;
		if (isOwed || isHeard) return ["good", what];
		const why =
			programme.endpoint_id === null
				? "No callback is sent, because no Postback URL is saved and listen is not running."
				: "No callback is sent, because there is no signing secret.";
		return ["warn", `${what} ${why}`];
	});
}
