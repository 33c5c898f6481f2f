// Shows the signing secret of a shop or a partner, and the four steps to replace it. No callback is lost if the steps
// are done in this order.

import type { Result } from "../../domain/fault.ts";
import type { ReceiverKind } from "../../domain/receiver.ts";
import type { SignedInPerson } from "../../people/actor.ts";
import {
	activateSecret,
	discardSecret,
	endReplacedSecrets,
	prepareSecret,
} from "../../programmes/signing-secret.ts";
import {
	findUsableSecrets,
	goodUntilMs,
	isActiveAccepted,
	type SigningSecret,
	stateOf,
} from "../../store/queries/signing-secrets.ts";
import { readTextFields } from "../form.ts";
import { API_KEY_VARIABLE, SECRET_VARIABLE } from "../listen-command.ts";
import { actorOf, flashAt, type WebContext, type WebDeps } from "../page.ts";
import type { Answer } from "../routes.ts";
import * as ui from "../ui.ts";
import { type Html, html } from "../ui.ts";
import { type Called, type CalledPages, calledOf, calledPagesOf } from "./called.ts";
import { type FormPart, finish, queryHere } from "./frame.ts";

/** A key or secret that was just issued. Only the response to the form that issued it shows it. */
export interface Issued {
	key: string | null;
	secret: string | null;
}

export function issuedOnce({ key, secret }: Issued): Html {
	const [it, again] = key !== null && secret !== null ? ["both", "them"] : ["it", "it"];
	const shown = (label: string, variable: string, value: string | null) =>
		value === null
			? null
			: html`<div><p class="small soft">${label}, in the snippets <code>${variable}</code></p>${ui.copyable(value, label)}</div>`;
	return ui.message(
		"good",
		html`<div class="stack-tight" data-shown-once><p><strong>Copy ${it} now. This page will not show ${again} again.</strong></p>${shown(
			"API key",
			API_KEY_VARIABLE,
			key,
		)}${shown(key === null ? "New signing secret" : "Signing secret", SECRET_VARIABLE, secret)}${
			// A secret without a key is only prepared and not active yet.
			key === null
				? html`<p class="small">It is prepared, not active. Add it to your receiver beside the old one, then activate it below.</p>`
				: null
		}</div>`,
	);
}

type SecretState = ReturnType<typeof stateOf>;
type SecretVerb = "activate" | "discard" | "end";

type SecretWords = Readonly<Record<SecretState, readonly [tone: ui.Tone, word: string, meaning: string]>>;

/** Words for the state of a secret. A partner signs no requests to the network, so its secrets only sign callbacks. */
const SECRET_WORDS: Readonly<Record<ReceiverKind, SecretWords>> = {
	shop: {
		active: ["good", "Active", "Signs callbacks. Accepted in your requests."],
		prepared: ["info", "Prepared", "Accepted in your requests. Does not sign callbacks yet."],
		replaced: ["warn", "Replaced", "Accepted in your requests until"],
		ended: ["plain", "Ended", "No longer accepted in your requests."],
	},
	partner: {
		active: ["good", "Active", "Signs callbacks."],
		prepared: ["info", "Prepared", "Does not sign callbacks yet."],
		replaced: ["warn", "Replaced", "Signs no callbacks any more. It is listed until"],
		ended: ["plain", "Ended", "Signs no callbacks any more."],
	},
};

/** Actions on a secret. Each has the state of the secret in which it is offered, and the message after it. */
const SECRET_CHANGES: Readonly<Record<SecretVerb, SecretChange>> = {
	activate: {
		state: "prepared",
		work: activateSecret,
		look: {
			label: "Activate",
			tone: "primary",
			confirm:
				"Activate the new secret? Callbacks are signed with it from the next attempt on, so your receiver must accept it already.",
		},
		message:
			"The new secret is active, and callbacks are signed with it. When none of your servers uses the old one any more, end it.",
	},
	discard: {
		state: "prepared",
		work: discardSecret,
		look: {
			label: "Discard",
			confirm: "Discard the prepared secret? Requests signed with it are refused from this moment on.",
		},
		message: "The prepared secret is discarded. The active one stays as it is.",
	},
	end: {
		state: "replaced",
		work: (deps, ownerId, _, actor) => endReplacedSecrets(deps, ownerId, actor),
		look: {
			label: "End it now",
			tone: "danger",
			confirm:
				"End the old secret now? Requests that are still signed with it are refused from this moment on.",
		},
		message: "The old secret has ended. Requests signed with it are refused from now on.",
	},
};

interface SecretChange {
	state: SecretState;
	/** Changes the secret of the programme or partner with the public id `ownerId`. */
	work(deps: WebDeps, ownerId: string, secretId: string, actor: SignedInPerson): Promise<Result<unknown>>;
	look: ui.Button;
	message: string;
}

const ACTIVATE_STEP = [
	"Activate",
	"From the next attempt on, callbacks are signed with the new secret.",
] as const;
const END_STEP = [
	"End the old one",
	"Remove it from your systems, then end it here. Otherwise it ends automatically 24 hours after the activation. If the old secret leaked, end it right away.",
] as const;

const REPLACEMENT: Readonly<Record<ReceiverKind, readonly (readonly [title: string, text: string])[]>> = {
	shop: [
		[
			"Prepare",
			"Creates the new secret and shows it once. You can sign your requests with it right away; callbacks are still signed with the old one.",
		],
		[
			"Add it to your receiver",
			"Let your receiver accept both secrets, the old and the new one. In Node, give secret as a list. Sign your own requests with the new one.",
		],
		ACTIVATE_STEP,
		END_STEP,
	],
	partner: [
		["Prepare", "Creates the new secret and shows it once. Callbacks are still signed with the old one."],
		[
			"Add it to your receiver",
			"Let your receiver accept both secrets, the old and the new one. In Node, give secret as a list.",
		],
		ACTIVATE_STEP,
		END_STEP,
	],
};

const HINTS: Readonly<Record<ReceiverKind, string>> = {
	shop: "It signs your requests to us and our callbacks to you. If you replace it in four steps, no callback is lost.",
	partner: "It signs our callbacks to you. If you replace it in four steps, no callback is lost.",
};

/**
 * Returns the section, or null if the receiver has no secret yet. `prepared` is a secret that this request has
 * prepared and that is shown once.
 */
export async function secretSection(
	c: WebContext,
	deps: WebDeps,
	prepared: string | null,
): Promise<Html | null> {
	const called = await calledOf(c, deps);
	if (called === null) return null;
	const { db } = deps.store;
	const nowMs = deps.clock.nowMs();
	const { receiver_id: receiverId } = called.columns;
	const secrets = await findUsableSecrets(db, [receiverId], nowMs);
	if (secrets.length === 0) return null;
	const isAccepted = await isActiveAccepted(db, receiverId);
	const states = new Set(secrets.map((secret) => stateOf(secret, nowMs)));
	const isUnderWay = states.has("prepared") || states.has("replaced");
	const action = `${called.secretsPath}/secret${queryHere(c)}#secret`;
	const isActivated = states.has("replaced") && !states.has("prepared");
	// Each value says whether one step is done, in the order of the steps. The second step is done when the receiver has
	// accepted a callback with the new secret.
	const areDone = [isUnderWay, isActivated && isAccepted, isActivated, false];
	const test = called.kind === "shop" ? "test conversion" : "test callback";
	const seen = isAccepted
		? "Your server answered 2xx to a callback signed with the new secret."
		: `No callback signed with the new secret was answered 2xx yet. Send a ${test} before you end the old one.`;
	const steps = html`<ol class="points small">${REPLACEMENT[called.kind].map(
		([title, text], at) =>
			html`<li><strong>${title}</strong> ${areDone[at] ? ui.badge("good", "Done") : null}<br><span class="soft">${text}${at === 1 && isActivated ? html` <strong>${seen}</strong>` : null}</span></li>`,
	)}</ol>`;
	return ui.section({
		id: "secret",
		title: "Signing secret",
		hint: HINTS[called.kind],
		actions:
			states.has("prepared") || !called.mayIntegrate
				? null
				: ui.buttonForm({ action, label: "Prepare new secret", isSmall: true }),
		message: flashAt(c, "secret"),
		body: html`${prepared === null ? null : ui.padded(issuedOnce({ key: null, secret: prepared }))}${secretTable(
			called,
			secrets,
			queryHere(c),
			nowMs,
		)}${ui.padded(ui.foldable("How to replace the secret", isUnderWay, steps))}`,
	});
}

function secretTable(called: Called, secrets: readonly SigningSecret[], query: string, nowMs: number): Html {
	const words = SECRET_WORDS[called.kind];
	const order = Object.keys(words);
	const rank = (secret: SigningSecret) => order.indexOf(stateOf(secret, nowMs));
	return ui.dataTable({
		caption: "Signing secrets",
		rows: secrets.toSorted((one, other) => rank(one) - rank(other)),
		empty: null,
		stacks: true,
		columns: [
			{ title: "Secret", namesRow: true, cell: ({ hint }) => html`<code>rbs_…${hint}</code>` },
			{ title: "Created", cell: (secret) => ui.timeTag(secret.created_at_ms) },
			{
				title: "State",
				cell: (secret) => {
					const state = stateOf(secret, nowMs);
					const [tone, word, meaning] = words[state];
					const until = state === "replaced" ? html` ${ui.timeTag(goodUntilMs(secret) ?? nowMs)}.` : null;
					return html`${ui.badge(tone, word)} <span class="small soft">${meaning}${until}</span>`;
				},
			},
			{
				title: "Change",
				isTitleHidden: true,
				isNumber: true,
				cell: (secret) =>
					html`<div class="row-end">${Object.entries(SECRET_CHANGES)
						.filter(([, { state }]) => called.mayIntegrate && state === stateOf(secret, nowMs))
						.map(([verb, { look }]) =>
							ui.buttonForm({
								...look,
								action: `${called.secretsPath}/secret/${verb}${query}`,
								className: "",
								hidden: { secretId: secret.public_id },
								isSmall: true,
								ariaLabel: `${look.label}: the secret that ends in ${secret.hint}`,
							}),
						)}</div>`,
			},
		],
	});
}

function secretPart({ secretsPath }: CalledPages): FormPart {
	return { path: secretsPath, part: "secret" };
}

/** Returns the action that prepares a secret. `show` responds with the page that shows the secret once. */
export function prepareNext(
	show: (c: WebContext, deps: WebDeps, secret: string) => Promise<Response>,
): (c: WebContext, deps: WebDeps) => Promise<Response> {
	return async (c, deps) => {
		const pages = calledPagesOf(c);
		const prepared = await prepareSecret(deps, pages.ownerId, actorOf(c));
		return prepared.ok ? show(c, deps, prepared.value.secret) : finish(c, secretPart(pages), prepared, "");
	};
}

export function changeSecret(verb: SecretVerb): Answer {
	const { work, message } = SECRET_CHANGES[verb];
	return async (c, deps) => {
		const { secretId } = await readTextFields(c, ["secretId"]);
		const pages = calledPagesOf(c);
		const changed = await work(deps, pages.ownerId, secretId, actorOf(c));
		return finish(c, secretPart(pages), changed, message);
	};
}
