// The tab "Keys and snippets": what a shop signs with, and the code that does it in eight languages.

import { issueKey, renameKey, revokeKey } from "../../programmes/keys.ts";
import {
	activateSecret,
	discardSecret,
	endReplacedSecrets,
	prepareSecret,
} from "../../programmes/signing-secret.ts";
import { listApiKeys } from "../../store/queries/keys.ts";
import {
	findUsableSecrets,
	goodUntilMs,
	type SigningSecret,
	stateOf,
} from "../../store/queries/signing-secrets.ts";
import { DOWNLOADS, downloadUrl } from "../downloads.ts";
import {
	codeLanguageOf,
	EXAMPLE_LANGUAGES,
	type ExampleLanguage,
	type ExampleValues,
	fillIn,
	readExample,
} from "../examples.ts";
import { readTextFields } from "../form.ts";
import { API_KEY_VARIABLE, SECRET_VARIABLE } from "../listen-command.ts";
import { flashAt, may, programmeOf, setFlash, viewerOf, type WebContext, type WebDeps } from "../page.ts";
import { DOCS_PATH, DOWNLOADS_PATH, keysPath, withQuery } from "../paths.ts";
import * as ui from "../ui.ts";
import { type Content, type Html, html } from "../ui.ts";
import { answerTab, backTo, backWithFault, type FormPart, finish, hiddenFields } from "./frame.ts";
import { handOverIssued, takeIssued } from "./issued-cookie.ts";
import { issuedOnce, type KeysView, keysSection } from "./keys-section.ts";

/** Revoked keys shown below those in use. */
const MAX_REVOKED_SHOWN = 5;

export async function showKeys(c: WebContext, deps: WebDeps): Promise<Response> {
	const programme = programmeOf(c);
	const { db } = deps.store;
	const nowMs = deps.clock.nowMs();
	const view: KeysView = {
		path: keysPath(programme.public_id),
		hidden: hiddenFields(c, "keys", new URL(c.req.url).search),
		mayIntegrate: may(c, "integrate"),
		told: (part) => flashAt(c, part),
		nowMs,
		keys: await listApiKeys(db, programme.id, MAX_REVOKED_SHOWN),
		secrets: await findUsableSecrets(db, [programme.id], nowMs),
		issued: await takeIssued(c, deps, programme, viewerOf(c).personId, "keys"),
	};
	const values = {
		publicUrl: deps.publicUrl,
		brand: deps.network.face.brand,
		programId: programme.public_id,
	};
	return answerTab(c, {
		tab: "keys",
		hint: "What your server signs its requests with and checks our callbacks with, and code to start from.",
		body: html`${keysSection(view)}${secretSection(view)}${snippetsSection(
			view.path,
			parseLanguage(c.req.query("lang")),
			values,
			view.secrets.length > 1,
		)}`,
	});
}

// The signing secret of a programme, and its replacement in four steps: no callback is lost if they are done in
// this order.

type Shown = "active" | "prepared" | "replaced";

/** Nothing before the first key. */
function secretSection(view: KeysView): Content {
	const { secrets, nowMs, issued } = view;
	if (secrets.length === 0) return null;
	const states = new Set(secrets.map((secret) => stateOf(secret, nowMs)));
	const isUnderWay = states.has("prepared") || states.has("replaced");
	return ui.section({
		id: "secret",
		title: "Signing secret",
		hint: "It signs your requests to us and our callbacks to you. Replacing it takes two steps, and nothing is lost in between.",
		actions: states.has("prepared") || !view.mayIntegrate ? null : prepareForm(view),
		told: view.told("secret"),
		body: html`${issued === null || issued.key !== null ? null : ui.padded(issuedOnce(issued))}${secretTable(view)}${ui.padded(
			isUnderWay ? replacementSteps(states) : ui.more("How to replace the secret", replacementSteps(states)),
		)}`,
	});
}

function secretTable(view: KeysView): Html {
	const order: readonly string[] = ["active", "prepared", "replaced"] satisfies readonly Shown[];
	const rank = (secret: SigningSecret) => order.indexOf(stateOf(secret, view.nowMs));
	return ui.dataTable({
		caption: "Signing secrets",
		rows: view.secrets.toSorted((one, other) => rank(one) - rank(other)),
		empty: null,
		stacks: true,
		columns: [
			{ title: "Secret", namesRow: true, cell: ({ hint }) => html`<code>rbs_…${hint}</code>` },
			{ title: "Created", cell: (secret) => ui.timeTag(secret.created_at_ms) },
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
			return html`${ui.badge("good", "Active")} <span class="small soft">Signs callbacks. Accepted in your requests.</span>`;
		case "prepared":
			return html`${ui.badge("info", "Prepared")} <span class="small soft">Accepted in your requests. Does not sign callbacks yet.</span>`;
		case "replaced":
			return html`${ui.badge("warn", "Replaced")} <span class="small soft">Accepted in your requests until ${ui.timeTag(goodUntilMs(secret) ?? nowMs)}.</span>`;
		case "ended":
			return html`${ui.badge("plain", "Ended")} <span class="small soft">No longer accepted in your requests.</span>`;
		default:
			return state satisfies never;
	}
}

function actions(secret: SigningSecret, { path, hidden, nowMs }: KeysView): Content {
	const { hint } = secret;
	const named = { secretId: secret.public_id };
	const state = stateOf(secret, nowMs);
	switch (state) {
		case "prepared":
			return html`<div class="row-end">${ui.buttonForm({
				action: `${path}/secret/activate`,
				csrf: hidden,
				className: "",
				hidden: named,
				label: "Activate",
				tone: "primary",
				isSmall: true,
				confirm:
					"Activate the new secret? Callbacks are signed with it from the next attempt on, so your receiver must accept it already.",
				ariaLabel: `Activate the secret that ends in ${hint}`,
			})}${ui.buttonForm({
				action: `${path}/secret/discard`,
				csrf: hidden,
				className: "",
				hidden: named,
				label: "Discard",
				isSmall: true,
				confirm: "Discard the prepared secret? Requests signed with it are refused from this moment on.",
				ariaLabel: `Discard the secret that ends in ${hint}`,
			})}</div>`;
		case "replaced":
			return ui.buttonForm({
				action: `${path}/secret/end`,
				csrf: hidden,
				className: "",
				label: "End it now",
				tone: "danger",
				isSmall: true,
				confirm:
					"End the old secret now? Requests that are still signed with it are refused from this moment on.",
				ariaLabel: `End the secret that ends in ${hint} now`,
			});
		case "active":
		case "ended":
			return null;
		default:
			return state satisfies never;
	}
}

function prepareForm({ path, hidden }: KeysView): Html {
	return ui.buttonForm({
		action: `${path}/secret`,
		csrf: hidden,
		label: "Prepare new secret",
		isSmall: true,
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
			html`<li><strong>${title}</strong>${isDone ? html` ${ui.badge("good", "Done")}` : null}<br><span class="soft">${text}</span></li>`,
	)}</ol>`;
}

// Ready snippets with the programme's own values, both directions, one tab a language: the files of examples/.

const WHILE_REPLACING = html`The signing secret is being replaced. Sign your requests with the new one, and let your receiver accept both until the old one has ended: in Node, give <code>secret</code> as a list. <a href="${DOCS_PATH}#replacing-the-secret-without-losing-a-callback">How to replace it</a>`;

export function snippetsSection(
	path: string,
	language: ExampleLanguage,
	values: SnippetValues,
	/** More than one secret is good for something just now. */
	isReplacing: boolean,
): Html {
	const label = EXAMPLE_LANGUAGES.find(({ value }) => value === language)?.label ?? "";
	return ui.section({
		id: "snippets",
		title: "Ready snippets",
		hint: html`With this programme's values. Put the key into <code>${API_KEY_VARIABLE}</code> and the secret into <code>${SECRET_VARIABLE}</code>. <a href="${DOCS_PATH}#the-rules">The rules they keep, and why</a>`,
		body: ui.padded(
			isReplacing ? ui.message("info", WHILE_REPLACING) : null,
			ui.tabs(
				"Language",
				EXAMPLE_LANGUAGES.map((other) => ({
					label: other.label,
					href: `${withQuery(path, { lang: other.value })}#snippets`,
					isActive: other.value === language,
				})),
			),
			language === "node" ? installation(values.publicUrl) : null,
			html`<div class="columns"><div class="stack-tight"><h3>Sign a request to us</h3>${ui.codeBlock(
				fillIn(readExample(language, "sender"), values),
				`Sign a request, ${label}`,
				codeLanguageOf(language),
			)}</div><div class="stack-tight"><h3>Verify a callback from us</h3>${ui.codeBlock(
				fillIn(readExample(language, "receiver"), values),
				`Verify a callback, ${label}`,
				codeLanguageOf(language),
			)}</div></div>`,
			ui.more(
				"The pixel for your thank-you page",
				html`<p class="small soft">Let your shop write each order's own id and amount in place of <code>ORDER_ID</code> and <code>AMOUNT</code>; pasted as it is, the call is refused. Anyone can call the pixel, so a pixel call by itself proves nothing: confirm each order with a signed request from your server.</p>${ui.codeBlock(pixelSnippet(values), "The pixel, HTML", "html")}`,
			),
		),
	});
}

/** The other languages need nothing but themselves. */
function installation(publicUrl: string): Html {
	const [{ sha256 }] = DOWNLOADS;
	return html`<div class="stack-tight"><p class="small soft">Install the library from this service first. SHA-256 <code class="break">${sha256}</code>. <a href="${DOWNLOADS_PATH}">All checksums</a></p>${ui.codeBlock(`npm install ${downloadUrl(publicUrl)}`, "the command to install the library")}</div>`;
}

interface SnippetValues extends ExampleValues {
	programId: string;
}

export function parseLanguage(text: string | undefined): ExampleLanguage {
	return EXAMPLE_LANGUAGES.find(({ value }) => value === text)?.value ?? "node";
}

/** For the shop's thank-you page: the browser reports, the shop's server confirms. */
export function pixelSnippet({ publicUrl, programId }: SnippetValues): string {
	return `<img src="${publicUrl}/pixel/${programId}.gif?orderId=ORDER_ID&amp;basketValue=AMOUNT" width="1" height="1" alt="">
`;
}

// What the buttons of "Keys and snippets" do: parse, call one use case, say how it went, back to the tab.

const KEYS: FormPart = { tab: "keys", part: "keys" };
const SECRET: FormPart = { tab: "keys", part: "secret" };

/** The first one is issued on the tab that leads through the set-up, and shown there. */
export async function issueApiKey(c: WebContext, deps: WebDeps): Promise<Response> {
	const programme = programmeOf(c);
	const { personId } = viewerOf(c);
	const { on, name } = await readTextFields(c, ["on", "name"]);
	const at: FormPart = on === "callbacks" ? { tab: "callbacks", part: "keys" } : KEYS;
	const issued = await issueKey(deps, programme.public_id, personId, name);
	if (!issued.ok) return backWithFault(c, at, issued.fault);
	const { key, secret } = issued.value;
	handOverIssued(c, deps, programme, personId, at.tab, { key, secret });
	return backTo(c, at);
}

export async function renameApiKey(c: WebContext, deps: WebDeps): Promise<Response> {
	const { public_id: programmeId } = programmeOf(c);
	const { name } = await readTextFields(c, ["name"]);
	const keyId = c.req.param("keyId") ?? "";
	const renamed = await renameKey(deps, programmeId, keyId, name, viewerOf(c).personId);
	if (!renamed.ok) return backWithFault(c, KEYS, renamed.fault);
	const { before, after } = renamed.value;
	const [tone, text] =
		before === after
			? (["info", "Nothing was changed."] as const)
			: (["good", `Saved. The key is now called ${after} (was ${before}).`] as const);
	setFlash(c, tone, text, KEYS.part);
	return backTo(c, KEYS);
}

export async function revokeApiKey(c: WebContext, deps: WebDeps): Promise<Response> {
	const { public_id: programmeId } = programmeOf(c);
	const revoked = await revokeKey(deps, programmeId, c.req.param("keyId") ?? "", viewerOf(c).personId);
	return finish(c, KEYS, revoked, "The key is revoked: requests with it are refused from now on.");
}

export async function issueNextSecret(c: WebContext, deps: WebDeps): Promise<Response> {
	const programme = programmeOf(c);
	const { personId } = viewerOf(c);
	const prepared = await prepareSecret(deps, programme.public_id, personId);
	if (!prepared.ok) return backWithFault(c, SECRET, prepared.fault);
	handOverIssued(c, deps, programme, personId, SECRET.tab, { key: null, secret: prepared.value.secret });
	return backTo(c, SECRET);
}

export async function activateNextSecret(c: WebContext, deps: WebDeps): Promise<Response> {
	const { secretId } = await readTextFields(c, ["secretId"]);
	const { public_id: programmeId } = programmeOf(c);
	const activated = await activateSecret(deps, programmeId, secretId, viewerOf(c).personId);
	const text =
		"The new secret is active: callbacks are signed with it. When nothing of yours uses the old one any more, end it.";
	return finish(c, SECRET, activated, text);
}

export async function discardNextSecret(c: WebContext, deps: WebDeps): Promise<Response> {
	const { secretId } = await readTextFields(c, ["secretId"]);
	const { public_id: programmeId } = programmeOf(c);
	const discarded = await discardSecret(deps, programmeId, secretId, viewerOf(c).personId);
	return finish(c, SECRET, discarded, "The prepared secret is discarded. The active one stays as it is.");
}

export async function endOldSecret(c: WebContext, deps: WebDeps): Promise<Response> {
	const ended = await endReplacedSecrets(deps, programmeOf(c).public_id, viewerOf(c).personId);
	return finish(
		c,
		SECRET,
		ended,
		"The old secret has ended: requests signed with it are refused from now on.",
	);
}
