// The signing secret of a programme, and its replacement in four steps: no callback is lost if they are done in
// this order.

import { html } from "hono/html";
import { goodUntilMs, type SigningSecret, stateOf } from "../../store/signing-secrets.ts";
import { more, padded, section } from "../components/blocks.ts";
import { button, postForm } from "../components/forms.ts";
import { dataTable } from "../components/lists.ts";
import { badge, timeTag } from "../components/text.ts";
import type { Content, Html } from "../html.ts";
import { issuedOnce, type KeysView } from "./keys-section.ts";

type Shown = "active" | "prepared" | "replaced";

/** Nothing before the first key. */
export function secretSection(view: KeysView): Content {
	const { secrets, nowMs, issued } = view;
	if (secrets.length === 0) return null;
	const states = new Set(secrets.map((secret) => stateOf(secret, nowMs)));
	const isUnderWay = states.has("prepared") || states.has("replaced");
	return section({
		id: "secret",
		title: "Signing secret",
		hint: "It signs your requests to us and our callbacks to you. Replacing it takes two steps, and nothing is lost in between.",
		actions: states.has("prepared") || !view.mayIntegrate ? null : prepareForm(view),
		told: view.told("secret"),
		body: html`${issued === null || issued.key !== null ? null : padded(issuedOnce(issued))}${secretTable(view)}${padded(
			isUnderWay ? replacementSteps(states) : more("How to replace the secret", replacementSteps(states)),
		)}`,
	});
}

function secretTable(view: KeysView): Html {
	const order: readonly string[] = ["active", "prepared", "replaced"] satisfies readonly Shown[];
	const rank = (secret: SigningSecret) => order.indexOf(stateOf(secret, view.nowMs));
	return dataTable({
		caption: "Signing secrets",
		rows: view.secrets.toSorted((one, other) => rank(one) - rank(other)),
		empty: null,
		stacks: true,
		columns: [
			{ title: "Secret", namesRow: true, cell: ({ hint }) => html`<code>rbs_…${hint}</code>` },
			{ title: "Created", cell: (secret) => timeTag(secret.created_at_ms) },
			{ title: "State", cell: (secret) => stateCell(secret, view.nowMs) },
			{
				title: "Change",
				isTitleHidden: true,
				isNumber: true,
				cell: (secret) => (view.mayIntegrate ? actions(secret, view) : null),
			},
		],
	});
}

function stateCell(secret: SigningSecret, nowMs: number): Html {
	const state = stateOf(secret, nowMs);
	switch (state) {
		case "active":
			return html`${badge("good", "Active")} <span class="small soft">Signs callbacks. Accepted in your requests.</span>`;
		case "prepared":
			return html`${badge("info", "Prepared")} <span class="small soft">Accepted in your requests. Does not sign callbacks yet.</span>`;
		case "replaced":
			return html`${badge("warn", "Replaced")} <span class="small soft">Accepted in your requests until ${timeTag(goodUntilMs(secret) ?? nowMs)}.</span>`;
		case "ended":
			return html`${badge("plain", "Ended")} <span class="small soft">No longer accepted in your requests.</span>`;
		default:
			return state satisfies never;
	}
}

function actions(secret: SigningSecret, { path, hidden, nowMs }: KeysView): Content {
	const { hint } = secret;
	const named = html`${hidden}<input type="hidden" name="secretId" value="${secret.public_id}">`;
	const state = stateOf(secret, nowMs);
	switch (state) {
		case "prepared":
			return html`<div class="row-end">${postForm({
				action: `${path}/secret/activate`,
				csrf: named,
				className: "",
				body: button({
					label: "Activate",
					tone: "primary",
					isSmall: true,
					confirm:
						"Activate the new secret? Callbacks are signed with it from the next attempt on, so your receiver must accept it already.",
					ariaLabel: `Activate the secret that ends in ${hint}`,
				}),
			})}${postForm({
				action: `${path}/secret/discard`,
				csrf: named,
				className: "",
				body: button({
					label: "Discard",
					isSmall: true,
					confirm: "Discard the prepared secret? Requests signed with it are refused from this moment on.",
					ariaLabel: `Discard the secret that ends in ${hint}`,
				}),
			})}</div>`;
		case "replaced":
			return postForm({
				action: `${path}/secret/end`,
				csrf: hidden,
				className: "",
				body: button({
					label: "End it now",
					tone: "danger",
					isSmall: true,
					confirm:
						"End the old secret now? Requests that are still signed with it are refused from this moment on.",
					ariaLabel: `End the secret that ends in ${hint} now`,
				}),
			});
		case "active":
		case "ended":
			return null;
		default:
			return state satisfies never;
	}
}

function prepareForm({ path, hidden }: KeysView): Html {
	return postForm({
		action: `${path}/secret`,
		csrf: hidden,
		className: "row",
		body: button({ label: "Prepare new secret", isSmall: true }),
	});
}

function replacementSteps(states: ReadonlySet<string>): Html {
	const isPrepared = states.has("prepared");
	const isActivated = !isPrepared && states.has("replaced");
	const list: readonly (readonly [title: string, text: string, isDone: boolean])[] = [
		[
			"Prepare",
			"Creates the new secret and shows it once. You can sign your requests with it right away; callbacks are still signed with the old one.",
			isPrepared || isActivated,
		],
		[
			"Add it to your receiver",
			"Let your receiver accept both secrets, the old and the new one. Sign your own requests with the new one.",
			isActivated,
		],
		["Activate", "From the next attempt on, callbacks are signed with the new secret.", isActivated],
		[
			"End the old one",
			"Remove it from your systems, then end it here. Otherwise it ends automatically 24 hours after the activation. If the old secret leaked, end it right away.",
			false,
		],
	];
	return html`<ol class="points small">${list.map(
		([title, text, isDone]) =>
			html`<li><strong>${title}</strong>${isDone ? html` ${badge("good", "Done")}` : null}<br><span class="soft">${text}</span></li>`,
	)}</ol>`;
}
