// The tab Callbacks, and the first page of Integration: where callbacks go, how they do, a test, and the list. For a
// programme that is not set up it leads through the steps. What changes by itself is fetched again from the same page.

import { sha256Hex } from "../../domain/signature.ts";
import { issueKey } from "../../programmes/keys.ts";
import { removePostbackUrl, savePostbackUrl } from "../../programmes/postback-url.ts";
import { findOldestPending } from "../../store/queries/delivery-health.ts";
import { newestProgress } from "../../store/queries/delivery-list.ts";
import { countUsableKeys } from "../../store/queries/keys.ts";
import { countUndelivered, lastFailure, TROUBLE_TARGET } from "../conversion-ui.ts";
import { declareForm } from "../form.ts";
import type { ShownOnce } from "../listen-command.ts";
import { leadTo, makerOf, programmeOf, type WebContext, type WebDeps } from "../page.ts";
import { DOCS_PATH, integrationPath, keysPath } from "../paths.ts";
import * as ui from "../ui.ts";
import { type Content, type Html, html, type StepState } from "../ui.ts";
import { type CallbacksView, isListened, readCallbacks } from "./callbacks-view.ts";
import { deliveriesSection } from "./deliveries-section.ts";
import { answerTab, type FormPart, finish } from "./frame.ts";
import { healthChart, healthStrip } from "./health-section.ts";
import { type Issued, issuedOnce } from "./keys-page.ts";
import { testSection } from "./test-section.ts";

/** Of the list the table alone: the filter above it stays under the reader's fingers. */
const LIVE_PARTS = [
	TROUBLE_TARGET,
	"checks-live",
	"waiting-live",
	"listening-live",
	"test-live",
	"deliveries-live",
	"health-live",
	"health-chart-live",
];
const REFRESH_SECONDS = 2;
const FINGERPRINT_LENGTH = 16;

const URL_FORM = declareForm({
	postbackUrl: {
		label: "Postback URL",
		hint: "Enter a public HTTPS address, and the final one: we do not follow redirects.",
		placeholder: "https://shop.example/postback",
		inputMode: "url",
		autocomplete: "off",
		maxLength: 4_096,
		isMono: true,
	},
});

export async function showCallbacks(
	c: WebContext,
	deps: WebDeps,
	issued: Issued | null = null,
): Promise<Response> {
	// Before the rest: what changes while the page is read is then fetched, not missed.
	const seen = await fingerprintOf(c, deps);
	if (c.req.header("if-none-match") === `"${seen}"`) return c.body(null, 304);
	const view = await readCallbacks(c, deps);
	const { path, isLive, url } = view;
	const isShown = issued !== null;
	const isTestNext = view.checks.hasKey && (url !== null || view.isListening) && view.test === null;
	// Nothing was ever sent, and nothing will be before a URL is saved.
	const hasNone = url === null && isLive && view.deliveries?.page.rows.length === 0;
	// Nothing can be tried yet: the first page has one thing to do.
	const isUntouched = !view.checks.hasKey && view.test === null && hasNone;
	const checks = html`<h2 class="visually-hidden">What works so far</h2><div id="checks-live">${checkSteps(view)}</div>`;
	const keys = firstKeySection(view, issued);
	const test = isUntouched ? null : testSection(view, isShown || isTestNext);
	const callback = html`<div class="columns">${callbackSection(c, view, isShown)}${url === null ? null : healthPart(view)}</div>`;
	const refresher = ui.refreshed("refresher", path, REFRESH_SECONDS, seen, LIVE_PARTS);
	return answerTab(c, {
		tab: "callbacks",
		hint: "Your server reports sales with signed requests. We send it a callback for each status change.",
		status: view.deliveries === null ? 422 : undefined,
		body: html`${isLive ? html`<div id="refresher"${ui.attrs(refresher)}></div>` : null}
${
	// From the key on the screen to the first callback without a word between them.
	isShown ? [keys, test, checks, callback] : [checks, keys, callback, test]
}
${hasNone ? null : deliveriesSection(view)}`,
	});
}

function healthPart({ health, zone, isStaff }: CallbacksView): Html {
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
	const progress = await newestProgress(deps.store.db, programme.id);
	const pending = await findOldestPending(deps.store.db, programme.id);
	const all = [isListening, progress, pending.count, programme.endpoint_epoch];
	return sha256Hex(all.join(" ")).slice(0, FINGERPRINT_LENGTH);
}

/** Until all of them are done: then the numbers below say more. */
function checkSteps(view: CallbacksView): Html | null {
	const { checks, programme, keysPath } = view;
	const parksPixels = programme.parks_pixels === 1;
	const step = (title: string, isDone: boolean, done: string, toDo: Content) => ({
		title,
		state: isDone ? ("done" as const) : ("to do" as const),
		// Whoever may only look is not told to do what they cannot.
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

/** The present, and not the past: one that worked once and fails now is not done. */
function callbackStep(view: CallbacksView): { title: string; state: StepState; text: Content } {
	const { health, checks, url, goodAnswer, mayIntegrate } = view;
	const title = "Callback answered 2xx";
	if (health.trouble !== null) {
		const { isSerious, notice } = health.trouble;
		const text = lastFailure(notice, view.programme.public_id);
		return { title, state: isSerious ? "failing" : "faltering", text };
	}
	if (checks.hasCallback) return { title, state: "done", text: "Your shop receives status changes." };
	// Only a developer's word: with a URL saved, what counts is what comes from there.
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

/** The first step, on the tab that leads through them: until there is a key, and once more to show it. */
function firstKeySection(view: CallbacksView, issued: Issued | null): Content {
	const { checks, hasSecret, mayIntegrate, path } = view;
	if (checks.hasKey && issued === null) return null;
	const text = hasSecret
		? "All keys are revoked. Without one your server cannot report sales."
		: "Your first key comes with a signing secret.";
	return ui.section({
		id: "keys",
		title: "API key and signing secret",
		hint: "The key identifies your programme; the secret signs requests and callbacks.",
		actions:
			issued === null && mayIntegrate
				? // One click: what to call it is a question for whoever has more than one.
					ui.buttonForm({
						action: `${path}#keys`,
						label: "Issue API key",
						tone: "primary",
					})
				: null,
		told: view.told("keys"),
		body:
			issued === null
				? ui.emptyState({
						title: hasSecret ? "No API key in use" : "No API key yet",
						text: `${text}${mayIntegrate ? "" : " Owners and developers can issue one."}`,
					})
				: ui.padded(issuedOnce(issued), firstCallback(view, issued)),
	});
}

/** The shortest way to see one, from what is on the screen this once. */
function firstCallback(view: CallbacksView, { key, secret }: Issued): Content {
	if (key === null || secret === null || view.url !== null) return null;
	return html`<div class="stack-tight"><p><strong>See your first callback:</strong> paste this into a terminal, then send a test conversion below.</p>${listenBlock(view, { key, secret })}</div>`;
}

// Section "Status callback (optional)" with its field "Postback URL": the contract's words (section 1).

/** `isToldAbove`: how to listen is said where the key is shown. */
function callbackSection(c: WebContext, view: CallbacksView, isToldAbove: boolean): Html {
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
		hint: html`We send one signed POST to this URL for each status change. <a href="${DOCS_PATH}">How to receive them</a>`,
		told: view.told("callback"),
		body: ui.padded(
			noSecret(view),
			mayIntegrate ? saveForm(c, view, isToldAbove) : ui.facts([["Postback URL", saved]]),
			html`<div class="row-end"><p class="small soft grow" id="waiting-live">${waiting(view)}</p>${
				url === null || !mayIntegrate ? null : remove
			}</div>`,
			mayIntegrate && checks.hasKey && !isToldAbove ? onYourMachine(view) : null,
		),
	});
}

function noSecret({ hasSecret, url, mayIntegrate }: CallbacksView): Content {
	if (hasSecret) return null;
	if (!mayIntegrate) return ui.message("warn", "Nothing is sent yet: there is no signing secret.");
	// Then the key is the next step, and said above.
	if (url === null) return null;
	const text = html`The URL is saved, but nothing is sent yet: there is no signing secret. <a href="#keys">Issue an API key</a>: the secret comes with it.`;
	return ui.message("warn", text);
}

function saveForm(c: WebContext, view: CallbacksView, isToldAbove: boolean): Html {
	const { path, query, url, checks, isListening } = view;
	const isNext = checks.hasKey && url === null && !isListening && !isToldAbove;
	return URL_FORM.show(c, {
		action: `${path}/postback-url${query}`,
		values: { postbackUrl: url },
		send: html`<div>${ui.button({ label: url === null ? "Save" : "Save URL", ...(isNext ? { tone: "primary" } : {}) })}</div>`,
	});
}

/** A developer's machine has no public address; events come to it all the same. */
function onYourMachine(view: CallbacksView): Html {
	const words = html`<p class="small soft">${
		view.url === null ? "No public URL yet? " : null
	}Paste this into a terminal, with your key and secret (lost? <a href="${view.keysPath}">issue new ones</a>). It checks each callback on your own machine. <a href="${DOCS_PATH}#quick-start">Quick start</a></p>`;
	const body = html`<div class="stack-tight">${words}${listenBlock(view)}</div>`;
	return view.url === null ? body : ui.more("Listen on your own machine", body);
}

/** With what is shown once, or with its place. */
function listenBlock(view: CallbacksView, shown?: ShownOnce): Html {
	return html`${ui.codeBlock(view.listenCommand(shown), "the command")}<p class="small soft" id="listening-live" aria-live="polite">${listening(view)}</p>`;
}

function listening({ isListening, test }: CallbacksView): Content {
	if (!isListening) return "Not connected.";
	const send = html`Now <a href="#test">send a test conversion</a>.`;
	return html`${ui.badge("good", "Connected")} ${test === null ? send : null}`;
}

/** How much is on its way changes while somebody looks. */
function waiting({ url, health: { pending }, mayIntegrate }: CallbacksView): string {
	if (mayIntegrate && url === null)
		return "Once you save a URL, we send status changes from then on, not earlier ones.";
	const words = `Pending callbacks: ${countUndelivered(pending.count)}.`;
	if (!mayIntegrate) return words;
	return `${words} If you save another URL, they go there; if you remove this one, they are cancelled for good.`;
}

const CALLBACK: FormPart = { path: integrationPath, part: "callback" };

/** Sent again, as a reload does it, it issues no second key: that would come without the secret. */
export async function issueFirstKey(c: WebContext, deps: WebDeps): Promise<Response> {
	if ((await countUsableKeys(deps.store.db, programmeOf(c).id)) > 0) {
		const text = "A key was issued already. If nobody has it, revoke it here and issue another one.";
		return leadTo(c, keysPath(programmeOf(c).public_id), text);
	}
	const issued = await issueKey(deps, programmeOf(c).public_id, makerOf(c));
	if (!issued.ok) return finish(c, { path: integrationPath, part: "keys" }, issued, "");
	return showCallbacks(c, deps, issued.value);
}

export async function saveUrl(c: WebContext, deps: WebDeps): Promise<Response> {
	const { postbackUrl } = await URL_FORM.read(c);
	const saved = await savePostbackUrl(deps, programmeOf(c).public_id, postbackUrl, makerOf(c));
	if (!saved.ok) return URL_FORM.refuse(c, saved, () => showCallbacks(c, deps));
	const { url } = saved.value;
	// Outer spaces, the usual port, capitals in the host's name, the slash after it.
	const as = url === postbackUrl ? "" : ` as ${url}`;
	const text = `The Postback URL is saved${as}. Pending callbacks, and status changes from now on, are sent there.`;
	return finish(c, CALLBACK, saved, text);
}

export async function removeUrl(c: WebContext, deps: WebDeps): Promise<Response> {
	const removed = await removePostbackUrl(deps, programmeOf(c).public_id, makerOf(c));
	return finish(c, CALLBACK, removed, ({ count, isAll }) => {
		const cancelled = count === 0 ? "" : ` Pending callbacks cancelled: ${countUndelivered(count)}.`;
		const later = isAll ? "" : " Some may show as pending until they would have been sent.";
		return ["good", `The Postback URL is removed: nothing more is sent.${cancelled}${later}`];
	});
}
