// The tab Callbacks, and the first page of Integration: where callbacks go, how they do, a test, and the list. For a
// programme that is not set up it leads through the steps. Read once, rendered whole; the parts that change by
// themselves are rendered again for the live stream.

import { html } from "hono/html";
import { sha256Hex } from "../../domain/signature.ts";
import { findNewestTest } from "../../store/conversions.ts";
import { newestProgress } from "../../store/delivery-list.ts";
import type { StoredLocalAnswer } from "../../store/local-answers.ts";
import type { Programme } from "../../store/programmes.ts";
import { type StepState, steps } from "../components/blocks.ts";
import { lastFailure, TROUBLE_TARGET, troubleBanner } from "../components/trouble-words.ts";
import type { PageDeps, WebDeps } from "../deps.ts";
import type { WebContext } from "../env.ts";
import { attrs, type Content, type Html } from "../html.ts";
import { answerStream, liveConnector, partial } from "../live-page.ts";
import { programmeOf, viewerOf } from "../viewer.ts";
import {
	callbackSection,
	LISTENING_TARGET,
	listening,
	type RefusedUrl,
	WAITING_TARGET,
	waiting,
} from "./callback-section.ts";
import { awaitsListener, type CallbacksView, isListened, readCallbacks } from "./callbacks-view.ts";
import { DELIVERIES_TARGET, deliveriesSection, deliveriesTable } from "./deliveries-section.ts";
import { answerTab } from "./frame.ts";
import { HEALTH_CHART_TARGET, healthChart, healthSection, healthStrip } from "./health-section.ts";
import { takeIssued } from "./issued-cookie.ts";
import { firstKeySection } from "./keys-section.ts";
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
