// Section "Status callback (optional)" with its field "Postback URL": the contract's words (section 1).

import type { ShownOnce } from "../listen-command.ts";
import { DOCS_PATH } from "../paths.ts";
import * as ui from "../ui.ts";
import { type Content, type Html, html } from "../ui.ts";
import type { CallbacksView } from "./callbacks-view.ts";
import { countPending } from "./health-section.ts";

/** What was entered and refused, and why. */
export interface RefusedUrl {
	value: string;
	error: string;
	/** The filters of the list, as the form brought them. */
	back: string;
}

export const WAITING_TARGET = "waiting-live";
export const LISTENING_TARGET = "listening-live";

/** `isToldAbove`: how to listen is said where the key is shown. */
export function callbackSection(view: CallbacksView, refused: RefusedUrl | null, isToldAbove: boolean): Html {
	return ui.section({
		id: "callback",
		title: "Status callback (optional)",
		hint: html`We send one signed POST to this URL for each status change. <a href="${DOCS_PATH}">How to receive them</a>`,
		told: view.told("callback"),
		body: ui.padded(
			noSecret(view),
			view.mayIntegrate ? saveForm(view, refused, isToldAbove) : savedUrl(view),
			whatComesOfIt(view),
			view.mayIntegrate && view.checks.hasKey && !isToldAbove ? onYourMachine(view) : null,
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

function savedUrl({ url }: CallbacksView): Html {
	return ui.facts([["Postback URL", url === null ? "none" : html`<span class="mono break">${url}</span>`]]);
}

function saveForm(
	{ path, hidden, url, next }: CallbacksView,
	refused: RefusedUrl | null,
	isToldAbove: boolean,
): Html {
	return ui.postForm({
		action: `${path}/postback-url`,
		csrf: hidden,
		className: "stack",
		body: html`${ui.textField({
			name: "postbackUrl",
			label: "Postback URL",
			value: refused?.value ?? url ?? "",
			hint: "A public HTTPS address, and the final one: redirects are not followed.",
			error: refused?.error,
			// Whoever was refused must not have to look for the reason.
			hasFocus: refused !== null,
			placeholder: "https://shop.example/postback",
			inputMode: "url",
			autocomplete: "off",
			maxLength: 4_096,
			isMono: true,
		})}<div class="row">${ui.button({ label: url === null ? "Save" : "Save URL", ...(next === "url" && !isToldAbove ? { tone: "primary" } : {}) })}</div>`,
	});
}

function whatComesOfIt(view: CallbacksView): Html {
	return html`<div class="row-end"><p class="small soft grow" id="${WAITING_TARGET}">${waiting(view)}</p>${
		view.url === null || !view.mayIntegrate ? null : removeForm(view)
	}</div>`;
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
export function listenBlock(view: CallbacksView, shown?: ShownOnce): Html {
	return html`${ui.codeBlock(view.listenCommand(shown), "the command")}<p class="small soft" id="${LISTENING_TARGET}" aria-live="polite">${listening(view)}</p>`;
}

/** What is pushed. */
export function listening({ isListening, test }: CallbacksView): Content {
	if (!isListening) return "Not connected.";
	if (test !== null) return ui.badge("good", "Connected");
	return html`${ui.badge("good", "Connected")} Now <a href="#test">send a test conversion</a>.`;
}

function removeForm({ path, hidden }: CallbacksView): Html {
	return ui.buttonForm({
		action: `${path}/postback-url/remove`,
		csrf: hidden,
		label: "Remove URL",
		tone: "danger",
		isSmall: true,
		confirm:
			"Remove the Postback URL? Status changes are then no longer sent, and pending callbacks are cancelled for good.",
	});
}

/** What is pushed: how much is on its way changes while somebody looks. */
export function waiting({ url, health, mayIntegrate }: CallbacksView): string {
	const pendingCount = health.pending.count;
	const [what, goes, is] =
		pendingCount === 1
			? ["1 callback is", "it goes", "it is"]
			: [`${countPending(pendingCount)} callbacks are`, "they go", "they are"];
	if (!mayIntegrate) return pendingCount === 0 ? "No callback is pending." : `${what} pending.`;
	if (url === null) return "Only status changes after saving are sent.";
	if (pendingCount === 0) return "If you remove it, status changes are no longer sent.";
	return `${what} pending. If you save another URL, ${goes} there; if you remove this one, ${is} cancelled for good.`;
}
