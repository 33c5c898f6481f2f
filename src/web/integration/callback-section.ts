// Section "Status callback (optional)" with its field "Postback URL": the contract's words (section 1).

import { html } from "hono/html";
import { DEFAULT_BRAND } from "../../domain/network.ts";
import { facts, message, more, padded, section } from "../components/blocks.ts";
import { button, postForm, textField } from "../components/forms.ts";
import { codeBlock } from "../components/text.ts";
import { downloadUrl } from "../downloads.ts";
import type { Content, Html } from "../html.ts";
import { DOCS_PATH } from "../paths.ts";
import type { CallbacksView } from "./callbacks-view.ts";
import { countPending } from "./health-section.ts";
import { API_KEY_VARIABLE, SECRET_VARIABLE } from "./snippets-section.ts";

/** What was entered and refused, and why. */
export interface RefusedUrl {
	value: string;
	error: string;
	/** The filters of the list, as the form brought them. */
	back: string;
}

export const WAITING_TARGET = "waiting-live";

export function callbackSection(view: CallbacksView, refused: RefusedUrl | null): Html {
	return section({
		id: "callback",
		title: "Status callback (optional)",
		hint: html`We send one signed POST for each status change of a conversion to this URL. The integration works without it. <a href="${DOCS_PATH}">How to receive them</a>`,
		told: view.told("callback"),
		body: padded(
			noSecret(view),
			view.mayIntegrate ? saveForm(view, refused) : savedUrl(view),
			whatComesOfIt(view),
			view.mayIntegrate ? onYourMachine(view) : null,
		),
	});
}

function noSecret({ hasSecret, url, mayIntegrate }: CallbacksView): Content {
	if (hasSecret) return null;
	if (!mayIntegrate) return message("warn", "Nothing is sent yet: there is no signing secret.");
	const text =
		url === null
			? html`Nothing is sent without a signing secret. <a href="#keys">Issue an API key</a> first: the secret comes with it.`
			: html`The URL is saved, but nothing is sent yet: there is no signing secret. <a href="#keys">Issue an API key</a>: the secret comes with it.`;
	return message("warn", text);
}

function savedUrl({ url }: CallbacksView): Html {
	return facts([["Postback URL", url === null ? "none" : html`<span class="mono break">${url}</span>`]]);
}

function saveForm({ path, hidden, url, next }: CallbacksView, refused: RefusedUrl | null): Html {
	return postForm({
		action: `${path}/postback-url`,
		csrf: hidden,
		className: "stack",
		body: html`${textField({
			name: "postbackUrl",
			label: "Postback URL",
			value: refused?.value ?? url ?? "",
			hint: "An HTTPS URL with a public address. Redirects are not followed, so enter the final URL.",
			error: refused?.error,
			// Whoever was refused must not have to look for the reason.
			hasFocus: refused !== null,
			placeholder: "https://shop.example/postback",
			inputMode: "url",
			autocomplete: "off",
			maxLength: 4_096,
			isMono: true,
		})}<div class="row">${button({ label: url === null ? "Save" : "Save URL", ...(next === "url" ? { tone: "primary" } : {}) })}</div>`,
	});
}

function whatComesOfIt(view: CallbacksView): Html {
	return html`<div class="row-end"><p class="small soft grow" id="${WAITING_TARGET}">${waiting(view)}</p>${
		view.url === null || !view.mayIntegrate ? null : removeForm(view)
	}</div>`;
}

/** A developer's machine has no public address; events come to it all the same. */
function onYourMachine({ url, publicUrl, brand }: CallbacksView): Html {
	const command = `npx -p ${downloadUrl(publicUrl)} ringback listen --url ${publicUrl} --to http://localhost:3000/postback`;
	const settings = html`<code>${API_KEY_VARIABLE}</code> and <code>${SECRET_VARIABLE}</code>${
		brand === DEFAULT_BRAND ? null : html`, and <code>RINGBACK_BRAND=${brand}</code>,`
	}`;
	const body = html`<div class="stack-tight"><p class="small soft">${
		url === null ? "No public URL yet? " : null
	}With ${settings} set, this brings the events to your own machine. <a href="${DOCS_PATH}#quick-start">Quick start</a></p>${codeBlock(command, "the command")}</div>`;
	return url === null ? body : more("Listen on your own machine", body);
}

function removeForm({ path, hidden }: CallbacksView): Html {
	return postForm({
		action: `${path}/postback-url/remove`,
		csrf: hidden,
		className: "row",
		body: button({
			label: "Remove URL",
			tone: "danger",
			isSmall: true,
			confirm:
				"Remove the Postback URL? Status changes are then no longer sent, and pending callbacks are cancelled for good.",
		}),
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
