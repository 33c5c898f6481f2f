// API keys and the signing secret: issue, show once, name, revoke.

import { showKey } from "../../domain/action.ts";
import { MAX_NAME_LENGTH } from "../../domain/display-name.ts";
import type { ApiKey } from "../../store/queries/keys.ts";
import type { SigningSecret } from "../../store/queries/signing-secrets.ts";
import { API_KEY_VARIABLE, SECRET_VARIABLE } from "../listen-command.ts";
import * as ui from "../ui.ts";
import { type Content, type Html, html } from "../ui.ts";
import { listenBlock } from "./callback-section.ts";
import type { CallbacksView } from "./callbacks-view.ts";
import type { Issued } from "./issued-cookie.ts";

export interface KeysView {
	/** Of the tab, and of its forms, which are below it. */
	path: string;
	/** For its forms: the token, and the language of the snippets. */
	hidden: Html;
	/** Whoever may not is offered no button. */
	mayIntegrate: boolean;
	/** What the last form came to, for the part that it was about. */
	told(part: "keys" | "secret"): Html | null;
	nowMs: number;
	keys: readonly ApiKey[];
	/** All that are good for something. */
	secrets: readonly SigningSecret[];
	/** Shown this one time. */
	issued: Issued | null;
}

export function keysSection(view: KeysView): Html {
	const { path, hidden, issued, keys, mayIntegrate } = view;
	const isNext = !keys.some((key) => key.revoked_at_ms === null);
	return ui.section({
		id: "keys",
		title: "API keys",
		hint: "The API key identifies your programme; the secret signs your requests and our callbacks. Both are shown once.",
		told: view.told("keys"),
		body: html`${issued === null || issued.key === null ? null : ui.padded(issuedOnce(issued))}${
			mayIntegrate ? ui.padded(issueForm(path, hidden, isNext)) : null
		}${keyTable(view)}`,
	});
}

/** The first step, on the tab that leads through them: until there is a key, and once more to show it. */
export function firstKeySection(view: CallbacksView, issued: Issued | null): Content {
	if (view.checks.hasKey && issued === null) return null;
	const title = view.hasSecret ? "No API key in use" : "No API key yet";
	const text = view.hasSecret
		? "All keys are revoked. Without one your server cannot report sales."
		: "Your first key comes with a signing secret.";
	const whoMay = view.mayIntegrate ? "" : " Owners and developers can issue one.";
	return ui.section({
		id: "keys",
		title: "API key and signing secret",
		hint: "The key identifies your programme; the secret signs requests and callbacks.",
		actions: issued === null && view.mayIntegrate ? firstKeyForm(view) : null,
		told: view.told("keys"),
		body:
			issued === null
				? ui.emptyState({ title, text: `${text}${whoMay}` })
				: ui.padded(issuedOnce(issued), firstCallback(view, issued)),
	});
}

/** The shortest way to see one, from what is on the screen this once. */
function firstCallback(view: CallbacksView, { key, secret }: Issued): Content {
	if (key === null || secret === null || view.url !== null) return null;
	return html`<div class="stack-tight"><p><strong>See your first callback:</strong> paste this into a terminal, then send a test conversion below.</p>${listenBlock(view, { key, secret })}</div>`;
}

/** One click: what to call it is a question for whoever has more than one. */
function firstKeyForm({ keysPath, hidden }: CallbacksView): Html {
	return ui.buttonForm({
		action: keysPath,
		csrf: hidden,
		hidden: { on: "callbacks" },
		label: "Issue API key",
		tone: "primary",
	});
}

function issueForm(path: string, hidden: Html, isNext: boolean): Html {
	return ui.postForm({
		action: path,
		csrf: hidden,
		className: "row-end",
		body: html`${ui.textField({
			name: "name",
			id: "key-name",
			label: "Name of the new key (optional)",
			placeholder: "Shop server",
			maxLength: MAX_NAME_LENGTH,
			autocomplete: "off",
		})}${ui.button({ label: "Issue API key", ...(isNext ? { tone: "primary" } : {}) })}`,
	});
}

/** A secret without a key is one that was prepared. */
const PREPARED =
	"It is prepared, not active: add it to your receiver beside the old one, then activate it below.";

export function issuedOnce({ key, secret }: Issued): Html {
	const parts: Content[] = [
		html`<p><strong>Copy ${key !== null && secret !== null ? "both" : "it"} now: this page will not show ${
			key !== null && secret !== null ? "them" : "it"
		} again.</strong></p>`,
	];
	if (key !== null) parts.push(shownOnce("API key", API_KEY_VARIABLE, key));
	if (secret !== null)
		parts.push(shownOnce(key === null ? "New signing secret" : "Signing secret", SECRET_VARIABLE, secret));
	if (key === null && secret !== null) parts.push(html`<p class="small">${PREPARED}</p>`);
	return ui.message("good", html`<div class="stack-tight" data-shown-once>${parts}</div>`);
}

function shownOnce(label: string, variable: string, value: string): Html {
	return html`<div><p class="small soft">${label}, in the snippets <code>${variable}</code></p>${ui.copyable(value, label)}</div>`;
}

function keyTable(view: KeysView): Html {
	return ui.dataTable({
		caption: "API keys, one per row",
		rows: view.keys,
		empty: ui.emptyState({
			title: "No API key yet",
			text: "Your first key comes with a signing secret. Without a secret no callback is sent.",
		}),
		stacks: true,
		columns: [
			{ title: "Name", namesRow: true, cell: (key) => nameCell(key, view) },
			{ title: "Key", cell: ({ hint }) => html`<code>${showKey(hint)}</code>` },
			{ title: "Created", cell: (key) => ui.timeTag(key.created_at_ms) },
			{
				title: "Last used",
				cell: ({ last_used_at_ms: atMs }) =>
					atMs === null ? html`<span class="faint">never</span>` : ui.timeTag(atMs),
			},
			{
				title: "State",
				cell: (key) =>
					key.revoked_at_ms === null
						? ui.badge("good", "In use")
						: html`${ui.badge("plain", "Revoked")} <span class="small faint">${ui.timeTag(key.revoked_at_ms)}</span>`,
			},
			{ title: "Revoke", isTitleHidden: true, isNumber: true, cell: (key) => revokeForm(key, view) },
		],
	});
}

/** To be changed in place, while the key is in use. */
function nameCell(
	{ name, hint, public_id: publicId, revoked_at_ms: revokedAtMs }: ApiKey,
	{ path, hidden, mayIntegrate }: KeysView,
): Html {
	if (revokedAtMs !== null || !mayIntegrate) return html`<span class="break">${name}</span>`;
	return ui.postForm({
		action: `${path}/${publicId}/rename`,
		csrf: hidden,
		className: "row choice",
		body: html`<input${ui.attrs({
			type: "text",
			name: "name",
			value: name,
			maxlength: MAX_NAME_LENGTH,
			required: true,
			autocomplete: "off",
			"aria-label": `Name of the key that ends in ${hint}`,
		})}>${ui.button({ label: "Rename", isSmall: true, ariaLabel: `Rename the key that ends in ${hint}` })}`,
	});
}

function revokeForm(
	{ name, hint, public_id: publicId, revoked_at_ms: revokedAtMs }: ApiKey,
	{ path, hidden, mayIntegrate }: KeysView,
): Content {
	if (revokedAtMs !== null || !mayIntegrate) return null;
	return ui.buttonForm({
		action: `${path}/${publicId}/revoke`,
		csrf: hidden,
		className: "",
		label: "Revoke",
		tone: "danger",
		isSmall: true,
		confirm: `Revoke the key ${name} (${showKey(hint)})? Requests with it are refused from this moment on.`,
		ariaLabel: `Revoke the key that ends in ${hint}`,
	});
}
