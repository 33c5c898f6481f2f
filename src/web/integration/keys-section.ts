// API keys and the signing secret: issue, show once, revoke.

import { html } from "hono/html";
import type { ApiKey } from "../../store/keys.ts";
import { emptyState, message, padded, section } from "../components/blocks.ts";
import { button, postForm } from "../components/forms.ts";
import { dataTable } from "../components/lists.ts";
import { badge, copyable, timeTag } from "../components/text.ts";
import type { Content, Html } from "../html.ts";
import type { IntegrationView } from "./integration-view.ts";
import type { Issued } from "./issued-cookie.ts";
import { secretPart } from "./secret-section.ts";
import { API_KEY_VARIABLE, SECRET_VARIABLE } from "./snippets-section.ts";

/** `issued` is shown this one time. */
export function keysSection(view: IntegrationView, keys: readonly ApiKey[], issued: Issued | null): Html {
	const { path, csrf, next, mayIntegrate } = view;
	return section({
		id: "keys",
		title: "API keys and signing secret",
		hint: "The API key identifies your programme; the secret signs your requests and our callbacks. Both are shown once.",
		actions: mayIntegrate
			? postForm({
					action: `${path}/keys`,
					csrf,
					className: "row",
					body: button({ label: "Issue API key", ...(next === "key" ? { tone: "primary" } : {}) }),
				})
			: null,
		body: html`${issued === null ? null : padded(issuedOnce(issued))}${keyTable(view, keys)}${secretPart(view)}`,
	});
}

/** A secret without a key is one that was prepared. */
const PREPARED =
	"It is prepared, not active: add it to your receiver beside the old one, then activate it below.";

function issuedOnce({ key, secret }: Issued): Html {
	const parts: Content[] = [
		html`<p><strong>Copy ${key !== null && secret !== null ? "both" : "it"} now: this page will not show ${
			key !== null && secret !== null ? "them" : "it"
		} again.</strong></p>`,
	];
	if (key !== null) parts.push(shownOnce("API key", API_KEY_VARIABLE, key));
	if (secret !== null)
		parts.push(shownOnce(key === null ? "New signing secret" : "Signing secret", SECRET_VARIABLE, secret));
	if (key === null && secret !== null) parts.push(html`<p class="small">${PREPARED}</p>`);
	return message("good", html`<div class="stack-tight">${parts}</div>`);
}

function shownOnce(label: string, variable: string, value: string): Html {
	return html`<div><p class="small soft">${label}, in the snippets <code>${variable}</code></p>${copyable(value, label)}</div>`;
}

function keyTable({ path, csrf, mayIntegrate }: IntegrationView, keys: readonly ApiKey[]): Html {
	return dataTable({
		caption: "API keys",
		rows: keys,
		empty: emptyState({
			title: "No API key yet",
			text: "Your first key comes with a signing secret. Without a secret no callback is sent.",
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
					key.revoked_at_ms !== null || !mayIntegrate
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
