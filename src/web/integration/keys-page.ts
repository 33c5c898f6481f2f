// The tab "Keys and snippets". It has the API keys and the signing secret of a shop, each shown once, and
// code that uses them in eight languages.

import { showKey } from "../../domain/action.ts";
import { describeBasketValue } from "../../domain/basket-rule.ts";
import { MAX_NAME_LENGTH } from "../../domain/display-name.ts";
import type { Result } from "../../domain/fault.ts";
import { KEY_RIGHT_WORDS, type KeyRight, keyRightsOf } from "../../domain/roles.ts";
import type { SignedInPerson } from "../../people/actor.ts";
import { issueKey, revokeKey } from "../../programmes/keys.ts";
import {
	activateSecret,
	discardSecret,
	endReplacedSecrets,
	prepareSecret,
} from "../../programmes/signing-secret.ts";
import { findLandingHosts } from "../../store/queries/clicks.ts";
import { type ListedKey, listApiKeys } from "../../store/queries/keys.ts";
import {
	findUsableSecrets,
	goodUntilMs,
	isActiveAccepted,
	type SigningSecret,
	stateOf,
} from "../../store/queries/signing-secrets.ts";
import { DOWNLOADS, downloadUrl } from "../downloads.ts";
import { EXAMPLE_LANGUAGES, type ExampleValues, exampleBlock, parseLanguage } from "../examples.ts";
import { readTextFields } from "../form.ts";
import { API_KEY_VARIABLE, SECRET_VARIABLE } from "../listen-command.ts";
import { actorOf, flashAt, may, programmeOf, standingOf, type WebContext, type WebDeps } from "../page.ts";
import {
	DOCS_PATH,
	DOWNLOADS_PATH,
	keysPath,
	ORDER_TO_MONEY_PATH,
	PARTNER_DOCS_PATH,
	withQuery,
} from "../paths.ts";
import type { Answer } from "../routes.ts";
import * as ui from "../ui.ts";
import { type Content, type Html, html } from "../ui.ts";
import { answerTab, type FormPart, finish, queryHere } from "./frame.ts";

/** Maximum number of revoked keys in the list. */
const MAX_REVOKED_SHOWN = 5;

/** A key or secret that was just issued. Only the response to the form that issued it shows it. */
export interface Issued {
	key: string | null;
	secret: string | null;
}

type KeysView = Awaited<ReturnType<typeof readKeys>>;

async function readKeys(c: WebContext, deps: WebDeps, issued: Issued | null) {
	const programme = programmeOf(c);
	const { db } = deps.store;
	const nowMs = deps.clock.nowMs();
	return {
		/** Path of the tab. The paths of its forms begin with it. */
		path: keysPath(programme.public_id),
		/** Query of the address, which contains the chosen language of the snippets. */
		query: queryHere(c),
		/** True if the reader may change the integration. Other readers see no buttons. */
		mayIntegrate: may(c, "integrate"),
		/** Rights that the reader may give to a new key. */
		rights: keyRightsOf(standingOf(c)),
		isStaff: standingOf(c) === "staff",
		nowMs,
		keys: await listApiKeys(db, programme.id, MAX_REVOKED_SHOWN),
		/** Secrets that are still accepted. */
		secrets: await findUsableSecrets(db, [programme.receiver_id], nowMs),
		isActiveAccepted: await isActiveAccepted(db, programme.receiver_id),
		issued,
	};
}

export async function showKeys(
	c: WebContext,
	deps: WebDeps,
	issued: Issued | null = null,
): Promise<Response> {
	const view = await readKeys(c, deps, issued);
	const { publicUrl, network, store } = deps;
	const programme = programmeOf(c);
	const { id, public_id: programId, click_parameter: parameter, click_days: days } = programme;
	// The snippet for click IDs is shown even before staff turn crediting on. From then on, a sale without a
	// click ID credits nobody, so the shop must send click IDs in time.
	const hasPartners = programme.credits_partners === 1 || (await findLandingHosts(store.db, [id])).size > 0;
	const basketValue = describeBasketValue(programme.basket_rule, programme.basket_note);
	const click = { parameter, days };
	const values = { publicUrl, brand: network.face.brand, programId, click, basketValue };
	return answerTab(c, {
		tab: "keys",
		hint: "Your server signs its requests and checks our callbacks with these. The snippets show how.",
		body: [
			keysSection(view, flashAt(c, "keys")),
			// A programme has no secret before its first key is issued.
			view.secrets.length === 0 ? null : secretSection(view, flashAt(c, "secret")),
			snippetsSection(view.path, c.req.query("lang"), values),
			hasPartners ? partnerLinksSection(c.req.query("lang"), values) : null,
		],
	});
}

function keysSection(view: KeysView, message: Html | null): Html {
	const { path, query, issued, keys, mayIntegrate, rights } = view;
	const isNext = !keys.some((key) => key.revoked_at_ms === null);
	const form = ui.postForm({
		action: `${path}${query}#keys`,
		className: "row-end",
		body: html`${ui.textField({
			name: "name",
			id: "key-name",
			label: "Name of the new key (optional)",
			placeholder: "Shop server",
			maxLength: MAX_NAME_LENGTH,
			autocomplete: "off",
		})}${
			rights.length < 2
				? null
				: ui.selectField({
						name: "right",
						id: "key-right",
						label: "What the key may do",
						options: rights.map((value) => ({ value, label: RIGHT_OPTIONS[value] })),
					})
		}${ui.button({ label: "Issue API key", ...(isNext ? { tone: "primary" } : {}) })}`,
	});
	return ui.section({
		id: "keys",
		title: "API keys",
		hint: "The API key identifies your programme. The secret signs your requests and our callbacks. Both are shown once.",
		message,
		body: html`${issued === null || issued.key === null ? null : ui.padded(issuedOnce(issued))}${
			mayIntegrate
				? ui.padded(
						form,
						rights.includes("decide")
							? null
							: html`<p class="small soft">A key that you issue reports sales, refunds and reversals. To approve and reject over the API, ask an owner of this programme to issue the key.</p>`,
					)
				: null
		}${keyTable(view)}`,
	});
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
			// If a secret comes without a key, it is prepared and not active yet.
			key === null
				? html`<p class="small">It is prepared, not active. Add it to your receiver beside the old one, then activate it below.</p>`
				: null
		}</div>`,
	);
}

const RIGHT_OPTIONS: Readonly<Record<KeyRight, string>> = {
	decide: "Report sales, refunds and reversals, approve and reject",
	report: "Report sales, refunds and reversals only",
};

/** Returns the issuer of a key. Shops see only that it was the network, not which member of staff. */
function issuerOf({ issuerEmail, issuerKind }: ListedKey, isStaff: boolean): Content {
	if (issuerEmail === null) return "issuer not on record";
	return issuerKind === "staff" && !isStaff ? "by the network" : html`by ${ui.emailText(issuerEmail)}`;
}

function keyTable({ keys, path, query, mayIntegrate, isStaff }: KeysView): Html {
	return ui.dataTable({
		caption: "API keys, one per row",
		rows: keys,
		empty: ui.emptyState({
			title: "No API key yet",
			text: "Your first key comes with a signing secret. Without a secret no callback is sent.",
		}),
		stacks: true,
		columns: [
			{ title: "Name", namesRow: true, cell: ({ name }) => html`<span class="break">${name}</span>` },
			{ title: "Key", cell: ({ hint }) => html`<code>${showKey(hint)}</code>` },
			{ title: "Right", cell: ({ key_right: right }) => KEY_RIGHT_WORDS[right] },
			{
				title: "Issued",
				cell: (key) =>
					html`${ui.timeTag(key.created_at_ms)}<span class="secondary">${issuerOf(key, isStaff)}</span>`,
			},
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
			{
				title: "Revoke",
				isTitleHidden: true,
				isNumber: true,
				cell: ({ name, hint, public_id: keyId, revoked_at_ms: revokedAtMs }) =>
					revokedAtMs !== null || !mayIntegrate
						? null
						: ui.buttonForm({
								action: `${path}/${keyId}/revoke${query}`,
								className: "",
								label: "Revoke",
								tone: "danger",
								isSmall: true,
								confirm: `Revoke the key ${name} (${showKey(hint)})? Requests with it are refused from this moment on.`,
								ariaLabel: `Revoke the key that ends in ${hint}`,
							}),
			},
		],
	});
}

// The signing secret of a programme, and the four steps to replace it. No callback is lost if the steps are
// done in this order.

type SecretState = ReturnType<typeof stateOf>;
type SecretVerb = "activate" | "discard" | "end";

const SECRET_WORDS: Readonly<Record<SecretState, readonly [tone: ui.Tone, word: string, meaning: string]>> = {
	active: ["good", "Active", "Signs callbacks. Accepted in your requests."],
	prepared: ["info", "Prepared", "Accepted in your requests. Does not sign callbacks yet."],
	replaced: ["warn", "Replaced", "Accepted in your requests until"],
	ended: ["plain", "Ended", "No longer accepted in your requests."],
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
		work: (deps, programmeId, _, actor) => endReplacedSecrets(deps, programmeId, actor),
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
	work(deps: WebDeps, programmeId: string, secretId: string, actor: SignedInPerson): Promise<Result<unknown>>;
	look: ui.Button;
	message: string;
}

const REPLACEMENT = [
	[
		"Prepare",
		"Creates the new secret and shows it once. You can sign your requests with it right away; callbacks are still signed with the old one.",
	],
	[
		"Add it to your receiver",
		"Let your receiver accept both secrets, the old and the new one. In Node, give secret as a list. Sign your own requests with the new one.",
	],
	["Activate", "From the next attempt on, callbacks are signed with the new secret."],
	[
		"End the old one",
		"Remove it from your systems, then end it here. Otherwise it ends automatically 24 hours after the activation. If the old secret leaked, end it right away.",
	],
] as const;

function secretSection(view: KeysView, message: Html | null): Html {
	const { secrets, nowMs, issued, path, query, mayIntegrate, isActiveAccepted: isAccepted } = view;
	const states = new Set(secrets.map((secret) => stateOf(secret, nowMs)));
	const isUnderWay = states.has("prepared") || states.has("replaced");
	const prepare = { action: `${path}/secret${query}#secret`, label: "Prepare new secret", isSmall: true };
	const isActivated = states.has("replaced") && !states.has("prepared");
	// Each value says whether a step is done, in the order of the steps. The second step is done when the
	// receiver has accepted a callback with the new secret.
	const areDone = [isUnderWay, isActivated && isAccepted, isActivated, false];
	const seen = isAccepted
		? "Your server answered 2xx to a callback signed with the new secret."
		: "No callback signed with the new secret was answered 2xx yet. Send a test conversion before you end the old one.";
	const steps = html`<ol class="points small">${REPLACEMENT.map(
		([title, text], at) =>
			html`<li><strong>${title}</strong> ${areDone[at] ? ui.badge("good", "Done") : null}<br><span class="soft">${text}${at === 1 && isActivated ? html` <strong>${seen}</strong>` : null}</span></li>`,
	)}</ol>`;
	return ui.section({
		id: "secret",
		title: "Signing secret",
		hint: "It signs your requests to us and our callbacks to you. If you replace it in four steps, no callback is lost.",
		actions: states.has("prepared") || !mayIntegrate ? null : ui.buttonForm(prepare),
		message,
		body: html`${issued === null || issued.key !== null ? null : ui.padded(issuedOnce(issued))}${secretTable(view)}${ui.padded(
			ui.foldable("How to replace the secret", isUnderWay, steps),
		)}`,
	});
}

function secretTable({ secrets, nowMs, path, query, mayIntegrate }: KeysView): Html {
	const order = Object.keys(SECRET_WORDS);
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
					const [tone, word, meaning] = SECRET_WORDS[state];
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
						.filter(([, { state }]) => mayIntegrate && state === stateOf(secret, nowMs))
						.map(([verb, { look }]) =>
							ui.buttonForm({
								...look,
								action: `${path}/secret/${verb}${query}`,
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

// Code snippets for both directions, with one tab for each language. They are the files of examples/, filled
// in with the programme's values.

interface SnippetValues extends Required<ExampleValues> {
	programId: string;
	/** Sentence that says what the basket value of this programme contains. */
	basketValue: string;
}

export function snippetsSection(path: string, asked: string | undefined, values: SnippetValues): Html {
	const language = parseLanguage(asked);
	return ui.section({
		id: "snippets",
		title: "Ready snippets",
		hint: html`With this programme's values. Put the key into <code>${API_KEY_VARIABLE}</code> and the secret into <code>${SECRET_VARIABLE}</code>. <a href="${DOCS_PATH}#the-rules">The rules they follow, and why</a>`,
		body: ui.padded(
			ui.tabs(
				"Language",
				EXAMPLE_LANGUAGES.map((other) => ({
					label: other.label,
					href: `${withQuery(path, { lang: other.value })}#snippets`,
					isActive: other.value === language.value,
				})),
			),
			html`<p class="small"><code>basketValue</code>: ${values.basketValue} <a href="${ORDER_TO_MONEY_PATH}">From order to money</a></p>`,
			// Only the Node snippets need a library.
			language.value === "node"
				? html`<div class="stack-tight"><p class="small soft">Install the library from this service first. SHA-256 <code class="break">${DOWNLOADS[0].sha256}</code>. <a href="${DOWNLOADS_PATH}">All checksums</a></p>${ui.codeBlock(`npm install ${downloadUrl(values.publicUrl)}`, "the command to install the library")}</div>`
				: null,
			// Only one snippet is open. Side by side, both would be too narrow for their lines.
			ui.foldable(
				"Sign a request to us",
				true,
				exampleBlock(language, "sender", `Sign a request to us, ${language.label}`, values),
			),
			ui.foldable(
				"Verify a callback from us",
				false,
				exampleBlock(language, "receiver", `Verify a callback from us, ${language.label}`, values),
			),
			ui.more(
				"The pixel for your thank-you page",
				html`<p class="small soft">Your shop must write each order's ID and amount in place of <code>ORDER_ID</code> and <code>AMOUNT</code>. If you paste it unchanged, the call is refused. Anyone can call the pixel, so a pixel call by itself proves nothing. Confirm each order with a signed request from your server.</p>${ui.codeBlock(pixelSnippet(values), "The pixel, HTML", "HTML")}`,
			),
		),
	});
}

/** Shows the snippet that stores the click ID, in the same language as the other snippets. */
export function partnerLinksSection(asked: string | undefined, values: SnippetValues): Html {
	const { parameter, days } = values.click;
	const language = parseLanguage(asked);
	return ui.section({
		id: "partner-links",
		title: "Partner links",
		hint: html`A partner's link opens your shop with the click ID in the parameter <code>${parameter}</code>. Your server keeps it for ${ui.countOf(days, "day")} in a cookie that scripts cannot read, and sends it as <code>clickId</code> with the signed request of the sale. If the customer used a coupon code, send it as <code>couponCode</code>. <a href="${PARTNER_DOCS_PATH}">What the answer says, and why</a>`,
		body: ui.padded(exampleBlock(language, "click", `Keep the click ID, ${language.label}`, values)),
	});
}

/**
 * Returns the pixel for the shop's thank-you page. The buyer's browser reports the sale with it, and the
 * shop's server confirms the sale later.
 */
export function pixelSnippet({
	publicUrl,
	programId,
}: Pick<SnippetValues, "publicUrl" | "programId">): string {
	return `<img src="${publicUrl}/pixel/${programId}.gif?orderId=ORDER_ID&amp;basketValue=AMOUNT" width="1" height="1" alt="">
`;
}

// The actions of the forms. Each reads a form, calls one use case and redirects to the tab with the result.

const KEYS: FormPart = { path: keysPath, part: "keys" };
const SECRET: FormPart = { path: keysPath, part: "secret" };

export async function issueApiKey(c: WebContext, deps: WebDeps): Promise<Response> {
	const typed = await readTextFields(c, ["name", "right"]);
	const issued = await issueKey(deps, programmeOf(c).public_id, actorOf(c), typed);
	return issued.ok ? showKeys(c, deps, issued.value) : finish(c, KEYS, issued, "");
}

export async function revokeApiKey(c: WebContext, deps: WebDeps): Promise<Response> {
	const { public_id: programmeId } = programmeOf(c);
	const revoked = await revokeKey(deps, programmeId, c.req.param("keyId") ?? "", actorOf(c));
	return finish(c, KEYS, revoked, "The key is revoked. Requests with it are refused from now on.");
}

export async function issueNextSecret(c: WebContext, deps: WebDeps): Promise<Response> {
	const prepared = await prepareSecret(deps, programmeOf(c).public_id, actorOf(c));
	if (!prepared.ok) return finish(c, SECRET, prepared, "");
	return showKeys(c, deps, { key: null, secret: prepared.value.secret });
}

export function changeSecret(verb: SecretVerb): Answer {
	const { work, message } = SECRET_CHANGES[verb];
	return async (c, deps) => {
		const { secretId } = await readTextFields(c, ["secretId"]);
		const changed = await work(deps, programmeOf(c).public_id, secretId, actorOf(c));
		return finish(c, SECRET, changed, message);
	};
}
