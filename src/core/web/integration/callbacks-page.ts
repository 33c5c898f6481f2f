// Shows the tab "Callbacks", the first tab of Integration. It has the Postback URL, the health of callbacks, a test
// and the list of callbacks. While the set-up is incomplete, it also shows the remaining steps. Live parts of the tab
// are reloaded from the same address.

import { sha256Hex } from "../../domain/signature.ts";
import { issueKey } from "../../programmes/keys.ts";
import { removePostbackUrl, savePostbackUrl } from "../../programmes/postback-url.ts";
import type { Worked } from "../../programmes/resend.ts";
import { findOldestPending } from "../../store/queries/delivery-health.ts";
import { newestProgress } from "../../store/queries/delivery-list.ts";
import { countUsableKeys } from "../../store/queries/keys.ts";
import type { ReceiverColumns } from "../../store/queries/receivers.ts";
import { countUndelivered, lastFailure, TROUBLE_TARGET } from "../conversion-ui.ts";
import { declareForm } from "../form.ts";
import type { ShownOnce } from "../listen-command.ts";
import { actorOf, leadTo, programmeOf, type WebContext, type WebDeps } from "../page.ts";
import { integrationPath, keysPath, QUICK_START_PATH } from "../paths.ts";
import * as ui from "../ui.ts";
import { type Content, type Html, html, type StepState } from "../ui.ts";
import { type CallbacksView, isListened, readCallbacks } from "./callbacks-view.ts";
import { deliveriesSection } from "./deliveries-section.ts";
import { answerTab, type FormMessage, type FormPart, finish } from "./frame.ts";
import { healthChart, healthStrip } from "./health-section.ts";
import { type Issued, issuedOnce } from "./secret-section.ts";
import { testSection } from "./test-section.ts";

/**
 * Ids of the elements that are reloaded. The filters of the list are not reloaded, because the reader may be
 * typing in them.
 */
export const LIVE_PARTS = [
	TROUBLE_TARGET,
	"checks-live",
	"waiting-live",
	"listening-live",
	"test-live",
	"deliveries-live",
	"health-live",
	"health-chart-live",
];
export const REFRESH_SECONDS = 2;
const FINGERPRINT_LENGTH = 16;

const URL_FORM = declareForm({
	postbackUrl: {
		label: "Postback URL",
		hint: "Enter a public HTTPS address. It must be the final one, because we do not follow redirects.",
		placeholder: "https://shop.example/postback",
		inputMode: "url",
		autocomplete: "off",
		isMono: true,
	},
});

export async function showCallbacks(
	c: WebContext,
	deps: WebDeps,
	issued: Issued | null = null,
): Promise<Response> {
	// The fingerprint is read before everything else. If data changes while the page is built, the next poll
	// then notices it.
	const seen = await fingerprintOf(c, deps);
	if (c.req.header("if-none-match") === `"${seen}"`) return c.body(null, 304);
	const view = await readCallbacks(c, deps);
	const { path, isLive, url } = view;
	const isShown = issued !== null;
	const isTestNext = view.checks.hasKey && (url !== null || view.isListening) && view.test === null;
	// True if no callback was ever sent, because callbacks need a saved URL.
	const hasNone = url === null && isLive && view.deliveries.rows.length === 0;
	// A new programme cannot send a test yet, so the page offers only the next step.
	const isUntouched = !view.checks.hasKey && view.test === null && hasNone;
	const checks = html`<h2 class="visually-hidden">What works so far</h2><div id="checks-live">${checkSteps(view)}</div>`;
	const keys = firstKeySection(view, issued);
	const test = isUntouched ? null : testSection(view, isShown || isTestNext);
	const callback = html`<div class="columns">${callbackSection(c, view, isShown)}${url === null ? null : healthPart(view)}</div>`;
	const refresher = ui.refreshed("refresher", path, REFRESH_SECONDS, seen, LIVE_PARTS);
	return answerTab(c, {
		tab: "callbacks",
		hint: "Your server reports sales with signed requests. We send it a callback for each status change.",
		status: view.asked.status,
		body: html`${isLive ? html`<div id="refresher"${ui.attrs(refresher)}></div>` : null}
${
	// After a key was issued, the test comes directly below the new key.
	isShown ? [keys, test, checks, callback] : [checks, keys, callback, test]
}
${hasNone ? null : deliveriesSection(view)}`,
	});
}

export function healthPart({
	health,
	zone,
	isStaff,
}: Pick<CallbacksView, "health" | "zone" | "isStaff">): Html {
	return html`<div class="stack"><div id="health-live">${healthStrip(health, isStaff)}</div>${ui.section({
		id: "health",
		title: "The last 14 days",
		hint: `Attempts per day (${zone}): successful (2xx) and failed.`,
		body: ui.padded(html`<div id="health-chart-live">${healthChart(health)}</div>`),
	})}</div>`;
}

async function fingerprintOf(c: WebContext, deps: WebDeps): Promise<string> {
	const programme = programmeOf(c);
	const isListening = await isListened(deps, programme);
	return fingerprint(deps, programme, programme.id, [isListening]);
}

/** Returns a short text that changes whenever the callbacks of the receiver or the `others` change. */
export async function fingerprint(
	{ store: { db } }: Pick<WebDeps, "store">,
	{ receiver_id: receiverId, endpoint_epoch: epoch }: Pick<ReceiverColumns, "receiver_id" | "endpoint_epoch">,
	programmeId: number | null,
	others: readonly unknown[],
): Promise<string> {
	const progress = await newestProgress(db, receiverId, programmeId);
	const pending = await findOldestPending(db, receiverId);
	return sha256Hex([...others, progress, pending.count, epoch].join(" ")).slice(0, FINGERPRINT_LENGTH);
}

/** Returns the list of set-up steps, or null if all steps are done. */
function checkSteps(view: CallbacksView): Html | null {
	const { checks, programme, keysPath } = view;
	const parksPixels = programme.parks_pixels === 1;
	const step = (title: string, isDone: boolean, done: string, toDo: Content) => ({
		title,
		state: isDone ? ("done" as const) : ("to do" as const),
		// The viewer's role does not allow this step, so the text does not ask the viewer to take it.
		text: isDone ? done : view.mayIntegrate ? toDo : "Not yet.",
	});
	const steps = [
		step(
			"Key issued",
			checks.hasKey,
			"Your server can use the API.",
			html`<a href="#keys">Issue an API key</a>. Your first key comes with a signing secret.`,
		),
		step(
			"Signed request accepted",
			checks.hasSignedRequest,
			"Your server's signed requests are accepted.",
			html`Send one with the <a href="${keysPath}#snippets">ready snippet</a>.`,
		),
		step(
			parksPixels ? "Pixel confirmed" : "Pixel recorded",
			checks.hasPixel,
			parksPixels
				? "A pixel call and a signed request named the same order."
				: "Pixel calls from your thank-you page arrive.",
			html`Optional: place the <a href="${keysPath}#snippets">pixel</a> on your thank-you page${parksPixels ? ", then confirm its order by a signed request" : null}.`,
		),
		callbackStep(view),
	];
	return steps.every(({ state }) => state === "done") ? null : ui.steps(steps);
}

/** Returns the step "Callback answered 2xx". The step is not done if callbacks worked before but fail now. */
function callbackStep(view: CallbacksView): { title: string; state: StepState; text: Content } {
	const { health, checks, url, goodAnswer, mayIntegrate } = view;
	const title = "Callback answered 2xx";
	if (health.trouble !== null) {
		const { isSerious, notice } = health.trouble;
		const text = lastFailure(notice, view.called.deliveryPath);
		return { title, state: isSerious ? "failing" : "faltering", text };
	}
	if (checks.hasCallback) return { title, state: "done", text: "Your shop receives status changes." };
	// A result that `listen` reports is only a developer's claim. Once a URL is saved, only callbacks to that
	// URL count.
	if (goodAnswer !== null && url === null) {
		const next = html` Next, for your real server: <a href="#callback">save a Postback URL</a>.`;
		return {
			title: goodAnswer.outcome === "verified" ? "Callback verified" : title,
			state: "done",
			text: html`On a developer's machine, through <code>listen</code>.${mayIntegrate ? next : null}`,
		};
	}
	if (!mayIntegrate) return { title, state: "to do", text: "Not yet." };
	const send = html`<a href="#test">send a test</a>`;
	const advised =
		url === null ? html`<a href="#callback">Save a Postback URL</a>, then ${send}.` : html`Now ${send}.`;
	return { title, state: "to do", text: checks.hasKey ? advised : "Issue an API key first." };
}

/**
 * Returns the section with the button for the first API key, or with the new key, which is shown only once.
 */
function firstKeySection(view: CallbacksView, issued: Issued | null): Content {
	const { checks, hasSecret, mayIntegrate, path } = view;
	if (checks.hasKey && issued === null) return null;
	const text = hasSecret
		? "All keys are revoked. Without one your server cannot report sales."
		: "Your first key comes with a signing secret.";
	return ui.section({
		id: "keys",
		title: "API key and signing secret",
		hint: "The key identifies your programme. The secret signs requests and callbacks.",
		actions:
			issued === null && mayIntegrate
				? // The first key needs no name, so one click is enough.
					ui.buttonForm({
						action: `${path}#keys`,
						label: "Issue API key",
						tone: "primary",
					})
				: null,
		message: view.messageAt("keys"),
		body:
			issued === null
				? ui.emptyState({
						title: hasSecret ? "No API key in use" : "No API key yet",
						text: `${text}${mayIntegrate ? "" : " Owners and developers can issue one."}`,
					})
				: ui.padded(issuedOnce(issued), firstCallback(view, issued)),
	});
}

/**
 * Shows the command that receives the first callback. It contains the new key and secret, which are shown
 * only once.
 */
function firstCallback(view: CallbacksView, { key, secret }: Issued): Content {
	if (key === null || secret === null || view.url !== null) return null;
	return html`<div class="stack-tight"><p><strong>See your first callback:</strong> paste this into a terminal, then send a test conversion below.</p>${listenBlock(view, { key, secret })}</div>`;
}

// The section "Status callback (optional)" with its field "Postback URL". Both labels come from section 1 of
// the contract.

/**
 * Returns the section with the Postback URL. `isCommandAbove` is true if the section above already shows the
 * listen command.
 */
function callbackSection(c: WebContext, view: CallbacksView, isCommandAbove: boolean): Html {
	const { url, mayIntegrate, checks, path, query } = view;
	const saved = url === null ? "none" : html`<span class="mono break">${url}</span>`;
	const remove = ui.buttonForm({
		action: `${path}/postback-url/remove${query}`,
		label: "Remove URL",
		tone: "danger",
		isSmall: true,
		confirm:
			"Remove the Postback URL? Status changes are then no longer sent, and pending callbacks are cancelled for good.",
	});
	return ui.section({
		id: "callback",
		title: "Status callback (optional)",
		hint: html`We send one signed POST to this URL for each status change. <a href="${QUICK_START_PATH}">How to receive them</a>`,
		message: view.messageAt("callback"),
		body: ui.padded(
			missingSecretMessage(view),
			mayIntegrate ? saveForm(c, view, isCommandAbove) : ui.facts([["Postback URL", saved]]),
			html`<div class="row-end"><p class="small soft grow" id="waiting-live">${waiting(view)}</p>${
				url === null || !mayIntegrate ? null : remove
			}</div>`,
			mayIntegrate && checks.hasKey && !isCommandAbove ? onYourMachine(view) : null,
		),
	});
}

function missingSecretMessage({ hasSecret, url, mayIntegrate }: CallbacksView): Content {
	if (hasSecret) return null;
	if (!mayIntegrate) return ui.message("warn", "Nothing is sent yet, because there is no signing secret.");
	// Without a URL this message is left out. The section above already asks the reader to issue an API key, and the
	// secret comes with that key.
	if (url === null) return null;
	const text = html`The URL is saved, but nothing is sent yet, because there is no signing secret. <a href="#keys">Issue an API key</a>. The secret comes with it.`;
	return ui.message("warn", text);
}

function saveForm(c: WebContext, view: CallbacksView, isCommandAbove: boolean): Html {
	const { path, query, url, checks, isListening } = view;
	const isNext = checks.hasKey && url === null && !isListening && !isCommandAbove;
	return URL_FORM.show(c, {
		action: `${path}/postback-url${query}`,
		values: { postbackUrl: url },
		send: html`<div>${ui.button({ label: url === null ? "Save" : "Save URL", ...(isNext ? { tone: "primary" } : {}) })}</div>`,
	});
}

/** Shows how to receive events on a developer's machine, which has no public address. */
function onYourMachine(view: CallbacksView): Html {
	const words = html`<p class="small soft">${
		view.url === null ? "No public URL yet? " : null
	}Paste this into a terminal, with your key and secret (lost? <a href="${view.keysPath}">issue new ones</a>). It checks each callback on your own machine. <a href="${QUICK_START_PATH}">Quick start</a></p>`;
	const body = html`<div class="stack-tight">${words}${listenBlock(view)}</div>`;
	return view.url === null ? body : ui.more("Listen on your own machine", body);
}

/** Shows the listen command, either with the new key and secret or with placeholders. */
function listenBlock(view: CallbacksView, shown?: ShownOnce): Html {
	return html`${ui.codeBlock(view.listenCommand(shown), "the command")}<p class="small soft" id="listening-live" aria-live="polite">${listening(view)}</p>${ui.more(
		"Lines for the .env file of your server",
		ui.codeBlock(view.envLines(shown), "the lines for .env"),
	)}`;
}

function listening({ isListening, test }: CallbacksView): Content {
	if (!isListening) return "Not connected.";
	const send = html`Now <a href="#test">send a test conversion</a>.`;
	return html`${ui.badge("good", "Connected")} ${test === null ? send : null}`;
}

/** Returns a sentence about the pending callbacks. Their number changes while the page is open. */
function waiting({ url, health: { pending }, mayIntegrate }: CallbacksView): string {
	if (mayIntegrate && url === null)
		return "Once you save a URL, we send status changes from then on, not earlier ones.";
	const words = `Pending callbacks: ${countUndelivered(pending.count)}.`;
	if (!mayIntegrate) return words;
	return `${words} If you save another URL, they are sent there. If you remove this one, they are cancelled for good.`;
}

function callbackPart(c: WebContext): FormPart {
	return { path: integrationPath(programmeOf(c).public_id), part: "callback" };
}

/**
 * Issues the first key. If the browser sends the form again, no second key is issued, because a second key
 * would come without a secret.
 */
export async function issueFirstKey(c: WebContext, deps: WebDeps): Promise<Response> {
	if ((await countUsableKeys(deps.store.db, programmeOf(c).id)) > 0) {
		const text = "A key was already issued. If nobody has it, revoke it here and issue another one.";
		return leadTo(c, keysPath(programmeOf(c).public_id), text);
	}
	const issued = await issueKey(deps, programmeOf(c).public_id, actorOf(c));
	if (!issued.ok) return finish(c, { ...callbackPart(c), part: "keys" }, issued, "");
	return showCallbacks(c, deps, issued.value);
}

export async function saveUrl(c: WebContext, deps: WebDeps): Promise<Response> {
	const { postbackUrl } = await URL_FORM.read(c);
	const saved = await savePostbackUrl(deps, programmeOf(c).public_id, postbackUrl, actorOf(c));
	if (!saved.ok) return URL_FORM.refuse(c, saved, () => showCallbacks(c, deps));
	const { url } = saved.value;
	// The saved URL may differ from the typed one, because saving removes surrounding spaces and a default port,
	// converts the host to lower case, and adds a missing path.
	const savedAs = url === postbackUrl ? "" : ` as ${url}`;
	const text = `The Postback URL is saved${savedAs}. Pending callbacks, and status changes from now on, are sent there.`;
	return finish(c, callbackPart(c), saved, text);
}

export async function removeUrl(c: WebContext, deps: WebDeps): Promise<Response> {
	const removed = await removePostbackUrl(deps, programmeOf(c).public_id, actorOf(c));
	return finish(c, callbackPart(c), removed, (worked) => removedMessage("Postback URL", worked));
}

export function removedMessage(label: string, { count, isAll }: Worked): FormMessage {
	const cancelled = count === 0 ? "" : ` Pending callbacks cancelled: ${countUndelivered(count)}.`;
	const later = isAll ? "" : " Some may show as pending until they would have been sent.";
	return ["good", `The ${label} is removed. Nothing more is sent.${cancelled}${later}`];
}
