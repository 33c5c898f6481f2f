// The tab Callbacks, and the first page of Integration: where callbacks go, how they do, a test, and the list. For a
// programme that is not set up it leads through the steps. Read once, rendered whole; the parts that change by
// themselves are rendered again for the live stream.

import { judgeTestDecision, parseMove, sideOf } from "../../conversions/decide.ts";
import { sendTestConversion, type TestSent, walkTestConversion } from "../../conversions/send-test.ts";
import type { Result } from "../../domain/fault.ts";
import { sha256Hex } from "../../domain/signature.ts";
import { removePostbackUrl, savePostbackUrl } from "../../programmes/postback-url.ts";
import type { Cancelled } from "../../store/queries/cancellations.ts";
import { findNewestTest } from "../../store/queries/conversions.ts";
import { findOldestPending } from "../../store/queries/delivery-health.ts";
import { type ListedDelivery, newestProgress } from "../../store/queries/delivery-list.ts";
import type { ListPage } from "../../store/queries/list-page.ts";
import type { StoredLocalAnswer } from "../../store/queries/local-answers.ts";
import type { Programme } from "../../store/queries/programmes.ts";
import {
	EVENT_OPTIONS,
	lastAnswer,
	lastFailure,
	nextAttempt,
	resentMark,
	STATE_OPTIONS,
	STATUS_WORDS,
	stateBadge,
	TROUBLE_TARGET,
	troubleBanner,
	wholeOrderSearch,
} from "../conversion-ui.ts";
import { notUnderstood, pager, type ReadFilters } from "../filter-query.ts";
import { readTextFields } from "../form.ts";
import { answerStream, liveConnector, liveDot, partial } from "../live-page.ts";
import { type PageDeps, programmeOf, setFlash, viewerOf, type WebContext, type WebDeps } from "../page.ts";
import { deliveryPath, withQuery } from "../paths.ts";
import * as ui from "../ui.ts";
import { attrs, type Content, countOf, type Html, html, type StepState, steps } from "../ui.ts";
import {
	callbackSection,
	LISTENING_TARGET,
	listening,
	type RefusedUrl,
	WAITING_TARGET,
	waiting,
} from "./callback-section.ts";
import {
	awaitsListener,
	type CallbacksView,
	type DeliveriesQuery,
	isListened,
	readCallbacks,
} from "./callbacks-view.ts";
import { answerTab, backTo, backWithFault, type FormPart, finish } from "./frame.ts";
import { HEALTH_CHART_TARGET, healthChart, healthSection, healthStrip } from "./health-section.ts";
import { takeIssued } from "./issued-cookie.ts";
import { firstKeySection } from "./keys-section.ts";
import { listForm, sinceForm, tickColumn } from "./resend.ts";
import { TEST_TARGET, testResult, testSection } from "./test-section.ts";

const CHECKS_TARGET = "checks-live";
const HEALTH_TARGET = "health-live";
const FINGERPRINT_LENGTH = 16;

export async function showCallbacks(
	c: WebContext,
	deps: WebDeps,
	refused: RefusedUrl | null = null,
): Promise<Response> {
	const programme = programmeOf(c);
	const issued = await takeIssued(c, deps, programme, viewerOf(c).personId, "callbacks");
	// Before the rest: what changes while the page is read is then pushed, not missed.
	const seen = await fingerprintOf(deps, programme);
	const view = await readCallbacks(c, deps, refused?.back ?? new URL(c.req.url).search);
	const { path, deliveries } = view;
	const isShown = issued !== null;
	const checks = html`<h2 class="visually-hidden">What works so far</h2><div id="${CHECKS_TARGET}">${checkSteps(view)}</div>`;
	const keys = firstKeySection(view, issued);
	const test = html`<div${attrs({ hidden: isUntouched(view) })}>${testSection(view, isShown)}</div>`;
	const callback = html`<div class="columns">${callbackSection(view, refused, isShown)}${healthPart(view)}</div>`;
	return answerTab(c, {
		tab: "callbacks",
		hint: "Your server reports sales to us with signed requests; we tell it of every status change.",
		status: refused === null && deliveries.listed !== null ? 200 : 422,
		body: html`${deliveries.isLive ? liveConnector(`${path}/live?seen=${seen}`) : null}
${
	// From the key on the screen to the first callback without a word between them.
	isShown ? [keys, test, checks, callback] : [checks, keys, callback, test]
}
<div${attrs({ hidden: hasNoCallbacks(view) })}>${deliveriesSection(view)}</div>`,
	});
}

/** Nothing can be tried yet: the first page has one thing to do. */
function isUntouched(view: CallbacksView): boolean {
	return !view.checks.hasKey && view.test === null && hasNoCallbacks(view);
}

/** Nothing was ever sent, and nothing will be before a URL is saved. */
function hasNoCallbacks({ url, deliveries }: CallbacksView): boolean {
	return url === null && deliveries.isLive && deliveries.listed?.page.rows.length === 0;
}

/** Out of sight while there is no URL; but there, for what the stream pushes. */
function healthPart({ health, url }: CallbacksView): Html {
	return html`<div class="stack"${attrs({ hidden: url === null })}><div id="${HEALTH_TARGET}">${healthStrip(health)}</div>${healthSection(health)}</div>`;
}

export function watchCallbacks(c: WebContext, deps: PageDeps): Response {
	const programme = programmeOf(c);
	return answerStream(c, deps, {
		fingerprint: () => fingerprintOf(deps, programme),
		render: async () => renderLive(await readCallbacks(c, deps)),
	});
}

/** What the stream pushes when something has changed. */
async function renderLive(view: CallbacksView): Promise<string> {
	const parts: readonly (readonly [target: string, content: Content])[] = [
		[TROUBLE_TARGET, troubleBanner(view.health.trouble, view.programme.public_id, view)],
		[CHECKS_TARGET, checkSteps(view)],
		[WAITING_TARGET, waiting(view)],
		// Only whoever may listen has it on the page.
		...(view.mayIntegrate && view.checks.hasKey ? [[LISTENING_TARGET, listening(view)] as const] : []),
		[TEST_TARGET, testResult(view)],
		[DELIVERIES_TARGET, deliveriesTable(view)],
		[HEALTH_TARGET, healthStrip(view.health)],
		[HEALTH_CHART_TARGET, healthChart(view.health)],
	];
	return String(await html`${parts.map(([target, content]) => partial(target, content))}`);
}

async function fingerprintOf(deps: WebDeps, programme: Programme): Promise<string> {
	const { db } = deps.store;
	const isListening = await isListened(deps, programme);
	const test = isListening ? await findNewestTest(db, programme.id) : undefined;
	const isAwaited = test !== undefined && awaitsListener(test, deps.clock.nowMs());
	const progress = await newestProgress(db, programme.id);
	return sha256Hex(`${isListening} ${isAwaited} ${progress}`).slice(0, FINGERPRINT_LENGTH);
}

function checkSteps(view: CallbacksView): Html {
	const { checks, programme, keysPath } = view;
	const doneIf = (isDone: boolean): StepState => (isDone ? "done" : "to do");
	const parksPixels = programme.parks_pixels === 1;
	// Whoever may only look is not told to do what they cannot.
	const advice = (toDo: Content, toKnow: string) => (view.mayIntegrate ? toDo : toKnow);
	return steps([
		{
			state: doneIf(checks.hasKey),
			title: "Key issued",
			text: checks.hasKey ? "Your server can use the API." : advice(KEY_ADVICE, "No key has been issued."),
		},
		{
			state: doneIf(checks.hasSignedRequest),
			title: "Signed request accepted",
			text: checks.hasSignedRequest
				? "Your server's requests arrive and verify."
				: advice(
						html`Send one with the <a href="${keysPath}#snippets">ready snippet</a>.`,
						"None has come in yet.",
					),
		},
		{
			state: doneIf(checks.hasPixel),
			title: parksPixels ? "Pixel confirmed" : "Pixel recorded",
			text: checks.hasPixel
				? pixelWords(parksPixels)
				: advice(pixelAdvice(parksPixels, keysPath), "Optional. None has come in yet."),
		},
		callbackStep(view),
	]);
}

/** The present, and not the past: one that worked once and fails now is not done. */
function callbackStep(view: CallbacksView): { title: string; state: StepState; text: Content } {
	const { trouble } = view.health;
	const title = "Callback answered 2xx";
	if (trouble !== null) {
		return {
			title,
			state: trouble.isSerious ? "failing" : "faltering",
			text: lastFailure(trouble.notice, view.programme.public_id),
		};
	}
	if (view.checks.hasCallback) return { title, state: "done", text: "Your shop receives status changes." };
	// Only a developer's word: with a URL saved, what counts is what comes from there.
	if (view.goodAnswer !== null && view.url === null) return heardStep(view, view.goodAnswer);
	const advised = view.checks.hasKey ? adviseCallback(view) : "Issue an API key first.";
	return { title, state: "to do", text: view.mayIntegrate ? advised : "None has been answered yet." };
}

function heardStep({ mayIntegrate }: CallbacksView, { outcome, httpStatus }: StoredLocalAnswer) {
	const next = mayIntegrate
		? html` Next, for your real server: <a href="#callback">save a Postback URL</a>.`
		: null;
	const state: StepState = "done";
	if (outcome === "verified") {
		const text = html`On a developer's machine, by <code>listen</code>.${next}`;
		return { title: "Callback verified", state, text };
	}
	const text = html`${httpStatus} from a developer's machine, through <code>listen</code>.${next}`;
	return { title: "Callback answered 2xx", state, text };
}

const KEY_ADVICE = html`<a href="#keys">Issue an API key</a>. Your first key comes with a signing secret.`;

function adviseCallback({ url }: CallbacksView): Html {
	const send = html`<a href="#test">send a test</a>`;
	if (url !== null) return html`Now ${send}.`;
	return html`<a href="#callback">Save a Postback URL</a>, then ${send}.`;
}

function pixelWords(parksPixels: boolean): string {
	return parksPixels ? "Browser and server agree on an order." : "Your thank-you page's pixel arrives.";
}

function pixelAdvice(parksPixels: boolean, keysPath: string): Html {
	const pixel = html`<a href="${keysPath}#snippets">pixel</a>`;
	if (!parksPixels) return html`Optional: place the ${pixel} on your thank-you page.`;
	return html`Optional: place the ${pixel}, then confirm its order by a signed request.`;
}

// What the buttons at the Postback URL and at the test conversion do: parse, call one use case, say how it went, back to
// the list as it was.

const CALLBACK: FormPart = { tab: "callbacks", part: "callback" };
const TEST: FormPart = { tab: "callbacks", part: "test" };

export async function saveUrl(c: WebContext, deps: WebDeps): Promise<Response> {
	const programme = programmeOf(c);
	const { postbackUrl, back } = await readTextFields(c, ["postbackUrl", "back"]);
	const saved = await savePostbackUrl(deps, programme.public_id, postbackUrl, viewerOf(c).personId);
	if (!saved.ok) return showCallbacks(c, deps, { value: postbackUrl, error: saved.fault.detail, back });
	const { url, replaced } = saved.value;
	const isOther = replaced !== null && replaced !== url;
	const { count: waiting } = isOther ? await findOldestPending(deps.store.db, programme.id) : { count: 0 };
	const rest =
		waiting === 0
			? "Status changes from now on are sent there."
			: "Pending callbacks are sent to the new URL.";
	return finish(c, CALLBACK, saved, `The Postback URL is saved. ${rest}`);
}

export async function removeUrl(c: WebContext, deps: WebDeps): Promise<Response> {
	const removed = await removePostbackUrl(deps, programmeOf(c).public_id, viewerOf(c).personId);
	const rest = removed.ok ? tellCancelled(removed.value) : "";
	return finish(c, CALLBACK, removed, `The Postback URL is removed: nothing more is sent.${rest}`);
}

function tellCancelled({ count, isComplete }: Cancelled): string {
	if (count === 0) return isComplete ? "" : " What is still pending is being cancelled.";
	const cancelled = ` ${countOf(count, "callback")} ${count === 1 ? "was" : "were"} cancelled`;
	return isComplete ? `${cancelled}.` : `${cancelled} so far; the rest follow by themselves.`;
}

export async function sendTest(c: WebContext, deps: WebDeps): Promise<Response> {
	return afterTest(c, deps, await sendTestConversion(deps, programmeOf(c), viewerOf(c).personId));
}

export async function moveTest(c: WebContext, deps: WebDeps): Promise<Response> {
	const { personId, kind } = viewerOf(c);
	const { move, reason } = await readTextFields(c, ["move", "reason"]);
	const parsed = parseMove(move);
	if (!parsed.ok) return backWithFault(c, TEST, parsed.fault);
	const decision = judgeTestDecision(sideOf(kind), parsed.value, reason);
	if (!decision.ok) return backWithFault(c, TEST, decision.fault);
	const conversionId = c.req.param("conversionId") ?? "";
	const walked = await walkTestConversion(deps, programmeOf(c), conversionId, decision.value, personId);
	return afterTest(c, deps, walked);
}

const NOT_SENT = "No callback is sent: no Postback URL is saved, and listen is not running.";

/** What comes of the callback shows below, as it happens: nothing is said here that would be untrue a second later. */
async function afterTest(c: WebContext, deps: WebDeps, sent: Result<TestSent>): Promise<Response> {
	if (!sent.ok) return backWithFault(c, TEST, sent.fault);
	const { conversion, isOwed } = sent.value;
	const what = `Test conversion ${conversion.order_id} is ${STATUS_WORDS[conversion.status].toLowerCase()}.`;
	if (isOwed || (await isListened(deps, programmeOf(c)))) setFlash(c, "good", what, TEST.part);
	else {
		const { endpoint_id } = programmeOf(c);
		const why = endpoint_id === null ? NOT_SENT : "No callback is sent for it: there is no signing secret.";
		setFlash(c, "warn", `${what} ${why}`, TEST.part);
	}
	return backTo(c, TEST);
}

// "Postbacks sent to your shop": a row a delivery, with filter, search and pages by cursor, boxes to tick and what can be
// done with them. The table alone is pushed when something changes; the filter above it and the time below it stay under
// the reader's fingers.

const DELIVERIES_TARGET = "deliveries-live";

function deliveriesSection(view: CallbacksView): Html {
	return ui.section({
		id: "deliveries",
		title: "Postbacks sent to your shop",
		hint: "One row per callback, with attempts and your server's last response.",
		...(view.deliveries.isLive ? { actions: liveDot() } : {}),
		told: view.told("deliveries"),
		body: html`${filterForm(view)}<div id="${DELIVERIES_TARGET}" aria-live="polite">${deliveriesTable(view)}</div>${
			view.canSend ? ui.padded(ui.more("Resend all failed callbacks since…", sinceForm(view))) : null
		}`,
	});
}

function filterForm({ path, deliveries: { filters } }: CallbacksView): Html {
	const { typed, problems } = filters;
	const field = (name: "state" | "event" | "order") => ({
		name,
		id: `delivery-${name}`,
		value: typed[name] ?? "",
		error: problems[name],
	});
	const isFiltered = isAnySet(typed);
	return ui.filterBar({
		action: `${path}#deliveries`,
		label: "Filter the callbacks",
		fields: html`${ui.selectField({
			...field("state"),
			label: "State",
			options: [{ value: "", label: "All states" }, ...STATE_OPTIONS],
		})}${ui.selectField({
			...field("event"),
			label: "Event",
			options: [{ value: "", label: "All events" }, ...EVENT_OPTIONS],
		})}${wholeOrderSearch(field("order"))}`,
		...(isFiltered ? { clearHref: `${path}#deliveries` } : {}),
	});
}

function isAnySet({ state, event, order }: ReadFilters<DeliveriesQuery>["typed"]): boolean {
	return (state ?? event ?? order) !== undefined;
}

/** What is pushed. */
function deliveriesTable(view: CallbacksView): Html {
	const { path, canSend } = view;
	const { listed } = view.deliveries;
	if (listed === null) {
		return notUnderstood(html`Correct it above, or <a href="${path}#deliveries">see all callbacks</a>.`);
	}
	const { rows } = listed.page;
	const table = ui.dataTable<ListedDelivery>({
		caption: "Callbacks, one per row",
		rows,
		empty: emptyOf(view, listed.page),
		stacks: "tight",
		columns: canSend ? [tickColumn(), ...columns(view)] : columns(view),
	});
	return html`${canSend ? listForm(view, rows.length > 0, table) : table}${pager(listed.pages)}`;
}

function columns({ programme, nowMs, back }: CallbacksView): readonly ui.Column<ListedDelivery>[] {
	return [
		{
			title: "Event",
			namesRow: true,
			cell: (row) =>
				html`<a href="${withQuery(deliveryPath(programme.public_id, row.publicId), { back })}">${row.event}</a>${
					row.test === 1 ? html` ${ui.badge("info", "Test")}` : null
				}`,
		},
		{
			title: "Order",
			cell: (row) => html`<div class="mono cell-clip" title="${row.orderId}">${row.orderId}</div>`,
		},
		{ title: "State", cell: (row) => html`${stateBadge(row)} ${resentMark(row.run)}` },
		{ title: "Attempts", isNumber: true, cell: ({ attempts }) => String(attempts) },
		{ title: "Last HTTP status", isNumber: true, cell: lastAnswer },
		{ title: "Next attempt", cell: (row) => nextAttempt(row, nowMs) },
		{ title: "When", cell: (row) => ui.timeTag(row.lastAttemptAtMs ?? row.createdAtMs) },
	];
}

function emptyOf(
	{ deliveries, url, mayIntegrate, goodAnswer }: CallbacksView,
	page: ListPage<ListedDelivery>,
): Content {
	const { query } = deliveries.filters;
	if (query.order !== undefined) {
		return ui.emptyState({
			title: `Nothing was sent for order ${query.order}`,
			text: "Enter the whole order ID as your shop reported it. The inbound log shows whether we received it.",
		});
	}
	if (query.state !== undefined || query.event !== undefined || query.after !== undefined) {
		const text =
			page.next === null
				? "Choose another state or event, or clear the filter."
				: "None found so far. Choose “Older” to look further back.";
		return ui.emptyState({ title: "No callback matches", text });
	}
	const title =
		goodAnswer === null ? "Nothing has been sent yet" : "Nothing has been sent to a Postback URL yet";
	if (!mayIntegrate) return ui.emptyState({ title, text: "Callbacks appear here as they are sent." });
	return ui.emptyState({
		title,
		text:
			url !== null
				? html`<a href="#test">Send a test conversion</a> and watch it arrive here.`
				: html`<a href="#callback">Save a Postback URL</a> first, then send a test conversion.`,
	});
}
