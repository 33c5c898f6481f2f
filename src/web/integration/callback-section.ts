// Section "Status callback (optional)" with its field "Postback URL": the contract's words (section 1).

import { html } from "hono/html";
import { message, padded, section } from "../components/blocks.ts";
import { button, postForm, textField } from "../components/forms.ts";
import { count } from "../components/text.ts";
import type { Content, Html } from "../html.ts";

export interface CallbackView {
	path: string;
	csrf: Html;
	/** Saved now. */
	url: string | null;
	hasSecret: boolean;
	pendingCount: number;
	/** What was entered and refused, and why. */
	refused: { value: string; error: string } | null;
}

export function callbackSection(view: CallbackView): Html {
	return section({
		id: "callback",
		title: "Status callback (optional)",
		hint: "We send one signed POST for each status change of a conversion to this URL. The integration works without it.",
		body: padded(noSecret(view), saveForm(view), view.url === null ? null : removeForm(view)),
	});
}

function noSecret({ hasSecret, url }: CallbackView): Content {
	if (hasSecret) return null;
	const text =
		url === null
			? html`Nothing is sent without a signing secret. <a href="#keys">Issue the first API key</a>: the secret comes with it.`
			: html`The URL is saved, but nothing is sent yet: there is no signing secret. <a href="#keys">Issue the first API key</a>.`;
	return message("warn", text);
}

function saveForm({ path, csrf, url, refused, pendingCount }: CallbackView): Html {
	const hint =
		url === null
			? "HTTPS, a public address, the final URL (redirects are not followed). Only changes after saving are sent."
			: html`HTTPS, a public address, the final URL.${
					pendingCount === 0
						? null
						: ` ${waiting(pendingCount)} for another try: when you save another URL, they go there.`
				}`;
	return postForm({
		action: `${path}/postback-url`,
		csrf,
		className: "stack",
		body: html`${textField({
			name: "postbackUrl",
			label: "Postback URL",
			value: refused?.value ?? url ?? "",
			hint,
			error: refused?.error,
			placeholder: "https://shop.example/postback",
			inputMode: "url",
			autocomplete: "off",
			maxLength: 4_096,
			isMono: true,
		})}<div class="row">${button({ label: url === null ? "Save" : "Save URL", tone: "primary" })}</div>`,
	});
}

function removeForm({ path, csrf, pendingCount }: CallbackView): Html {
	const loss =
		pendingCount === 0
			? "Status changes are no longer sent from then on."
			: `${waiting(pendingCount)} and would be cancelled for good.`;
	return html`<div class="row-end"><p class="small soft grow">${loss}</p>${postForm({
		action: `${path}/postback-url/remove`,
		csrf,
		className: "row",
		body: button({
			label: "Remove URL",
			tone: "danger",
			isSmall: true,
			confirm: `Remove the Postback URL? ${loss}`,
		}),
	})}</div>`;
}

function waiting(pendingCount: number): string {
	return pendingCount === 1 ? "1 delivery is waiting" : `${count(pendingCount)} deliveries are waiting`;
}
