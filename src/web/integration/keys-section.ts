// API keys and the signing secret: issue, show once, replace, revoke.

import { html } from "hono/html";
import type { ApiKey } from "../../store/keys.ts";
import { emptyState, message, padded, section } from "../components/blocks.ts";
import { button, postForm } from "../components/forms.ts";
import { dataTable } from "../components/lists.ts";
import { badge, copyable, timeTag } from "../components/text.ts";
import type { Content, Html } from "../html.ts";
import type { Issued } from "./issued-cookie.ts";
import { API_KEY_VARIABLE, SECRET_VARIABLE } from "./snippet-values.ts";

export interface KeysView {
	path: string;
	csrf: Html;
	keys: readonly ApiKey[];
	/** When the present secret was made; null without one. */
	secretMadeAtMs: number | null;
	/** Issuing one is what to do next. */
	isNext: boolean;
	/** Shown this one time. */
	issued: Issued | null;
}

export function keysSection(view: KeysView): Html {
	const { path, csrf, issued } = view;
	return section({
		id: "keys",
		title: "API keys and signing secret",
		hint: "A key names the programme, the secret signs in both directions. Both are shown once.",
		actions: postForm({
			action: `${path}/keys`,
			csrf,
			className: "row",
			body: button({ label: "Issue API key", ...(view.isNext ? { tone: "primary" } : {}) }),
		}),
		body: html`${issued === null ? null : padded(issuedOnce(issued))}${keyTable(view)}${
			view.secretMadeAtMs === null ? null : padded(secretRow(view, view.secretMadeAtMs))
		}`,
	});
}

function issuedOnce({ key, secret }: Issued): Html {
	const parts: Content[] = [
		html`<p><strong>Copy ${key !== null && secret !== null ? "both" : "it"} now: this page will not show ${
			key !== null && secret !== null ? "them" : "it"
		} again.</strong></p>`,
	];
	if (key !== null) parts.push(shownOnce("API key", API_KEY_VARIABLE, key));
	if (secret !== null) parts.push(shownOnce("Signing secret", SECRET_VARIABLE, secret));
	return message("good", html`<div class="stack-tight">${parts}</div>`);
}

function shownOnce(label: string, variable: string, value: string): Html {
	return html`<div><p class="small soft">${label}, in the snippets <code>${variable}</code></p>${copyable(value, label)}</div>`;
}

function keyTable({ keys, path, csrf }: KeysView): Html {
	return dataTable({
		caption: "API keys",
		rows: keys,
		empty: emptyState({
			title: "No API key yet",
			text: "Issue the first one: the signing secret comes with it, and without a secret no callback is sent.",
		}),
		stacks: true,
		columns: [
			{ title: "Key", namesRow: true, cell: ({ hint }) => html`<code>rbk_…${hint}</code>` },
			{ title: "Made", cell: (key) => timeTag(key.created_at_ms) },
			{
				title: "Last used",
				cell: ({ last_used_at_ms: atMs }) =>
					atMs === null ? html`<span class="faint">never</span>` : timeTag(atMs),
			},
			{
				title: "State",
				cell: (key) =>
					key.revoked_at_ms === null
						? badge("good", "In use")
						: html`${badge("plain", "Revoked")} <span class="small faint">${timeTag(key.revoked_at_ms)}</span>`,
			},
			{
				title: "Revoke",
				isTitleHidden: true,
				isNumber: true,
				cell: (key) =>
					key.revoked_at_ms !== null
						? null
						: postForm({
								action: `${path}/keys/${key.public_id}/revoke`,
								csrf,
								className: "",
								body: button({
									label: "Revoke",
									tone: "danger",
									isSmall: true,
									confirm: `Revoke the key that ends in ${key.hint}? Requests with it are refused from this moment on.`,
									ariaLabel: `Revoke the key that ends in ${key.hint}`,
								}),
							}),
			},
		],
	});
}

function secretRow({ path, csrf }: KeysView, madeAtMs: number): Html {
	return html`<div class="row-end"><div class="grow">
	<h3>Signing secret</h3>
	<p class="small soft">Made ${timeTag(madeAtMs)}. When you replace it, the next callback is signed with the new one at once; your own requests may use the old one for 24 hours more.</p>
</div>${postForm({
		action: `${path}/secret`,
		csrf,
		className: "row",
		body: button({
			label: "Replace secret",
			tone: "danger",
			isSmall: true,
			confirm:
				"Replace the signing secret? The next callback is signed with the new one: your receiver needs it first, or must accept both.",
		}),
	})}</div>`;
}
